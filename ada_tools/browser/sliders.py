# SPDX-License-Identifier: Apache-2.0
"""Joint sliders: of the coordinates of a robot with closed loops, and those that command motors.

Commands approach the sliders within the joint speed limits. They are sent while a checkbox is ticked (`CommandSliders`,
and `JointTargets` for a controller) or while a button is held (device_sliders.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import Model
from ada_robot.node_state import Motor
from ada_tools.browser.page import Page, SharedNumber
from ada_tools.browser.posing import PoseCoordinate, Posing
from ada_tools.browser.robot_node import Follower, Positions

PERIOD = 0.05  # [s] between commands, below the command timeout
LEAD = 0.5  # [rad] or [m] maximum lead of a command over the joint position
LOOK = 0.2  # [s] between display updates while no command is sent
TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] maximum command speed; lower if the joint limit is lower
Send = Callable[[Positions | None], None]  # None stops the commands; raises InputError without a subscriber
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


class JointSlider(SharedNumber):
    """Slider of a joint coordinate, in degrees or metres; its position is in radians or metres.

    Attributes:
        unit: unit of the slider.
    """

    def __init__(
        self, page: Page, label: str, ends: tuple[float, float], is_angle: bool, start: float | None = None, **more: Any
    ) -> None:
        """Add the slider to the current section of the page.

        Args:
            page: page to draw on.
            label: text beside the slider.
            ends: lower and upper limit of the position; half a turn or 1 m without a limit.
            is_angle: whether the position is an angle.
            start: initial position, also beyond the limits; the lower limit by default.
            **more: further options of the viser slider.
        """
        self._is_angle, self.unit = is_angle, "deg" if is_angle else "m"
        rest = 180.0 if is_angle else 1.0
        low, high = (self.shown(x) if abs(x) < NO_LIMIT else math.copysign(rest, x) for x in ends)
        limits = slider_range(low, high, is_angle)
        if start is not None:
            limits = limits.including(self.shown(start))
        low, high, step = limits
        value = low if start is None else limits.nearest(self.shown(start))
        super().__init__(page.gui.add_slider(f"{label} [{self.unit}]", low, high, step, value, **more))

    def shown(self, position: float) -> float:
        """Position in the unit of the slider."""
        return math.degrees(position) if self._is_angle else position

    def position(self) -> float:
        """Current position."""
        value = self.read()
        return math.radians(value) if self._is_angle else value

    def set(self, position: float) -> None:
        """Show a position unless the user has just moved the slider."""
        self.show(self.shown(position))


class JointSliders:
    """Joint sliders, and the commands that approach them.

    Attributes:
        motors: one per slider.
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
        self._sliders: list[JointSlider] = []
        self._lower = np.array([motor.lower for motor in motors])
        self._upper = np.array([motor.upper for motor in motors])
        self.speeds = np.array([motor.speed for motor in motors])
        self.commanded: Array = np.zeros(len(motors))

    def add(self, moved: Callable[[int], None] = lambda i: None, beside: Callable[[], None] | None = None) -> None:
        """Add the sliders.

        Args:
            moved: called with the index of a slider moved by the user.
            beside: adds content below each slider.
        """
        for i, motor in enumerate(self.motors):
            slider = JointSlider(self._page, motor.name, (motor.lower, motor.upper), motor.is_angle)
            self._sliders.append(slider)
            self._page.when(slider.control, partial(moved, i), moves=True)
            if beside is not None:
                beside()

    @property
    def sliders(self) -> list[Any]:
        """Sliders of viser."""
        return [slider.control for slider in self._sliders]

    def show(self, i: int, position: float) -> None:
        """Set a slider to the motor position unless the user has just moved it."""
        self._sliders[i].set(position)

    def goal(self) -> Array:
        """Slider positions, clipped to the motor limits [rad, m]."""
        return np.asarray(np.clip([slider.position() for slider in self._sliders], self._lower, self._upper))

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


