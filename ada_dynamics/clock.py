# SPDX-License-Identifier: Apache-2.0
"""Clocks: whatever waits, times out, schedules or measures an age takes one, so that tests can advance the time.

def expired(self) -> bool:
return self._clock.now() - self._received_at > self.timeout

clock = ManualClock()
watchdog = Watchdog(timeout=0.1, clock=clock)
clock.advance(0.2)
"""

from __future__ import annotations

import threading
import time


class Clock:
    """The steady clock of the machine, and ways to wait for it. Calling a clock returns `now()`."""

    def now(self) -> float:
        """Steady time [s]; it never jumps, and its zero has no meaning."""
        return time.monotonic()

    def __call__(self) -> float:
        """Steady time [s]."""
        return self.now()

    def now_ns(self) -> int:
        """Steady time [ns]."""
        return time.monotonic_ns()

    def since_boot(self) -> float:
        """Steady time that counts suspends of the machine [s]; the same as `now` where the system has none."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else self.now()

    def wall(self) -> float:
        """Time of day as seconds since 1970, for stamps that people or other machines read."""
        return time.time()

    def sleep(self, duration: float) -> None:
        """Wait [s]; a duration that is not positive returns at once."""
        if duration > 0.0:
            time.sleep(duration)

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Wait until an event is set, at most `timeout` [s]; return whether it is set."""
        return event.wait(timeout)


SYSTEM_CLOCK = Clock()


class ManualClock(Clock):
    """A clock that moves only when it is told to, or when somebody sleeps on it; for tests and for lock step."""

    def __init__(self, start: float = 0.0, *, wall: float = 1.7e9) -> None:
        """Args: steady time [s] and time of day [s] at the start."""
        self._now, self._wall_offset, self._suspended = start, wall - start, 0.0

    def now(self) -> float:
        """Steady time [s]."""
        return self._now

    def now_ns(self) -> int:
        """Steady time [ns]."""
        return round(self._now * 1e9)

    def since_boot(self) -> float:
        """Steady time and that of all suspends [s]."""
        return self.now() + self._suspended

    def suspend(self, duration: float) -> None:
        """Suspend the machine for so long [s]: `now` stays."""
        self._suspended += duration

    def wall(self) -> float:
        """Time of day [s]: the one at the start plus what has passed since."""
        return self._now + self._wall_offset

    def advance(self, duration: float) -> None:
        """Move on [s]."""
        self._now += max(duration, 0.0)

    def sleep(self, duration: float) -> None:
        """Move on [s] without waiting."""
        self.advance(duration)

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Move on by the timeout unless the event is set; return whether it is set."""
        if not event.is_set() and timeout is not None:
            self.advance(timeout)
        return event.is_set()
