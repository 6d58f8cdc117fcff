# SPDX-License-Identifier: Apache-2.0
"""Load on an emulated sensor, with noise."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name

AXES = {
    "fx": "force along x [N]",
    "fy": "force along y [N]",
    "fz": "force along z [N]",
    "mx": "moment about x [N m]",
    "my": "moment about y [N m]",
    "mz": "moment about z [N m]",
}
"""Load axes, set like faults of an emulator."""


class SensedLoad:
    """Wrench on a sensor and its conversion to counts.

    Attributes:
        wrench: [f, n] acting on the sensor, in the sensor frame [N, N m].
        noise: largest error of an axis, uniformly distributed [counts].
    """

    def __init__(self, scale: ArrayLike, noise: float, seed: int) -> None:
        """Start without a load.

        Args:
            scale: six values: counts per newton, counts per newton metre.
            noise: largest error [counts].
            seed: seed of the noise.
        """
        self.wrench: Array = np.zeros(6)
        self.noise = noise
        self._scale = np.asarray(scale, dtype=np.float64)
        self._zero: Array = np.zeros(6)
        self._random = random.Random(seed)

    def set(self, wrench: ArrayLike) -> None:
        """Set the load.

        Raises:
            InputError: the wrench is not six finite numbers.
        """
        values = np.array(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench is {values.tolist()!r:.120}; required is [fx, fy, fz, nx, ny, nz], all finite."
            raise InputError(text, field="wrench", value=values)
        self.wrench = values

    def set_axis(self, name: str, value: float) -> None:
        """Set one axis of the load, by a name of AXES.

        Raises:
            InputError: the axis is unknown, or the value is not finite.
        """
        if name not in AXES:
            raise unknown_name("axis", name, AXES)
        wrench = self.wrench.copy()
        wrench[list(AXES).index(name)] = value
        self.set(wrench)

    def take_zero(self) -> None:
        """Use the present load as zero."""
        self._zero = self.wrench * self._scale

    def clear_zero(self) -> None:
        """Clear the zero."""
        self._zero = np.zeros(6)

    def counts(self, lowest: int, highest: int) -> tuple[tuple[int, ...], bool]:
        """Return the load in counts, clipped to a range, and whether an axis is at an end of the range."""
        exact = self.wrench * self._scale - self._zero
        noisy = [round(one + self.noise * (2.0 * self._random.random() - 1.0)) for one in exact.tolist()]
        found = tuple(min(max(one, lowest), highest) for one in noisy)
        return found, any(one <= lowest or one >= highest for one in found)
