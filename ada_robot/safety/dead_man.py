# SPDX-License-Identifier: Apache-2.0
"""Dead-man function: arming of an active robot and command timeouts."""

from __future__ import annotations

import math

from ada_robot.safety.settings import SafetySettings


class DeadMan:
    """Monitors commands and heartbeats. A timeout disarms or deactivates the robot; only a request arms it.

    Attributes:
        is_armed: whether commands are accepted.
    """

    def __init__(self, settings: SafetySettings, *, can_ramp: bool) -> None:
        """Args: settings with the timeouts; whether the robot can be held by demands (not so with efforts only)."""
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
