# SPDX-License-Identifier: Apache-2.0
"""Judge of the commands to an emulated PA-10: notes those that must never go to a real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_hardware.emulation.emulator import Violation
from ada_hardware.pa10.cyclic import BRAKE, IN_TORQUE, SERVO, AxisCommand, CyclicCommand
from ada_hardware.pa10.variants import AXES

_MOST = 1000  # violations that are kept
_ROUNDING = 1  # [counts]: two speeds, each to the next count


class Bounds(NamedTuple):
    """Limits of an axis.

    Attributes:
        name: of the axis; "" for a slot without one.
        speed: greatest [counts].
        torque: greatest [counts].
        step: greatest rise of the speed per second [counts/s].
    """

    name: str
    speed: float = 0.0
    torque: float = 0.0
    step: float = 0.0


class Situation(NamedTuple):
    """State of the arm when a command comes.

    Attributes:
        is_in_control: whether S was answered, and the control did not end.
        is_ready: axes whose servo is on, and that follow.
        is_fast: axes that are too fast for their brakes.
        has_alarm: whether there is an alarm, because of which nothing moves.
        knows_alarm: whether it was reported to the host long enough ago for it to know.
        speeds: with which the axes move [counts].
    """

    is_in_control: bool
    is_ready: Sequence[bool]
    is_fast: Sequence[bool]
    has_alarm: bool
    knows_alarm: bool
    speeds: Sequence[float] = (0.0,) * AXES


class Judge:
    """Checks commands.

    Attributes:
        bounds: of the axes, by slot.
        found: what was wrong.
    """

    def __init__(self, bounds: Sequence[Bounds], period: float, found: list[Violation]) -> None:
        """Begin.

        Args:
            bounds: of the axes, by slot.
            period: least time for which a command may change speeds [s].
            found: where violations go.
        """
        self.bounds, self.found = tuple(bounds), found
        self._period = period
        self._speeds = [0] * AXES  # demanded last [counts]
        self._in_torque = [False] * AXES  # likewise
        self._then = 0.0

    def forget(self) -> None:
        """Axes stand, and nothing is demanded."""
        self._speeds, self._in_torque = [0] * AXES, [False] * AXES

    def note(self, now: float, text: str) -> None:
        """Record a violation."""
        if len(self.found) < _MOST:
            self.found.append(Violation(now, text))

    def command(self, command: CyclicCommand, situation: Situation, now: float) -> None:
        """Check a command C.

        Args:
            command: as it came.
            situation: of the arm.
            now: present [s].
        """
        elapsed, self._then = max(now - self._then, self._period), now
        for slot, axis in enumerate(command.axes):
            if any(axis) or self._speeds[slot] or self._in_torque[slot]:
                self._axis(slot, axis, situation, elapsed, now)

    def _axis(self, slot: int, axis: AxisCommand, situation: Situation, elapsed: float, now: float) -> None:
        bounds, (mode, torque, speed) = self.bounds[slot], axis
        name = bounds.name or f"slot {slot + 1}"
        in_torque = mode & IN_TORQUE == IN_TORQUE
        before, was_in_torque = self._speeds[slot], self._in_torque[slot]
        self._speeds[slot] = speed if mode & SERVO and not in_torque else 0
        self._in_torque[slot] = in_torque and situation.is_ready[slot]
        if was_in_torque:  # torques were demanded, and made it move: a speed begins there
            before = round(situation.speeds[slot])
        if not bounds.name:
            self.note(now, f"{name} has no axis, but is commanded {tuple(axis)}")
            return
        if abs(speed) > bounds.speed:
            self.note(now, f"{name} is to be faster than it can: {speed} counts")
        if abs(torque) > bounds.torque:
            self.note(now, f"{name} is to give more than its motor: {torque} counts of torque")
        wants = bool(torque) if in_torque else bool(speed)
        if mode & BRAKE and situation.is_ready[slot] and situation.is_fast[slot]:
            self.note(now, f"{name} is braked while it moves")
        if not wants:
            return
        if mode & BRAKE:
            self.note(now, f"{name} is to move with its brake on")
        elif situation.has_alarm:
            # axes without an alarm may come to rest along a ramp
            if situation.knows_alarm and (in_torque or not situation.is_ready[slot] or abs(speed) >= abs(before)):
                self.note(now, f"{name} is to move while there is an alarm")
        elif not situation.is_in_control:
            self.note(now, f"{name} is to move, but the control was not started (S)")
        elif not situation.is_ready[slot]:
            self.note(now, f"{name} is to move before its servo is on")
        elif self._speeds[slot]:
            # speeds may fall as fast as they will, but neither rise nor turn round faster than allowed
            rise = abs(speed) - abs(before) if speed * before > 0 else abs(speed)
            if rise > bounds.step * elapsed + _ROUNDING:
                self.note(now, f"{name} is to change its speed too suddenly: from {before} to {speed} counts")
