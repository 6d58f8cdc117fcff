# SPDX-License-Identifier: Apache-2.0
"""The zero of a sensor: the mean of some samples, refused while they are not steady."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.errors import Refused

AXES = ("fx", "fy", "fz", "nx", "ny", "nz")


class ZeroTaking:
    """Collects samples until there are enough."""

    def __init__(self, samples: int, steady_force: float, steady_moment: float) -> None:
        """Begin.

        Args:
            samples: number of them.
            steady_force: greatest standard deviation of an axis [N].
            steady_moment: likewise [N m].
        """
        self._wanted = samples
        self._most = np.array([steady_force] * 3 + [steady_moment] * 3)
        self._seen: list[Array] = []

    def add(self, wrench: Array) -> bool:
        """Take one; True if there are enough."""
        self._seen.append(np.array(wrench, dtype=np.float64))
        return len(self._seen) >= self._wanted

    @property
    def count(self) -> int:
        """Samples so far."""
        return len(self._seen)

    def mean(self) -> Array:
        """The zero.

        Raises:
            Refused: they are not steady.
        """
        seen = np.array(self._seen)
        spread = np.std(seen, axis=0)
        worst = int(np.argmax(spread / np.maximum(self._most, 1e-300)))
        if spread[worst] > self._most[worst]:
            unit, name = ("N", "steady_force") if worst < 3 else ("N m", "steady_moment")
            text = (
                f"the sensor is not steady: {AXES[worst]} has a standard deviation of {spread[worst]:.3g} {unit} over "
                f"{len(seen)} samples; at most {self._most[worst]:g} {unit} is allowed ({name}). Keep robot and tool "
                "still and free of contact, then take the zero again."
            )
            raise Refused(text, field=AXES[worst], value=float(spread[worst]), allowed=float(self._most[worst]))
        return np.asarray(np.mean(seen, axis=0))
