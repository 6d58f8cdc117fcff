# SPDX-License-Identifier: Apache-2.0
"""Sliders that command positions of motors: from where they are, no faster than a joint may move."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Prismatic
from ada_dynamics.model.model import Model
from ada_robot.node_state import Motor
from ada_tools.browser.motor_sliders import LEAD, PERIOD, SLIDE, TURN, MotorSliders
from ada_tools.browser.page import Page

__all__ = ["LEAD", "PERIOD", "SLIDE", "TURN", "CommandSliders", "Commanded", "motors_of"]


_SHOWN = 0.2  # [s] between looks at the joints while nothing is commanded


class Commanded(Protocol):
    """Who gets the positions."""

    def command(self, positions: Mapping[str, float] | None) -> None:
        """Positions by joint; None ends the commands. InputError where nobody listens."""


class CommandSliders:
    """A slider per motor, and a box that says whether they command."""

    def __init__(
        self, page: Page, model: Model, plant: Commanded, title: str = "joint commands", box: str = "command"
    ) -> None:
        """Add them to the page.

        Args:
            page: to draw on.
            model: the robot; its motors with one position get sliders.
            plant: that is commanded.
            title: above the sliders.
            box: what stands beside the box.
        """
        self._page, self._plant, self._title = page, plant, title
        self._motors = MotorSliders(page, motors_of(model))
        self._names = [motor.name for motor in self._motors.motors]
        self._places = np.array([model.q_index(n).start for n in self._names], dtype=np.intp)
        self._due = self._last = 0.0
        self._was_watched = False
        self.is_on = False
        if not self._names:
            return
        self._folder = page.gui.add_folder(title, expand_by_default=False)
        with self._folder:
            self.box = page.gui.add_checkbox(box, False, hint="motors go where the sliders are")
            self._motors.add()
        page.when(self.box, lambda: self.switch(bool(self.box.value)), moves=True)
        for slider in self.sliders:
            page.when(slider, lambda: None, moves=True)

    @property
    def sliders(self) -> list[Any]:
        """Viser's, one per motor."""
        return self._motors.sliders

    def offer(self, is_offered: bool) -> None:
        """Show them, or hide them, and command no more then."""
        if not self._names or self._folder.visible == is_offered:
            return
        self._folder.visible = is_offered
        if not is_offered:
            self.end("there is somebody else to command")

    def switch(self, is_on: bool) -> None:
        """Begin to command where the joints are now, or end."""
        self.is_on = is_on
        self._was_watched = False
        self._due = 0.0
        with self._page.server.atomic():
            self.box.value = is_on
            self._motors.disable(not is_on)
        if not is_on:
            self._plant.command(None)

    def end(self, reason: str) -> None:
        """Command no more, and say why."""
        if self.is_on:
            self.switch(False)
            self._page.say(f"{self._title} are off: {reason}")

    def tick(self, q: Array) -> None:
        """Once a frame.

        Args:
            q: present positions of the robot.
        """
        now = time.monotonic()
        if not self._names or now < self._due:
            return
        present = q[self._places]
        if not self.is_on:
            self._due = now + _SHOWN
            self._motors.commanded = present.copy()
            for i, value in enumerate(present.tolist()):
                self._motors.show(i, value)
            return
        elapsed = now - self._last if self._due else PERIOD
        self._due, self._last = now + PERIOD, now
        if self._is_left_alone():
            self.end("nobody looks at this page")
            return
        commanded = self._motors.advance(self._motors.goal(), present, min(elapsed, 4.0 * PERIOD))
        try:
            self._plant.command(dict(zip(self._names, commanded.tolist(), strict=True)))
        except InputError as problem:
            self.end(str(problem))

    def _is_left_alone(self) -> bool:
        """Whether the last person who looked at the page has closed it."""
        is_watched = self._page.is_looked_at
        left = self._was_watched and not is_watched
        self._was_watched = self._was_watched or is_watched
        return left


def motors_of(model: Model) -> list[Motor]:
    """The motors of a robot that have one position."""
    found = []
    for name in model.actuated:
        joint = model.joints[name]
        if joint.nq == joint.nv == 1:
            place, is_angle = model.q_index(name).start, joint.kind != Prismatic.kind
            own, usual = abs(joint.limits.velocity), TURN if is_angle else SLIDE
            speed = min(own, usual) if own > 0.0 else usual
            found.append(Motor(name, float(model.lower[place]), float(model.upper[place]), speed, is_angle))
    return found
