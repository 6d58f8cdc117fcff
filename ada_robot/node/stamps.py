# SPDX-License-Identifier: Apache-2.0
"""Conversion of times on the steady clock, at which devices are read and steps are due, to stamps of a node; no ROS.

A periodic thread may wake late and catch up: its messages are stamped with their deadlines instead of the send time, so
that position differences by stamps are the velocities at any load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.simulation.record.cdr import NANOSECONDS

_SET = 1_000_000  # tolerance of the clock offset, beyond which a clock was set [ns]
_TRIES = 5


class Stamps:
    """Conversion from the steady clock to another clock of the same rate, which may be set."""

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Args: other clock and steady clock [ns]."""
        self._now, self._steady = now, steady
        self._offset: int | None = None
        self._last = 0

    @classmethod
    def of(cls, clock: Any) -> Stamps:
        """Create the conversion to the clock of a node."""
        return cls(lambda: int(clock.now().nanoseconds))

    def at(self, moment: float) -> int:
        """Convert a time of the steady clock in seconds; see `due`."""
        return self.due(round(moment * NANOSECONDS))

    def due(self, moment: int) -> int:
        """Convert a time of the steady clock. Results do not decrease unless the clock is set back.

        Args:
            moment: recent time [ns].
        """
        offset = self._checked()
        self._last = max(self._last, moment + offset)
        return self._last

    def _checked(self) -> int:
        """Return the offset between the clocks, updated if one was set."""
        earliest, latest = self._between()
        offset = self._offset
        if offset is None or not earliest - _SET <= offset <= latest + _SET:
            # the tightest of several measurements, because preemption widens the bounds
            earliest, latest = min((self._between() for _ in range(_TRIES)), key=lambda pair: pair[1] - pair[0])
            offset = self._offset = (earliest + latest) // 2
            self._last = 0
        return offset

    def _between(self) -> tuple[int, int]:
        """Return bounds of the offset from two readings of the steady clock around one of the other clock."""
        before = self._steady()
        now = self._now()
        return now - self._steady(), now - before
