# SPDX-License-Identifier: Apache-2.0
"""Upper bound of the time that messages have waited in buffers; no ROS.

While a process is halted (stopped by a signal, swapped out, starved, or the machine suspended), received messages wait
in buffers of the system, and the middleware later reports them as new. The only evidence is the gap between two polls
of the receiving thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SETTLED = 0.1  # time after a halt in which waiting messages are delivered [s]


def since_boot() -> float:
    """Steady time including suspends of the machine [s]."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class HaltDetector:
    """Detects halts of the thread that calls `poll`."""

    def __init__(self, longest: float, clock: Callable[[], float] = since_boot) -> None:
        """Start now.

        Args:
            longest: longest time between calls without a halt [s].
            clock: steady clock [s].
        """
        self._longest, self._clock = longest, clock
        self._looked_at = clock()
        self._awake_before = self._settled_at = -1e9  # last call before a halt, end of the delivery [s]

    def poll(self) -> float:
        """Return the possible waiting time of messages received since the last call [s]; 0 without a halt."""
        now, before = self._clock(), self._looked_at
        if now - before > self._longest:
            if before > self._settled_at:  # consecutive halts count from the first one
                self._awake_before = before
            self._settled_at = now + SETTLED
        self._looked_at = now
        return now - self._awake_before if before <= self._settled_at else 0.0
