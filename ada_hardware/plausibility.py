# SPDX-License-Identifier: Apache-2.0
"""Plausibility check of position readings: joints do not jump.

Device checksums are short: that of an RCB-1 does not detect an error in the highest bit of a byte (128 degrees), and a
PA-10 packet has none. A reading that no joint can have reached since the last one is rejected, until several successive
readings agree: then the robot was moved, or its zero was changed.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array


class PlausibilityCheck:
    """Successive readings of some joints.

    Attributes:
        accepted: last accepted reading; None before the first.
        accepted_at: its time [s].
    """

    def __init__(
        self,
        speed: float | Array,
        slack: float,
        *,
        in_a_row: int = 2,
        longest: float = math.inf,
        accepts_first: bool = False,
    ) -> None:
        """Create the check.

        Args:
            speed: largest joint speed, in the unit of the readings per second.
            slack: tolerance of a reading, in the same unit.
            in_a_row: number of agreeing readings that are accepted after a jump.
            longest: time between two readings after which none is accepted before a second one agrees [s].
            accepts_first: accept the first reading at once.
        """
        self._speed, self._slack, self._in_a_row = speed, slack, in_a_row
        self._longest, self._accepts_first = longest, accepts_first
        self.accepted: Array | None = None
        self.accepted_at = self._suspect_time = -math.inf
        self._suspect: Array | None = None
        self._suspect_count = 0

    def take(self, reading: Array, time: float) -> bool:
        """Check a reading at a time [s]; return True if it is accepted."""
        is_near = (
            self._accepts_first
            if self.accepted is None
            else self._agrees(reading, self.accepted, time - self.accepted_at)
        )
        if not is_near:
            is_again = self._suspect is not None and self._agrees(reading, self._suspect, time - self._suspect_time)
            self._suspect_count = self._suspect_count + 1 if is_again else 1
            if self._suspect_count < self._in_a_row:
                self._suspect, self._suspect_time = reading, time
                return False
        self.accepted, self.accepted_at, self._suspect, self._suspect_count = reading, time, None, 0
        return True

    def forget(self) -> None:
        """Restart after an interruption."""
        self.accepted = self._suspect = None
        self._suspect_count = 0

    def _agrees(self, reading: Array, other: Array, duration: float) -> bool:
        if duration > self._longest:
            return False
        return bool(np.all(np.abs(reading - other) <= self._speed * max(duration, 0.0) + self._slack))
