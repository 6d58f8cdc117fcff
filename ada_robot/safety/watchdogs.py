# SPDX-License-Identifier: Apache-2.0
"""Watchdogs: command timeouts and arming of an active robot, timing of the exchanges with the device, suspends."""

from __future__ import annotations

import math

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.safety.settings import SafetySettings

_LEAST_SLEEP = 1e-3  # tolerance of the clock difference [s]


class DeadMan:
    """Monitors commands and heartbeats. A timeout disarms or deactivates the robot; only a request arms it.

    Attributes:
        is_armed: whether commands are accepted.
    """

    def __init__(self, settings: SafetySettings, *, can_ramp: bool) -> None:
        """Set the timeouts; `can_ramp`: the robot can be held by demands (not so with efforts only)."""
        self._settings, self._can_ramp = settings, can_ramp
        self.begin()

    def begin(self) -> None:
        """Restart at activation; timeouts count from the first call of `lapsed`."""
        self.is_armed = not self._settings.arm_within
        self._since = math.nan

    def arm(self, now: float) -> None:
        """Accept commands from now on [s]."""
        self.is_armed, self._since = True, now

    def is_idle(self, now: float, commanded_at: float) -> bool:
        """Return True if the last command, made at `commanded_at`, has exceeded command_timeout."""
        return self._idle(now, commanded_at) > self._settings.command_timeout

    def lapsed(self, now: float, host_seen_at: float, commanded_at: float) -> str:
        """Return the reason to deactivate the robot, or "".

        Args:
            now: present time [s].
            host_seen_at: time of the last message of the commanding program [s].
            commanded_at: creation time of the latest accepted command [s].
        """
        settings = self._settings
        if math.isnan(self._since):
            self._since = now
        if now - max(self._since, host_seen_at) > settings.host_timeout:
            return f"no message of the commanding program for {settings.host_timeout:g} s"
        if not self.is_armed:
            waited = now - self._since > settings.arm_within
            return f"not armed within {settings.arm_within:g} s (arm_within)" if waited else ""
        idle = self._idle(now, commanded_at)
        if idle > settings.host_timeout and not settings.hold_without_commands:
            return f"no command was accepted for {settings.host_timeout:g} s"
        if idle > settings.command_timeout and not self._can_ramp:
            return f"no command was accepted for {settings.command_timeout:g} s, and efforts cannot hold a position"
        if idle > settings.host_timeout and settings.arm_within:
            self.is_armed, self._since = False, now  # hold, and ignore new commands until armed again
        return ""

    def _idle(self, now: float, commanded_at: float) -> float:
        return now - max(self._since, commanded_at)


class SuspendDetector:
    """Suspend detection: the steady clock stops while the machine is suspended, the clock since boot does not."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        """Start with the present clocks."""
        self._clock = clock
        self._most = math.inf  # upper bound of the clock difference before the next suspend
        self.look()

    def look(self) -> float:
        """Return the suspended time since the last call, as a lower bound [s].

        The process may be preempted between two clock readings, so that they only bound the difference.
        """
        before = self._clock.now()
        boot = self._clock.since_boot()
        least, most = boot - self._clock.now(), boot - before
        slept = least - self._most
        if slept <= _LEAST_SLEEP:
            self._most = min(self._most, most)
            return 0.0
        self._most = most
        return slept


class ExchangeTiming:
    """Gaps between exchanges.

    A cycle that is late by more than half the watchdog timeout indicates an overloaded machine. The robot then slows
    down for as many cycles as were lost, so that repeated delays bring it to rest before the device's watchdog does.

    Attributes:
        late: number of late cycles.
        longest: longest gap while the motors were driven [s].
        brake: remaining cycles in which the robot slows down, including the present one.
        suspended: suspended time before the present cycle [s].
    """

    def __init__(self, period: float, device_timeout: float, clock: Clock = SYSTEM_CLOCK) -> None:
        """Set the limits.

        Args:
            period: cycle time [s].
            device_timeout: watchdog timeout of the device [s]; may be infinite.
            clock: clock used to detect suspends.
        """
        self._suspends = SuspendDetector(clock)
        self.suspended = 0.0
        self._period, self._timeout = period, device_timeout
        self.late = self.brake = 0
        self.longest = 0.0
        self._last = math.nan

    def begin(self) -> None:
        """Restart; the first gap is counted from the next cycle."""
        self._last = math.nan
        self.brake = 0

    def count(self, now: float, is_driven: bool) -> float:
        """Count a cycle. Args: time of the cycle [s]; whether the motors follow demands.

        Returns:
            Time since the previous cycle, including suspends [s]; 0 for the first cycle.
        """
        self.suspended = self._suspends.look()
        gap = now - self._last + self.suspended if math.isfinite(self._last) else 0.0
        self._last = now
        self.brake = max(0, self.brake - 1)
        if not is_driven:
            self.brake = 0
            return gap
        self.longest = max(self.longest, gap)
        late = gap - self._period
        if late > 0.5 * self._timeout:
            self.late += 1
            self.brake = max(self.brake, math.ceil(late / self._period))
        return gap
