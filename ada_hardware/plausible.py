# SPDX-License-Identifier: Apache-2.0
"""Plausibility of position readings: neither arms nor servos jump.

Checksums of devices are short: that of an RCB-1 does not see a flip of a byte's highest bit, 128 degrees; UDP has none
beside ARCNET's. A reading that no joint can have reached since the last one is put aside. Where some in a row agree
with one another they are believed: then it is the robot, or its zero, that is elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array


class PlausibleReadings:
    """The readings of some joints, in time.

    Attributes:
        believed: the newest believed one; None before the first.
        refused: how many were put aside.
    """

    def __init__(
        self, speed: float | Array, slack: float, *, in_a_row: int = 2, longest: float = math.inf, trusts: bool = False
    ) -> None:
        """Prepare.

        Args:
            speed: greatest of the joints per second, in the unit of the readings.
            slack: what a reading may be wrong by, in that unit.
            in_a_row: readings that agree with one another, and are believed then.
            longest: time between two readings after which a joint can be anywhere [s].
            trusts: whether the first reading is believed by itself.
        """
        self._speed, self._slack, self._in_a_row, self._longest, self._trusts = speed, slack, in_a_row, longest, trusts
        self.believed: Array | None = None
        self.refused = 0
        self._time = self._doubted_time = -math.inf
        self._doubted: Array | None = None
        self._doubts = 0

    def take(self, reading: Array, time: float) -> bool:
        """Take a reading at a time [s]; True if it is believed."""
        is_near = self._trusts if self.believed is None else self._agrees(reading, self.believed, time - self._time)
        if not is_near:
            is_again = self._doubted is not None and self._agrees(reading, self._doubted, time - self._doubted_time)
            self._doubts = self._doubts + 1 if is_again else 1
            if self._doubts < self._in_a_row:
                self.refused += self.believed is not None
                self._doubted, self._doubted_time = reading, time
                return False
        self.believed, self._time, self._doubted, self._doubts = reading, time, None, 0
        return True

    def forget(self) -> None:
        """Restart, after an interruption."""
        self.believed = self._doubted = None
        self._doubts = 0

    def _agrees(self, reading: Array, other: Array, duration: float) -> bool:
        if duration > self._longest:
            return False
        return bool(np.all(np.abs(reading - other) <= self._speed * max(duration, 0.0) + self._slack))
