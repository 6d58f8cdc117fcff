# SPDX-License-Identifier: Apache-2.0
"""A thread that only sleeps, beside a check of periods or rates: what makes it late is the machine, not the device."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from ada_robot.timing.deadlines import DeadlineLoop
from ada_robot.timing.periods import PeriodSummary

SHORTEST = 1e-3  # [s] between its deadlines: shorter ones would take processor time from the device's host
SOME = 0.01  # share of periods that a machine may miss without being called busy


class BareThread:
    """Wakes at absolute deadlines, does nothing, and notes how late it was.

    Attributes:
        period: between its deadlines [s].
    """

    def __init__(self, period: float, priority: int = 0) -> None:
        """Prepare; it runs in a `with`.

        Args:
            period: of what it is compared with [s].
            priority: real-time, where the system allows it: that of what it is compared with; 0: none.
        """
        self.period = max(period, SHORTEST)
        self._loop = DeadlineLoop(self.period, lambda due: None, name="bare thread", priority=priority)

    def __enter__(self) -> BareThread:
        self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(2.0 * self.period)  # let it wake once more after a standstill, and count it
        self._loop.stop()

    @property
    def found(self) -> PeriodSummary:
        """Summary of its periods until now, or until its end."""
        return self._loop.statistics.summary()

    @property
    def kept(self) -> float:
        """Share of its periods in which it woke; 1 before the first."""
        found = self.found
        return found.count / (found.count + found.missed) if found.count else 1.0

    @property
    def words(self) -> str:
        """Remark that the machine is busy, with figures; "": it is not."""
        if self.kept >= 1.0 - SOME:
            return ""
        found = self.found
        return (
            f"the machine is busy: beside it, a thread that only sleeps missed {100.0 * (1.0 - self.kept):.0f} % of "
            f"its periods, {1e3 * found.late_max:.3g} ms late at most"
        )


def waited(name: str) -> float:
    """How long a thread of this process was ready to run, and no processor was free, since its start [s].

    Args:
        name: of the thread; 0 for one that there is not, and where the system does not tell (Linux does).
    """
    with suppress(StopIteration, OSError, ValueError, IndexError):
        thread = next(one for one in threading.enumerate() if one.name == name)
        text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii")
        return 1e-9 * int(text.split()[1])
    return 0.0
