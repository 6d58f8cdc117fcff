# SPDX-License-Identifier: Apache-2.0
"""The dead-man switch of an active robot: whether it is armed, and whether commands still come."""

from __future__ import annotations

import math

from ada_robot.safety.settings import SafetySettings


class DeadMan:
    """Commands must keep coming: silence disarms or deactivates; only a person arms and activates.

    Attributes:
        is_armed: whether commands are followed.
    """

    def __init__(self, settings: SafetySettings, *, can_ramp: bool) -> None:
        """Prepare.

        Args:
            settings: its times.
            can_ramp: whether the robot can be held by demands: by efforts alone it cannot.
        """
        self._settings, self._can_ramp = settings, can_ramp
        self.begin()

    def begin(self) -> None:
        """Restart at activation; times count from the first look."""
        self.is_armed = not self._settings.arm_within
        self._since = math.nan

    def arm(self, now: float) -> None:
        """Follow commands from now on [s]."""
        self.is_armed, self._since = True, now

    def is_idle(self, now: float, commanded_at: float) -> bool:
        """True if the last command counts no more, made at a time [s]."""
        return self._idle(now, commanded_at) > self._settings.command_timeout

    def lapsed(self, now: float, host_seen_at: float, commanded_at: float) -> str:
        """Why the robot is to be deactivated; "" where it is not.

        Args:
            now: present time [s].
            host_seen_at: when the commanding program was last heard of [s].
            commanded_at: when the newest accepted command was made [s].
        """
        settings = self._settings
        if math.isnan(self._since):
            self._since = now
        if now - max(self._since, host_seen_at) > settings.host_timeout:
            return f"nothing was heard of the commanding program for {settings.host_timeout:g} s"
        if not self.is_armed:
            waited = now - self._since > settings.arm_within
            return f"nobody armed it within {settings.arm_within:g} s (arm_within)" if waited else ""
        idle = self._idle(now, commanded_at)
        if idle > settings.host_timeout and not settings.hold_without_commands:
            return f"no command was accepted for {settings.host_timeout:g} s"
        if idle > settings.command_timeout and not self._can_ramp:
            return f"no command was accepted for {settings.command_timeout:g} s, and efforts hold nothing"
        if idle > settings.host_timeout and settings.arm_within:
            self.is_armed, self._since = False, now  # it holds; new commands do not move it until it is armed again
        return ""

    def _idle(self, now: float, commanded_at: float) -> float:
        return now - max(self._since, commanded_at)
