# SPDX-License-Identifier: Apache-2.0
"""The wrench that acts on an emulated sensor, as tests and simulations set it, with the sensor's noise."""

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
"""The axes by the names under which an emulator takes them from outside, as if they were faults."""


class SensedLoad:
    """A wrench, and what a sensor makes of it in counts.

    Attributes:
        wrench: [f, n] that acts on the sensor, in its axes [N, N m].
        noise: greatest error of each axis, evenly distributed [counts].
    """

    def __init__(self, scale: ArrayLike, noise: float, seed: int) -> None:
        """Begin without a load.

        Args:
            scale: six figures: counts per newton, counts per newton metre.
            noise: greatest error [counts].
            seed: of the noise.
        """
        self.wrench: Array = np.zeros(6)
        self.noise = noise
        self._scale = np.asarray(scale, dtype=np.float64)
        self._zero: Array = np.zeros(6)
        self._random = random.Random(seed)

    def set(self, wrench: ArrayLike) -> None:
        """Put another load on.

        Raises:
            InputError: these are not six finite numbers.
        """
        values = np.array(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"the wrench is {values.tolist()!r:.120}; it must be [fx, fy, fz, nx, ny, nz], all finite."
            raise InputError(text, field="wrench", value=values)
        self.wrench = values

    def set_axis(self, name: str, value: float) -> None:
        """Put another load on one axis, by a name of AXES.

        Raises:
            InputError: there is no such axis, or the number is not finite.
        """
        if name not in AXES:
            raise unknown_name("axis", name, AXES)
        wrench = self.wrench.copy()
        wrench[list(AXES).index(name)] = value
        self.set(wrench)

    def take_zero(self) -> None:
        """Take the present load as zero."""
        self._zero = self.wrench * self._scale

    def clear_zero(self) -> None:
        """Forget the zero."""
        self._zero = np.zeros(6)

    def counts(self, lowest: int, highest: int) -> tuple[tuple[int, ...], bool]:
        """The load in counts of a converter with this range; and whether an axis is at an end of the range."""
        exact = self.wrench * self._scale - self._zero
        noisy = [round(one + self.noise * (2.0 * self._random.random() - 1.0)) for one in exact.tolist()]
        found = tuple(min(max(one, lowest), highest) for one in noisy)
        return found, any(one <= lowest or one >= highest for one in found)
