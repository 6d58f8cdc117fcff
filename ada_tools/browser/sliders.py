# SPDX-License-Identifier: Apache-2.0
"""Joint sliders: of the coordinates of a robot with closed loops, and those that command motors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import Model
from ada_robot.node_state import Motor
from ada_tools.browser.page import Page
from ada_tools.browser.posing import PoseCoordinate, Posing
from ada_tools.browser.robot_node import Positions

PERIOD = 0.05  # [s] between commands for a simulation; a device gets one per frame
LEAD, DEVICE_LEAD = 0.5, 0.3  # [rad] or [m] maximum lead of a command over its joint; below the node's jump limit
TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] maximum command speed; lower if the joint limit is lower
_SPEED, _FASTEST = 15.0, 60.0  # [deg/s] joint speed of a device: initial and maximum
_SHARE = 0.5  # maximum fraction of the joint velocity limit of a device
_LONGEST = 1.5 * PERIOD  # [s] maximum time step of one command
_LOOK = 0.2  # [s] between display updates of the sliders
_SAME = 1e-6  # [deg, m, s] smaller changes are not sent
Send = Callable[[Positions | None], None]  # None stops the commands; raises InputError without a subscriber
_COARSEST = {True: 0.1, False: 1e-3}  # largest step of an angle [deg], of a distance [m]
_STEPS = 100  # minimum number of steps of a slider
_ROUNDING = 1e-9  # tolerance for limits after unit conversion, in steps


def slider_range(lower: float, upper: float, is_angle: bool, value: float) -> tuple[float, float, float]:
    """Low end, high end and step of a slider within two limits [deg, m]; it also includes a value beyond them."""
    step = _COARSEST[is_angle]
    if 0.0 < upper - lower < _STEPS * step:
        step = 10.0 ** math.floor(math.log10((upper - lower) / _STEPS))
    low = _rounded(math.ceil(lower / step - _ROUNDING), step)
    high = max(_rounded(math.floor(upper / step + _ROUNDING), step), low + step)
    if value <= low - step:
        low = _rounded(math.floor(value / step), step)
    if value >= high + step:
        high = _rounded(math.ceil(value / step), step)
    return low, high, step


def _rounded(steps: int, step: float) -> float:
    """Multiple of a step, rounded to the fewest decimals."""
    return round(steps * step, max(0, -math.floor(math.log10(step))))


class Slider:
    """Slider set by both the program and the user; a new user value is never overwritten before it is read.

    Typed digits arrive one by one: a reply to the first digit must not replace the second.

    Attributes:
        control: viser slider.
        scale: slider units per unit of the program.
    """

    def __init__(self, control: Any, scale: float = 1.0) -> None:
        """Take over a viser slider with its units per unit of the program."""
        self.control, self.scale = control, scale
        self._known = float(control.value)

    def read(self) -> float:
        """Current value."""
        self._known = float(self.control.value)
        return self._known / self.scale

    def show(self, value: float) -> None:
        """Set the value, clipped to the slider range, unless a user value is unread."""
        if float(self.control.value) != self._known:
            return
        value = float(min(max(value * self.scale, self.control.min), self.control.max))
        if abs(value - self._known) > _SAME:
            self._known = self.control.value = value


def add_joint_slider(
    page: Page, label: str, ends: tuple[float, float], is_angle: bool, start: float | None = None, **more: Any
) -> Slider:
    """Add a slider of a joint position, in degrees or metres, to the current section of a page.

    Args:
        page: page to draw on.
        label: text beside the slider.
        ends: lower and upper limit of the position [rad, m]; half a turn or 1 m without a limit.
        is_angle: whether the position is an angle.
        start: initial position [rad, m], also beyond the limits; the lower limit by default.
        **more: further options of the viser slider.
    """
    scale, rest = (math.degrees(1.0), 180.0) if is_angle else (1.0, 1.0)
    low, high = (x * scale if abs(x) < NO_LIMIT else math.copysign(rest, x) for x in ends)
    value = low if start is None else scale * start
    low, high, step = slider_range(low, high, is_angle, value)
    value = min(max(value, low), high)
    return Slider(page.gui.add_slider(f"{label} [{'deg' if is_angle else 'm'}]", low, high, step, value, **more), scale)


class MotorSliders:
    """Sliders of motors: a slider shows its joint until a user moves it, and is then the target of the joint.

    Commands approach the targets within the joint speed limits. They are sent while the checkbox is ticked, or, for a
    device, while its hold-to-run button is held. The targets of a device are kept when the button is released, so that
    the motion can be resumed, and are discarded by a button.

    Attributes:
        motors: one per slider.
        wanted: indices of the sliders moved by the user.
        commanded: last commanded positions.
        is_commanding: whether commands are being sent.
        box: checkbox; None for a device.
    """

    def __init__(self, page: Page, title: str, motors: Sequence[Motor], send: Send, box: str = "") -> None:
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            title: title of the folder.
            motors: one per slider.
            send: callback that receives positions by joint.
            box: label of the checkbox; "" for a device.
        """
        self._page, self._title, self._send = page, title, send
        self.motors = tuple(motors)
        self.wanted: set[int] = set()
        self.commanded: Array = np.zeros(len(motors))
        self.is_commanding = self._was_watched = False
        self._last = self._shown_at = -math.inf
        self._lower = np.array([motor.lower for motor in motors])
        self._upper = np.array([motor.upper for motor in motors])
        self._fastest = np.array([motor.speed for motor in motors])
        self._lead = LEAD if box else DEVICE_LEAD
        self.box: Any = None
        self._folder = page.gui.add_folder(title, expand_by_default=not box, order=None if box else -1.0)
        self._folder.visible = bool(motors)
        with self._folder:
            if box:
                self.box = page.gui.add_checkbox(box, False, hint="motors follow the sliders")
                page.when(self.box, lambda: self.switch(bool(self.box.value)), moves=True)
            else:
                self.speed = page.gui.add_slider("speed [deg/s]", 1.0, _FASTEST, 1.0, _SPEED)
                page.when(page.gui.add_button("sliders back to the robot"), self.forget)
            self._sliders = [add_joint_slider(page, m.name, (m.lower, m.upper), m.is_angle) for m in motors]
        for i, slider in enumerate(self._sliders):
            page.when(slider.control, partial(self.wanted.add, i), moves=True)

    @property
    def sliders(self) -> list[Any]:
        """Sliders of viser."""
        return [slider.control for slider in self._sliders]

    def goal(self) -> Array:
        """Slider positions, clipped to the motor limits [rad, m]."""
        return np.asarray(np.clip([slider.read() for slider in self._sliders], self._lower, self._upper))

    def positions(self, known: Positions) -> Array | None:
        """Positions of all motors as an array; None if any is unknown."""
        found = np.array([known.get(motor.name, math.nan) for motor in self.motors])
        return found if np.isfinite(found).all() else None

    def forget(self) -> None:
        """Discard all targets; the sliders display the joint positions again."""
        self.goal()  # discard pending slider values
        self.wanted.clear()
        self._shown_at = -math.inf

    def remove(self) -> None:
        """Remove the sliders from the page."""
        self.end()
        self._folder.remove()

    def offer(self, is_offered: bool) -> None:
        """Show or hide the sliders; hiding stops the commands."""
        if self.motors and self._folder.visible != is_offered:
            self._folder.visible = is_offered
            if not is_offered:
                self.end("another controller commands this robot")

    def switch(self, is_on: bool) -> None:
        """Tick or untick the checkbox."""
        self.box.value, self._was_watched = is_on, False
        if not is_on:
            self.forget()
            self.end()

    def end(self, reason: str = "") -> None:
        """Stop sending commands; a reason is displayed, and unticks the checkbox."""
        if self.is_commanding:
            self.is_commanding = False
            self._send(None)
        if reason and self.box is not None and self.box.value:
            self.switch(False)
            self._page.say(f"{self._title} are off: {reason}")

    def tick(self, present: Array | None, *, is_enabled: bool = True, before: Array | None = None) -> None:
        """Per-frame update: send commands while they are enabled, and display the joint positions.

        Args:
            present: joint positions; None if any is unknown.
            is_enabled: whether the robot may move now.
            before: commanded positions reported by the node; commands start there if they are near the joints.
        """
        now = self._page.clock.now()
        if self.box is not None:
            is_enabled = is_enabled and bool(self.box.value)
            if is_enabled and self._is_closed():
                self.end("no browser shows this page")
                return
        if present is None or not is_enabled:
            self.end()
        elif self.box is None or not self.is_commanding or now - self._last >= PERIOD - _SAME:
            self._command(present, before, now)
        if present is not None and now - self._shown_at > _LOOK:
            self._shown_at = now
            with self._page.server.atomic():
                for i, slider in enumerate(self._sliders):
                    if i not in self.wanted:
                        slider.show(float(present[i]))

    def _command(self, present: Array, before: Array | None, now: float) -> None:
        """Send the next command towards the targets, limited in speed and in lead over the joints."""
        if not self.is_commanding:
            # Start from the commanded positions: a joint sagging under load would sink further with each start.
            is_near = before is not None and bool((np.abs(before - present) < self._lead).all())
            self.commanded = before if is_near and before is not None else present.copy()
            self.is_commanding, self._last = True, now
        goal, rows = self.commanded.copy(), sorted(self.wanted)
        goal[rows] = self.goal()[rows]
        speeds = self._fastest
        if self.box is None:
            speeds = np.minimum(_SHARE * speeds, math.radians(float(self.speed.value)))
        reach = speeds * min(now - self._last, _LONGEST)
        self._last = now
        moved = self.commanded + np.clip(goal - self.commanded, -reach, reach)
        self.commanded = np.asarray(np.clip(moved, present - self._lead, present + self._lead))
        names = (motor.name for motor in self.motors)
        try:
            self._send(dict(zip(names, self.commanded.tolist(), strict=True)))
        except InputError as problem:
            self.end(str(problem))

    def _is_closed(self) -> bool:
        """Return True once the last browser has closed the page."""
        is_watched = self._page.is_looked_at
        left = self._was_watched and not is_watched
        self._was_watched = self._was_watched or is_watched
        return left


