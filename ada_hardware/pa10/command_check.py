# SPDX-License-Identifier: Apache-2.0
"""Violation checks of the commands to an emulated PA-10: commands that must never be sent to a real arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_hardware.emulation.emulator import Violation
from ada_hardware.pa10.cyclic import BRAKE, IN_TORQUE, SERVO, AxisCommand, CyclicCommand
from ada_hardware.pa10.variants import AXES

_MOST = 1000  # recorded violations
_ROUNDING = 1  # [counts] rounding error of the difference of two speeds


class Bounds(NamedTuple):
    """Limits of an axis.

    Attributes:
        name: name of the axis; "" for a slot without an axis.
        speed: largest speed [counts].
        torque: largest torque [counts].
        step: largest increase of the speed per second [counts/s].
    """

    name: str
    speed: float = 0.0
    torque: float = 0.0
    step: float = 0.0


class ArmSituation(NamedTuple):
    """State of the arm when a command is received.

    Attributes:
        is_in_control: control was started by S and has not ended.
        is_ready: axes with servo on that follow commands.
        is_fast: axes too fast for their brakes.
        has_alarm: an alarm is active.
        knows_alarm: the alarm was reported to the host longer than `alarm_grace` ago.
        speeds: axis speeds [counts].
    """

    is_in_control: bool
    is_ready: Sequence[bool]
    is_fast: Sequence[bool]
    has_alarm: bool
    knows_alarm: bool
    speeds: Sequence[float] = (0.0,) * AXES


class CommandCheck:
    """Checks commands and records violations.

    Attributes:
        bounds: limits of the axes, by slot.
        found: recorded violations.
    """

    def __init__(self, bounds: Sequence[Bounds], period: float, found: list[Violation]) -> None:
        """Start with all axes at rest.

        Args:
            bounds: limits of the axes, by slot.
            period: shortest time to which a change of speed is related [s].
            found: list that receives the violations.
        """
        self.bounds, self.found = tuple(bounds), found
        self._period = period
        self._speeds = [0] * AXES  # last commanded [counts]
        self._in_torque = [False] * AXES  # torque mode in the last command
        self._then = 0.0

    def forget(self) -> None:
        """Reset: the axes are at rest without a command."""
        self._speeds, self._in_torque = [0] * AXES, [False] * AXES

    def note(self, now: float, text: str) -> None:
        """Record a violation."""
        if len(self.found) < _MOST:
            self.found.append(Violation(now, text))

    def command(self, command: CyclicCommand, situation: ArmSituation, now: float) -> None:
        """Check a command C.

        Args:
            command: received command.
            situation: state of the arm.
            now: present time [s].
        """
        elapsed, self._then = max(now - self._then, self._period), now
        for slot, axis in enumerate(command.axes):
            if any(axis) or self._speeds[slot] or self._in_torque[slot]:
                self._axis(slot, axis, situation, elapsed, now)

    def _axis(self, slot: int, axis: AxisCommand, situation: ArmSituation, elapsed: float, now: float) -> None:
        bounds, (mode, torque, speed) = self.bounds[slot], axis
        name = bounds.name or f"slot {slot + 1}"
        in_torque = mode & IN_TORQUE == IN_TORQUE
        before, was_in_torque = self._speeds[slot], self._in_torque[slot]
        self._speeds[slot] = speed if mode & SERVO and not in_torque else 0
        self._in_torque[slot] = in_torque and situation.is_ready[slot]
        if was_in_torque:  # after torque control, the speed command starts from the measured speed
            before = round(situation.speeds[slot])
        if not bounds.name:
            self.note(now, f"{name} has no axis, but is commanded {tuple(axis)}")
            return
        if abs(speed) > bounds.speed:
            self.note(now, f"{name}: commanded speed of {speed} counts exceeds its limit")
        if abs(torque) > bounds.torque:
            self.note(now, f"{name}: commanded torque of {torque} counts exceeds the motor's")
        wants = bool(torque) if in_torque else bool(speed)
        if mode & BRAKE and situation.is_ready[slot] and situation.is_fast[slot]:
            self.note(now, f"{name} is braked while it moves")
        if not wants:
            return
        if mode & BRAKE:
            self.note(now, f"{name} is commanded to move with its brake on")
        elif situation.has_alarm:
            # axes without an alarm may decelerate along a ramp
            if situation.knows_alarm and (in_torque or not situation.is_ready[slot] or abs(speed) >= abs(before)):
                self.note(now, f"{name} is commanded to move during an alarm")
        elif not situation.is_in_control:
            self.note(now, f"{name} is commanded to move before control is started (S)")
        elif not situation.is_ready[slot]:
            self.note(now, f"{name} is commanded to move before its servo is on")
        elif self._speeds[slot]:
            # any deceleration is allowed; acceleration and reversal are limited
            rise = abs(speed) - abs(before) if speed * before > 0 else abs(speed)
            if rise > bounds.step * elapsed + _ROUNDING:
                self.note(now, f"{name}: commanded speed changes too fast: from {before} to {speed} counts")
