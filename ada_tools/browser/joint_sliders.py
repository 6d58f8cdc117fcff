# SPDX-License-Identifier: Apache-2.0
"""One slider per joint, and commands that approach the sliders within the joint speed limits.

Subclasses decide when commands are sent: while a checkbox is ticked (command_sliders.py) or a button is held
(held_sliders.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_robot.node_state import Motor
from ada_tools.browser.page import Page, SharedNumber
from ada_tools.browser.robot_node import Positions

_COARSEST = {True: 0.1, False: 1e-3}  # largest step of an angle [deg], of a distance [m]
_STEPS = 100  # minimum number of steps of a slider
_ROUNDING = 1e-9  # tolerance for limits after unit conversion, in steps


class SliderRange(NamedTuple):
    """Range and step of a slider, in degrees or metres."""

    low: float
    high: float
    step: float

    def including(self, value: float) -> SliderRange:
        """Extend the range to include a value outside the limits, beyond rounding."""
        low, high = self.low, self.high
        if value <= low - self.step:
            low = _rounded(math.floor(value / self.step), self.step)
        if value >= high + self.step:
            high = _rounded(math.ceil(value / self.step), self.step)
        return SliderRange(low, high, self.step)

    def nearest(self, value: float) -> float:
        """Value clipped to the range."""
        return min(max(value, self.low), self.high)


def slider_range(lower: float, upper: float, is_angle: bool) -> SliderRange:
    """Slider range within two limits.

    Args:
        lower: lower limit [deg, m].
        upper: upper limit [deg, m].
        is_angle: whether the limits are angles.
    """
    step = _COARSEST[is_angle]
    if 0.0 < upper - lower < _STEPS * step:
        step = 10.0 ** math.floor(math.log10((upper - lower) / _STEPS))
    low = _rounded(math.ceil(lower / step - _ROUNDING), step)
    high = _rounded(math.floor(upper / step + _ROUNDING), step)
    return SliderRange(low, max(high, low + step), step)


def _rounded(steps: int, step: float) -> float:
    """Multiple of a step, rounded to the fewest decimals."""
    return round(steps * step, max(0, -math.floor(math.log10(step))))


PERIOD = 0.05  # [s] between commands, below the command timeout
LEAD = 0.5  # [rad] or [m] maximum lead of a command over the joint position
LOOK = 0.2  # [s] between display updates while no command is sent
Send = Callable[[Positions | None], None]  # None stops the commands; raises InputError without a subscriber


class JointSliders:
    """Joint sliders, and the commands that approach them.

    Attributes:
        motors: one per slider.
        sliders: viser sliders.
        speeds: speed limits per motor [rad/s, m/s].
        commanded: last commanded positions; the motor positions while no command is sent.
    """

    lead = LEAD

    def __init__(self, page: Page, motors: Sequence[Motor], send: Send = lambda positions: None) -> None:
        """Prepare the sliders; `add` places them in the current section of the page.

        Args:
            page: page to draw on.
            motors: one per slider.
            send: callback that receives positions by joint.
        """
        self._page, self._send = page, send
        self.motors = tuple(motors)
        self.sliders: list[Any] = []
        self._numbers: list[SharedNumber] = []
        self._lower = np.array([motor.lower for motor in motors])
        self._upper = np.array([motor.upper for motor in motors])
        self._is_angle = np.array([motor.is_angle for motor in motors], dtype=bool)
        self.speeds = np.array([motor.speed for motor in motors])
        self.commanded: Array = np.zeros(len(motors))

    def add(self, moved: Callable[[int], None] = lambda i: None, beside: Callable[[], None] | None = None) -> None:
        """Add the sliders.

        Args:
            moved: called with the index of a slider moved by the user.
            beside: adds content below each slider.
        """
        for i, motor in enumerate(self.motors):
            unit, rest = ("deg", 180.0) if motor.is_angle else ("m", 1.0)
            low, high = (
                shown(x, motor.is_angle) if abs(x) < NO_LIMIT else math.copysign(rest, x)
                for x in (motor.lower, motor.upper)
            )
            low, high, step = slider_range(low, high, motor.is_angle)
            slider = self._page.gui.add_slider(f"{motor.name} [{unit}]", low, high, step, low)
            self.sliders.append(slider)
            self._numbers.append(SharedNumber(slider))
            self._page.when(slider, partial(moved, i), moves=True)
            if beside is not None:
                beside()

    def show(self, i: int, position: float) -> None:
        """Set a slider to the motor position unless the user has just moved it."""
        self._numbers[i].show(shown(position, self.motors[i].is_angle))

    def goal(self) -> Array:
        """Slider positions, clipped to the motor limits [rad, m]."""
        goal = np.array([number.read() for number in self._numbers])
        goal[self._is_angle] = np.radians(goal[self._is_angle])
        return np.asarray(np.clip(goal, self._lower, self._upper))

    def advance(self, goal: Array, present: Array, elapsed: float) -> None:
        """Send the next command towards a goal, limited in speed and in lead over the motor positions.

        Args:
            goal: goal positions.
            present: motor positions.
            elapsed: time since the last command [s].

        Raises:
            InputError: no subscriber.
        """
        reach = self.speeds * elapsed
        moved = self.commanded + np.clip(goal - self.commanded, -reach, reach)
        self.commanded = np.asarray(np.clip(moved, present - self.lead, present + self.lead))
        names = (motor.name for motor in self.motors)
        self._send(dict(zip(names, self.commanded.tolist(), strict=True)))


def shown(value: float, is_angle: bool) -> float:
    """Position in display units: degrees, or metres."""
    return math.degrees(value) if is_angle else value