def motors_of(model: Model) -> list[Motor]:
    """Motors of a robot with a single position coordinate."""
    found = []
    for name in model.actuated:
        joint = model.joints[name]
        if joint.nq == joint.nv == 1:
            place, is_angle = model.q_index(name).start, joint.type.turns()
            own, usual = abs(joint.limits.velocity), TURN if is_angle else SLIDE
            speed = min(own, usual) if own > 0.0 else usual
            found.append(Motor(name, float(model.lower[place]), float(model.upper[place]), speed, is_angle))
    return found


class PoseSliders:
    """Sliders for the coordinates of a `Posing`."""

    def __init__(
        self,
        page: Page,
        posing: Posing,
        moved: Callable[[str], None],
        wanted: Callable[[PoseCoordinate], bool] = lambda coordinate: True,
    ) -> None:
        """Add sliders of the wanted coordinates; `moved` is called after each change with a message, or ""."""
        self.page, self.posing = page, posing
        self._moved = moved
        self._sliders: dict[PoseCoordinate, Slider] = {}
        coordinates = [coordinate for coordinate in posing.coordinates if wanted(coordinate)]
        with page.gui.add_folder("joints"):
            self._add([coordinate for coordinate in coordinates if coordinate.leads])
        followers = [coordinate for coordinate in coordinates if not coordinate.leads]
        if followers:
            with page.gui.add_folder("joints that follow", expand_by_default=len(followers) <= 6):
                self._add(followers)

    def _add(self, coordinates: list[PoseCoordinate]) -> None:
        for coordinate in coordinates:
            ends, start = (coordinate.lower, coordinate.upper), self.posing.value(coordinate)
            is_off = not coordinate.leads
            slider = add_joint_slider(self.page, coordinate.label, ends, coordinate.is_angle, start, disabled=is_off)
            self._sliders[coordinate] = slider
            if coordinate.leads:
                self.page.when(slider.control, partial(self.move, coordinate))

    @property
    def sliders(self) -> list[tuple[PoseCoordinate, Any]]:
        """Coordinates, and their sliders of viser."""
        return [(coordinate, slider.control) for coordinate, slider in self._sliders.items()]

    def move(self, coordinate: PoseCoordinate) -> None:
        """Apply a slider; it returns to the last reachable value if the loops cannot be closed."""
        slider = self._sliders[coordinate]
        wanted = slider.read()
        typed = float(slider.control.value)
        if not slider.control.min <= typed <= slider.control.max:
            return  # incomplete typed number; the browser clips the final value to the range
        arrived = self.posing.move(coordinate, wanted)
        unit = "deg" if coordinate.is_angle else "m"
        self._moved(
            ""
            if arrived
            else f"**{coordinate.label}** cannot reach {typed:.4g} {unit} with the loops closed; "
            f"it stops at {slider.scale * self.posing.value(coordinate):.4g} {unit}."
        )

    def show(self) -> None:
        """Set all sliders to the present configuration."""
        for coordinate, slider in self._sliders.items():
            slider.show(self.posing.value(coordinate))
