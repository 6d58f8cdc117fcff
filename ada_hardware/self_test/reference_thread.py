# SPDX-License-Identifier: Apache-2.0
"""Sleeping reference thread for checks of periods and rates: its delays are those of the machine, not the device."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from ada_robot.timing.deadlines import DeadlineLoop
from ada_robot.timing.periods import PeriodSummary

SHORTEST = 1e-3  # [s] shortest period: a shorter one would take processor time from the host of the device
SOME = 0.01  # fraction of missed periods up to which the machine does not count as busy


class ReferenceThread:
    """Wakes periodically at absolute deadlines and records its delays.

    Attributes:
        period: period [s].
    """

    def __init__(self, period: float, priority: int = 0) -> None:
        """Create the thread; it runs in a `with` block.

        Args:
            period: period of the checked loop [s].
            priority: real-time priority of the checked loop if permitted; 0: none.
        """
        self.period = max(period, SHORTEST)
        self._loop = DeadlineLoop(self.period, lambda due: None, name="bare thread", priority=priority)

    def __enter__(self) -> ReferenceThread:
        self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(2.0 * self.period)  # a last wake-up, to count a preceding delay
        self._loop.stop()

    @property
    def found(self) -> PeriodSummary:
        """Summary of the recorded periods."""
        return self._loop.statistics.summary()

    @property
    def kept(self) -> float:
        """Fraction of periods in which it woke; 1 before the first."""
        found = self.found
        return found.count / (found.count + found.missed) if found.count else 1.0

    @property
    def words(self) -> str:
        """Remark that the machine is busy; "" if it is not."""
        if self.kept >= 1.0 - SOME:
            return ""
        found = self.found
        return (
            f"the machine is busy: a sleeping reference thread missed {100.0 * (1.0 - self.kept):.0f} % of its "
            f"periods, {1e3 * found.late_max:.3g} ms late at most"
        )


def waited(name: str) -> float:
    """Return how long a thread of this process was runnable without a free processor since its start [s].

    Args:
        name: name of the thread; 0 is returned if it does not exist or the system has no such data (Linux has).
    """
    with suppress(StopIteration, OSError, ValueError, IndexError):
        thread = next(one for one in threading.enumerate() if one.name == name)
        text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii")
        return 1e-9 * int(text.split()[1])
    return 0.0
