# SPDX-License-Identifier: Apache-2.0
"""Clocks for timeouts, schedules, waits and ages; tests pass a `ManualClock` and advance it."""

from __future__ import annotations

import threading
import time


class Clock:
    """Monotonic clock of the machine. Calling a clock returns `now()`."""

    def now(self) -> float:
        """Monotonic time [s] from an arbitrary origin."""
        return time.monotonic()

    def __call__(self) -> float:
        """Monotonic time [s]."""
        return self.now()

    def now_ns(self) -> int:
        """Monotonic time [ns]."""
        return time.monotonic_ns()

    def since_boot(self) -> float:
        """Monotonic time including suspends of the machine [s]; equals `now` if the system does not measure them."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else self.now()

    def wall(self) -> float:
        """Time of day in seconds since 1970, for time stamps."""
        return time.time()

    def sleep(self, duration: float) -> None:
        """Sleep for a duration [s]; return immediately if it is not positive."""
        if duration > 0.0:
            time.sleep(duration)

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Wait until an event is set, at most `timeout` [s]; return True if it is set."""
        return event.wait(timeout)


SYSTEM_CLOCK = Clock()


class ManualClock(Clock):
    """Clock that only moves by calls of its methods, for tests and lock-step simulation."""

    def __init__(self, start: float = 0.0, *, wall: float = 1.7e9) -> None:
        """Initialize with the monotonic time [s] and the time of day [s]."""
        self._now, self._wall_offset, self._suspended = start, wall - start, 0.0

    def now(self) -> float:
        """Monotonic time [s]."""
        return self._now

    def now_ns(self) -> int:
        """Monotonic time [ns]."""
        return round(self._now * 1e9)

    def since_boot(self) -> float:
        """Monotonic time including suspends [s]."""
        return self.now() + self._suspended

    def suspend(self, duration: float) -> None:
        """Simulate a suspend of the machine for a duration [s]; `now` does not change."""
        self._suspended += duration

    def wall(self) -> float:
        """Time of day [s]: the initial one plus the elapsed time."""
        return self._now + self._wall_offset

    def advance(self, duration: float) -> None:
        """Advance the time by a duration [s]; a negative one has no effect."""
        self._now += max(duration, 0.0)

    def sleep(self, duration: float) -> None:
        """Advance the time by a duration [s] without waiting."""
        self.advance(duration)

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Advance the time by the timeout unless the event is set; return True if it is set."""
        if not event.is_set() and timeout is not None:
            self.advance(timeout)
        return event.is_set()
