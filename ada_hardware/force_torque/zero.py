# SPDX-License-Identifier: Apache-2.0
"""Zero of a sensor: mean of samples, refused if they are not steady."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.errors import Refused

AXES = ("fx", "fy", "fz", "nx", "ny", "nz")


class ZeroTaking:
    """Collects samples for a zero."""

    def __init__(self, samples: int, steady_force: float, steady_moment: float) -> None:
        """Start with no samples.

        Args:
            samples: number of samples.
            steady_force: largest standard deviation of a force axis [N].
            steady_moment: largest standard deviation of a moment axis [N m].
        """
        self._wanted = samples
        self._most = np.array([steady_force] * 3 + [steady_moment] * 3)
        self._seen: list[Array] = []

    def add(self, wrench: Array) -> bool:
        """Add a sample; return True if there are enough."""
        self._seen.append(np.array(wrench, dtype=np.float64))
        return len(self._seen) >= self._wanted

    @property
    def count(self) -> int:
        """Number of collected samples."""
        return len(self._seen)

    def mean(self) -> Array:
        """Return the mean of the samples.

        Raises:
            Refused: the samples are not steady.
        """
        seen = np.array(self._seen)
        spread = np.std(seen, axis=0)
        worst = int(np.argmax(spread / np.maximum(self._most, 1e-300)))
        if spread[worst] > self._most[worst]:
            unit, name = ("N", "steady_force") if worst < 3 else ("N m", "steady_moment")
            text = (
                f"the signal is not steady: {AXES[worst]} has a standard deviation of {spread[worst]:.3g} {unit} over "
                f"{len(seen)} samples; allowed is {self._most[worst]:g} {unit} ({name}). Keep robot and tool at rest "
                "and free of contact, then retry."
            )
            raise Refused(text, field=AXES[worst], value=float(spread[worst]), allowed=float(self._most[worst]))
        return np.asarray(np.mean(seen, axis=0))
