# SPDX-License-Identifier: Apache-2.0
"""Sliders for the joints of a real robot: it goes to them while a button is held, and stays where it is otherwise.

A slider follows its joint until a person moves it. Then it says where the joint shall go the next time that the button
is held, and goes on to say so: after a pause the motion can be continued, or taken back by a button. When the robot is
stopped, or lost, all sliders follow their joints again: nobody expects a motion to go on after that.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_robot.node_state import ACTIVE, CLOSED, STOPPED, DeviceState, Motor
from ada_tools.browser.hardware_plant import Hardware, Told
from ada_tools.browser.motor_sliders import PERIOD, MotorSliders
from ada_tools.browser.page import Page

FRESH = 1.0  # [s] that positions count
_SPEED, _FASTEST = 15.0, 60.0  # [deg/s] of joints, at first and at most
_SHARE = 0.5  # of a joint's own speed, at most
_LEAD = 0.3  # [rad] that a command may be ahead of its joint: less than the node refuses as a jump
_LONGEST = 1.5 * PERIOD  # [s] that a late command makes up for
_SAME = math.radians(0.05)  # of a joint that is told to be where it is
ORDER = -1.0  # on the page: above what all robots have
_SHOWN = 0.2  # [s] between looks at what stands beside the sliders
_LINE = (  # one, whatever it says: what is below must not move
    '<div style="margin:-0.35em 0.8em 0.5em 0.8em;font-size:0.75em;color:#666;text-align:right;height:1.5em;'
    'white-space:nowrap;overflow:hidden;text-overflow:ellipsis">{}</div>'
)


class HardwareSliders:
    """The sliders of one robot.

    Attributes:
        motors: the sliders, and where a command is on its way to them.
        wanted: numbers of the sliders that a person has moved.
        is_commanding: whether commands flow.
    """

    def __init__(self, page: Page, hardware: Hardware, device: DeviceState) -> None:
        """Add them to the page.

        Args:
            page: to draw on.
            hardware: node that drives the robot.
            device: the robot.
        """
        self._page, self._hardware, self.device = page, hardware, device
        self._own = [motor.speed for motor in device.motors]
        self.motors = MotorSliders(page, device.motors, disabled=False)
        self.wanted: set[int] = set()
        self.is_commanding = False
        self._last = self._shown_at = -math.inf
        self._lines: list[Any] = []
        self._texts: list[str] = []
        self._folder = page.gui.add_folder(f"{device.name}: joints", order=ORDER)
        with self._folder:
            self.speed = page.gui.add_slider("speed [deg/s]", 1.0, _FASTEST, 1.0, _SPEED)
            self.back = page.gui.add_button("sliders back to the robot")
            self.motors.add(self._add_line)
        page.when(self.back, self.forget)
        for i, slider in enumerate(self.motors.sliders):
            page.when(slider, partial(self.want, i), moves=True)

    def _add_line(self, _: int) -> None:
        self._texts.append("")
        self._lines.append(self._page.gui.add_html(_LINE.format("")))

    def remove(self) -> None:
        """Take them off the page."""
        self.end()
        self._folder.remove()

    # --- what people want ---------------------------------------------------------------------------------------
    def want(self, i: int) -> None:
        """A person moved a slider."""
        self.wanted.add(i)

    def forget(self) -> None:
        """Let all sliders follow their joints again."""
        self.motors.goal()  # whatever was given so far is read, and over
        self.wanted.clear()
        self._shown_at = -math.inf

    @property
    def goal(self) -> dict[str, float]:
        """Where a person wants joints to go, by joint [rad]."""
        positions = self.motors.goal()
        return {self.device.motors[i].name: float(positions[i]) for i in sorted(self.wanted)}

    # --- once a frame -------------------------------------------------------------------------------------------
    def tick(self, device: DeviceState, *, is_held: bool) -> None:
        """Command, or follow.

        Args:
            device: its newest state.
            is_held: whether the robot may move now.
        """
        self.device = device
        present = self._present()
        if device.phase in (STOPPED, CLOSED) or present is None:
            self.end()
            if self.wanted:
                self.forget()
        elif is_held and device.phase == ACTIVE:
            self._command(present)
        else:
            self.end()
        if time.monotonic() - self._shown_at > _SHOWN:
            self._shown_at = time.monotonic()
            self._show(present)

    def end(self) -> None:
        """Command no more; the robot stays where it was told to be last."""
        if self.is_commanding:
            self.is_commanding = False
            self._hardware.command(self.device.name, None)

    def _present(self) -> Array | None:
        """Where all joints are; None where that is not known."""
        found = self._positions(self._hardware.measured(self.device.name))
        return None if found is None or not np.isfinite(found).all() else found

    def _positions(self, told: Told | None) -> Array | None:
        if told is None or time.monotonic() - told.arrived > FRESH:
            return None
        return np.array([told.positions.get(motor.name, math.nan) for motor in self.device.motors])

    def _command(self, present: Array) -> None:
        now = time.monotonic()
        if not self.is_commanding:
            # From where it is told to be: what sags under its load would sink with each new start.
            told = self._positions(self._hardware.told(self.device.name))
            is_near = told is not None and bool((np.abs(told - present) < _LEAD).all())
            self.motors.commanded = told if is_near and told is not None else present.copy()
            self.is_commanding, self._last = True, now
        goal = self.motors.commanded.copy()
        if self.wanted:
            rows = sorted(self.wanted)
            goal[rows] = self.motors.goal()[rows]
        speed = math.radians(float(self.speed.value))
        self.motors.speeds = np.array([min(_SHARE * own, speed) for own in self._own])
        elapsed, self._last = min(now - self._last, _LONGEST), now
        commanded = self.motors.advance(goal, present, elapsed, _LEAD)
        names = [motor.name for motor in self.device.motors]
        try:
            self._hardware.command(self.device.name, dict(zip(names, commanded.tolist(), strict=True)))
        except InputError as problem:
            self._page.say(str(problem))

    # --- what is shown ------------------------------------------------------------------------------------------
    def _show(self, present: Array | None) -> None:
        told = self._positions(self._hardware.told(self.device.name))
        with self._page.server.atomic():
            for i, motor in enumerate(self.device.motors):
                if present is not None and i not in self.wanted:
                    self.motors.show(i, float(present[i]))
                text = _beside(motor, present, told, i, self.device)
                if text != self._texts[i]:
                    self._texts[i] = text
                    self._lines[i].content = _LINE.format(html.escape(text))


def _beside(motor: Motor, present: Array | None, told: Array | None, i: int, device: DeviceState) -> str:
    """What stands beside a slider: where the joint is, where it is told to be, and that as an angle of its servo."""
    if present is None:
        return "not measured"
    parts = [f"is {_degrees(present[i]):.1f} deg"]
    if told is not None and math.isfinite(told[i]):
        parts.append(f"told {_degrees(told[i]):.1f}")
    scale = device.servos.get(motor.name)
    if scale is not None:
        parts.append(f"servo {scale.angle(float(present[i])):.0f} deg")
    return ", ".join(parts)


def _degrees(angle: float) -> float:
    """To a tenth, and never -0.0."""
    return round(math.degrees(angle), 1) + 0.0


def differs(goal: Mapping[str, float], present: Mapping[str, float]) -> bool:
    """Whether a goal is elsewhere than where the joints are."""
    return any(abs(value - present.get(name, value)) > _SAME for name, value in goal.items())
