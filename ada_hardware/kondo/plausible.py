# SPDX-License-Identifier: Apache-2.0
"""Whether servos can have got where a reading says that they are.

The checksums of these boards are short: that of an RCB-1 does not see a flip of a byte's highest bit, 128 degrees. A
reading that no servo can have reached since the last one is put aside; where the next one agrees with it, both are
believed (a servo was turned by hand while it was free, or nothing was read for a while).
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array

_LONGEST = 0.25  # [s] since the last reading, after which a servo can be anywhere


class PlausibleReadings:
    """The readings of some servos, in time.

    Attributes:
        believed: the newest one that is; None before the first.
        refused: how many were put aside.
    """

    def __init__(self, speed: float, slack: float) -> None:
        """Args: greatest speed of the servos per second, and what a reading may be wrong by, both in its unit."""
        self._speed, self._slack = speed, slack
        self.believed: Array | None = None
        self.refused = 0
        self._time = -math.inf
        self._doubted: Array | None = None
        self._doubted_time = -math.inf

    def take(self, reading: Array, time: float) -> bool:
        """Take a reading; whether it is believed. The first one is only where a second one agrees."""
        if self.believed is not None and self._agrees(reading, self.believed, time - self._time):
            return self._believe(reading, time)
        if self._doubted is not None and self._agrees(reading, self._doubted, time - self._doubted_time):
            return self._believe(reading, time)
        self.refused += self.believed is not None
        self._doubted, self._doubted_time = reading, time
        return False

    def forget(self) -> None:
        """Begin anew: nobody knows what happened meanwhile."""
        self.believed = self._doubted = None

    def _agrees(self, reading: Array, other: Array, duration: float) -> bool:
        if duration > _LONGEST:
            return False
        return bool(np.all(np.abs(reading - other) <= self._speed * duration + self._slack))

    def _believe(self, reading: Array, time: float) -> bool:
        self.believed, self._time, self._doubted = reading, time, None
        return True
