# SPDX-License-Identifier: Apache-2.0
"""How long messages may have waited before they are read; no ROS.

While a process stands still (stopped by a signal, swapped out, starved; or the whole machine sleeps), what is sent to
it waits in the system's buffers. When it goes on, its middleware takes them for new. The only sign of it is that
the thread that looks for them every few milliseconds did not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SETTLED = 0.1  # [s] after a standstill, in which waiting messages have come through


def since_boot() -> float:
    """Steady time that goes on while the machine sleeps [s]."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lookout:
    """Notices standstills of the thread that calls `look`."""

    def __init__(self, longest: float, clock: Callable[[], float] = since_boot) -> None:
        """Begin.

        Args:
            longest: time between looks that is no standstill [s].
            clock: steady [s].
        """
        self._longest, self._clock = longest, clock
        self._looked_at = clock()
        self._awake_before = self._settled_at = -1e9  # [s] last look before a standstill, end of the backlog

    def look(self) -> float:
        """How long a message that came since the look before may have waited [s]; 0 where it came just now."""
        now, before = self._clock(), self._looked_at
        if now - before > self._longest:
            if before > self._settled_at:  # else one of several standstills in a row: the wait counts from the first
                self._awake_before = before
            self._settled_at = now + SETTLED
        self._looked_at = now
        return now - self._awake_before if before <= self._settled_at else 0.0
