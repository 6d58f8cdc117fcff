# SPDX-License-Identifier: Apache-2.0
"""Moments on the steady clock, by which devices are read and steps are due, as stamps of a node; no ROS.

A thread of deadlines wakes late at times, and makes up for it: its messages then belong to the deadlines, and not
to the moment of sending. Differences of positions by such stamps are the velocities, however busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.simulation.record.cdr import NANOSECONDS

_SET = 1_000_000  # [ns] by which a clock has to differ from what it should show to have been set
_TRIES = 5


class Stamps:
    """From deadlines on the steady clock to stamps on another one that runs alike, but may be set."""

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Args: both clocks [ns]."""
        self._now, self._steady = now, steady
        self._offset: int | None = None
        self._last = 0

    @classmethod
    def of(cls, clock: Any) -> Stamps:
        """By the clock of a node."""
        return cls(lambda: int(clock.now().nanoseconds))

    def at(self, moment: float) -> int:
        """A moment of the steady clock in seconds; see `due`."""
        return self.due(round(moment * NANOSECONDS))

    def due(self, moment: int) -> int:
        """A moment of the steady clock; never before the last one that was asked for, unless the clock was set back.

        Args:
            moment: not long ago [ns].
        """
        offset = self._checked()
        self._last = max(self._last, moment + offset)
        return self._last

    def _checked(self) -> int:
        """The offset between the clocks, which holds until one is set."""
        earliest, latest = self._between()
        offset = self._offset
        if offset is None or not earliest - _SET <= offset <= latest + _SET:
            # a thread interrupted between two readings of the clocks learns little
            earliest, latest = min((self._between() for _ in range(_TRIES)), key=lambda pair: pair[1] - pair[0])
            offset = self._offset = (earliest + latest) // 2
            self._last = 0
        return offset

    def _between(self) -> tuple[int, int]:
        """Least and greatest offset that two looks at the steady clock, and one at the other between them, allow."""
        before = self._steady()
        now = self._now()
        return now - self._steady(), now - before