class CommandSliders(JointSliders):
    """Sliders that display the joint positions, and send commands from there once the checkbox is ticked."""

    def __init__(
        self, page: Page, model: Model, send: Send, title: str = "joint commands", box: str = "command"
    ) -> None:
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            model: robot model; each single-position motor gets a slider.
            send: callback that receives positions by joint.
            title: title of the folder.
            box: label of the checkbox.
        """
        super().__init__(page, motors_of(model), send)
        self._title = title
        self._places = np.array([model.q_index(motor.name).start for motor in self.motors], dtype=np.intp)
        self._due = self._last = 0.0
        self._was_watched = self.is_on = self._is_shown = False
        if not self.motors:
            return
        self._folder = page.gui.add_folder(title, expand_by_default=False)
        with self._folder:
            self.box = page.gui.add_checkbox(box, False, hint="motors follow the sliders")
            self.add()
        self._disable(True)
        page.when(self.box, lambda: self.switch(bool(self.box.value)), moves=True)

    def _disable(self, disabled: bool) -> None:
        for slider in self.sliders:
            slider.disabled = disabled

    def offer(self, is_offered: bool) -> None:
        """Show or hide the sliders; hiding stops the commands."""
        if not self.motors or self._folder.visible == is_offered:
            return
        self._folder.visible = is_offered
        if not is_offered:
            self.end("another controller commands this robot")

    def switch(self, is_on: bool) -> None:
        """Start sending commands from the present joint positions, or stop."""
        self.is_on = is_on
        self._was_watched = False
        self._due = 0.0
        with self._page.server.atomic():
            self.box.value = is_on
            self._disable(not is_on)
        if not is_on:
            self._send(None)

    def end(self, reason: str) -> None:
        """Stop sending commands and report the reason."""
        if self.is_on:
            self.switch(False)
            self._page.say(f"{self._title} are off: {reason}")

    def tick(self, q: Array) -> None:
        """Per-frame update with the present configuration."""
        now = self._page.clock.now()
        if not self.motors or now < self._due:
            return
        present = q[self._places]
        if not (self.is_on and self._is_shown):  # commands begin at the present positions
            self._due, self._last = now + (PERIOD if self.is_on else LOOK), now
            self._is_shown, self.commanded = True, present.copy()
            for i, value in enumerate(present.tolist()):
                self.show(i, value)
            return
        elapsed = now - self._last if self._due else PERIOD
        self._due, self._last = now + PERIOD, now
        if self._is_closed():
            self.end("no browser shows this page")
            return
        try:
            self.advance(self.goal(), present, min(elapsed, 4.0 * PERIOD))
        except InputError as problem:
            self.end(str(problem))

    def _is_closed(self) -> bool:
        """Return True once the last browser has closed the page."""
        is_watched = self._page.is_looked_at
        left = self._was_watched and not is_watched
        self._was_watched = self._was_watched or is_watched
        return left


class JointTargets(CommandSliders):
    """Sliders shown while a controller follows joint positions; an unchanged target is sent once."""

    def __init__(self, page: Page, model: Model, follower: Follower) -> None:
        """Add the hidden sliders to the page.

        Args:
            page: page to draw on.
            model: robot model.
            follower: controller that receives the targets.
        """
        super().__init__(page, model, self._follow, "joint targets", "send targets")
        self._follower, self._actuated = follower, frozenset(model.actuated)
        self._sent: Positions | None = None
        self.offer(False)

    def tick(self, q: Array) -> None:
        """Per-frame update with the present configuration."""
        targets = self._follower.target_joints()
        self.offer(targets is not None)
        if targets is not None:
            super().tick(q)

    def _follow(self, positions: Positions | None) -> None:
        """Send joint targets to the controller; joints without a new position keep their last target."""
        targets = self._follower.target_joints()
        if positions is None or targets is None:
            self._sent = None
            return
        wanted = {name: positions.get(name, target) for name, target in targets.items() if name in self._actuated}
        if wanted != self._sent:
            self._follower.follow_joints(wanted)
            self._sent = wanted


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
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            posing: configuration that the sliders change.
            moved: called after each change, with a message for the user or "".
            wanted: selects the coordinates that get a slider; all by default.
        """
        self.page, self.posing = page, posing
        self._moved = moved
        self._sliders: dict[PoseCoordinate, JointSlider] = {}
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
            slider = JointSlider(self.page, coordinate.label, ends, coordinate.is_angle, start, disabled=is_off)
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
        if not slider.control.min <= wanted <= slider.control.max:
            return  # incomplete typed number; the browser clips the final value to the range
        arrived = self.posing.move(coordinate, slider.position())
        self._moved(
            ""
            if arrived
            else f"**{coordinate.label}** cannot reach {wanted:.4g} {slider.unit} with the loops closed; "
            f"it stops at {slider.shown(self.posing.value(coordinate)):.4g} {slider.unit}."
        )

    def show(self) -> None:
        """Set all sliders to the present configuration."""
        for coordinate, slider in self._sliders.items():
            slider.set(self.posing.value(coordinate))
