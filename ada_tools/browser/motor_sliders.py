# SPDX-License-Identifier: Apache-2.0
"""A slider per motor, and positions that go towards the sliders no faster than the motors may move."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_robot.node_state import Motor
from ada_tools.browser.page import Page, SharedNumber
from ada_tools.browser.slider_range import slider_range

PERIOD = 0.05  # [s] between commands, so that they do not go stale
TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] at most; slower where the joint is
LEAD = 0.5  # [rad] or [m] that a command may be ahead of its joint


class MotorSliders:
    """The sliders, and where a command is on its way to them.

    Attributes:
        motors: one per slider.
        sliders: viser's.
        speeds: at most, per motor [rad/s, m/s].
        commanded: positions that were commanded last; where the motors are, while nothing is commanded.
    """

    def __init__(self, page: Page, motors: Sequence[Motor], *, disabled: bool = True) -> None:
        """Begin without sliders; `add` adds them to where the page's controls go then.

        Args:
            page: to draw on.
            motors: one per slider.
            disabled: whether nobody can move them at first.
        """
        self._page, self._disabled = page, disabled
        self.motors = tuple(motors)
        self.sliders: list[Any] = []
        self._numbers: list[SharedNumber] = []
        self._lower = np.array([motor.lower for motor in motors])
        self._upper = np.array([motor.upper for motor in motors])
        self._is_angle = np.array([motor.is_angle for motor in motors], dtype=bool)
        self.speeds = np.array([motor.speed for motor in motors])
        self.commanded: Array = np.zeros(len(motors))

    def add(self, beside: Callable[[int], None] | None = None) -> None:
        """Add the sliders. Args: what adds something below the slider with this number."""
        for i, motor in enumerate(self.motors):
            unit, rest = ("deg", 180.0) if motor.is_angle else ("m", 1.0)
            low, high = (
                shown(x, motor.is_angle) if abs(x) < NO_LIMIT else math.copysign(rest, x)
                for x in (motor.lower, motor.upper)
            )
            low, high, step = slider_range(low, high, motor.is_angle)
            slider = self._page.gui.add_slider(f"{motor.name} [{unit}]", low, high, step, low, disabled=self._disabled)
            self.sliders.append(slider)
            self._numbers.append(SharedNumber(slider))
            if beside is not None:
                beside(i)

    def disable(self, disabled: bool) -> None:
        """Let people move them, or not."""
        for slider in self.sliders:
            slider.disabled = disabled

    def show(self, i: int, position: float) -> None:
        """Move a slider to where a motor is, unless a person has just moved it."""
        self._numbers[i].show(shown(position, self.motors[i].is_angle))

    def goal(self) -> Array:
        """Where the sliders are, within the motors' limits [rad, m]."""
        goal = np.array([number.read() for number in self._numbers])
        goal[self._is_angle] = np.radians(goal[self._is_angle])
        return np.asarray(np.clip(goal, self._lower, self._upper))

    def advance(self, goal: Array, present: Array, elapsed: float, lead: float = LEAD) -> Array:
        """The next command: towards a goal, as fast as the motors may go, and not far ahead of them.

        Args:
            goal: positions.
            present: where the motors are.
            elapsed: since the last command [s].
            lead: that a command may be ahead of its motor.
        """
        reach = self.speeds * elapsed
        moved = self.commanded + np.clip(goal - self.commanded, -reach, reach)
        self.commanded = np.asarray(np.clip(moved, present - lead, present + lead))
        return self.commanded


def shown(value: float, is_angle: bool) -> float:
    """A position as people read it: degrees, or metres."""
    return math.degrees(value) if is_angle else value
