# SPDX-License-Identifier: Apache-2.0
"""A process that sleeps from deadline to deadline and does nothing else.

    python -m benchmarks.ros.bare PERIOD_NS CPU FILE

By how much it is late nobody can be blamed but the machine. It writes its wake-ups when it gets SIGINT.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from ada_robot.timing.periods import PeriodTrace


def main(period: int, cpu: int, file: Path) -> None:
    """Sleep until told to end."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    trace = PeriodTrace(file)
    ended: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: ended.append(number))
    print("ready", flush=True)
    deadline = time.monotonic_ns() + period
    while not ended:
        wait = deadline - time.monotonic_ns()
        if wait > 0:
            time.sleep(wait * 1e-9)
        now = time.monotonic_ns()
        due = 1 + (now - deadline) // period
        trace.add(now, now - deadline, due)
        deadline += due * period
    trace.save()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
