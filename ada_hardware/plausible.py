# SPDX-License-Identifier: Apache-2.0
"""Whether joints can have got where a reading says that they are.

Some wires let damage through: UDP has no check sum for what a gateway broke, that of an RCB-1 does not see a flip of
a byte's highest bit (128 degrees). A reading that no joint can have reached since the last one is put aside; where the
next ones agree with it, they are believed: then it is the robot, or its zero, that is elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array


class PlausibleReadings:
    """The readings of some joints, in time.

    Attributes:
        believed: the newest one that is; None before the first.
        refused: how many were put aside.
    """

    def __init__(
        self, speed: ArrayLike, slack: float, *, times: int = 2, trusts_first: bool = False, longest: float = math.inf
    ) -> None:
        """Begin.

        Args:
            speed: greatest, per second.
            slack: what a reading may be wrong by.
            times: readings in a row that must agree where they agree with none before.
            trusts_first: whether the first one is believed at once.
            longest: time since the last reading after which a joint can be anywhere [s].
        """
        self._speed, self._slack, self._times = np.asarray(speed), slack, times
        self._trusts_first, self._longest = trusts_first, longest
        self.refused = 0
        self.forget()

    def forget(self) -> None:
        """Begin anew: nobody knows what happened meanwhile."""
        self.believed: Array | None = None
        self._doubted: Array | None = None
        self._time = self._doubted_time = -math.inf
        self._doubts = 0

    def take(self, reading: Array, time: float) -> bool:
        """Take a reading; whether it is believed."""
        is_first = self.believed is None and self._trusts_first
        if not (is_first or self._agrees(reading, self.believed, time - self._time)):
            is_again = self._agrees(reading, self._doubted, time - self._doubted_time)
            self._doubts = self._doubts + 1 if is_again else 1
            self._doubted, self._doubted_time = reading, time
            if self._doubts < self._times:
                self.refused += self.believed is not None
                return False
        self.believed, self._time, self._doubted = reading, time, None
        return True

    def _agrees(self, reading: Array, other: Array | None, duration: float) -> bool:
        if other is None or duration > self._longest:
            return False
        return bool((np.abs(reading - other) <= self._speed * max(duration, 0.0) + self._slack).all())
