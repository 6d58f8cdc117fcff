# SPDX-License-Identifier: Apache-2.0
"""Sliders that command positions of motors: from where they are, no faster than a joint may move."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Prismatic
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import Model
from ada_dynamics.view.browser.page import Page, SharedNumber

Array = NDArray[np.float64]

PERIOD = 0.05  # [s] between commands, so that they do not go stale
TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] at most; slower where the joint is
LEAD = 0.5  # [rad] or [m] that a command may be ahead of its joint
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
        self._names = [n for n in model.actuated if model.joints[n].nq == model.joints[n].nv == 1]
        self._is_angle = np.array([model.joints[n].kind != Prismatic.kind for n in self._names], dtype=bool)
        self._places = np.array([model.q_index(n).start for n in self._names], dtype=np.intp)
        self._speeds = np.array([_speed(model, n) for n in self._names])
        self._commanded = np.zeros(len(self._names))
        self._due = self._last = 0.0
        self._was_watched = False
        self.is_on = False
        self.sliders: list[Any] = []
        self._numbers: list[SharedNumber] = []
        if not self._names:
            return
        self._folder = page.gui.add_folder(title, expand_by_default=False)
        with self._folder:
            self.box = page.gui.add_checkbox(box, False, hint="motors go where the sliders are")
            for i, name in enumerate(self._names):
                self._add(i, name, float(model.lower[self._places[i]]), float(model.upper[self._places[i]]))
        page.when(self.box, lambda: self.switch(bool(self.box.value)))

    def _add(self, i: int, name: str, lower: float, upper: float) -> None:
        is_angle = bool(self._is_angle[i])
        unit, rest = ("deg", 180.0) if is_angle else ("m", 1.0)
        low, high = (_shown(x, is_angle) if abs(x) < NO_LIMIT else math.copysign(rest, x) for x in (lower, upper))
        step = 0.1 if is_angle else 1e-3
        slider = self._page.gui.add_slider(f"{name} [{unit}]", low, max(high, low + step), step, low, disabled=True)
        self.sliders.append(slider)
        self._numbers.append(SharedNumber(slider))

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
            for slider in self.sliders:
                slider.disabled = not is_on
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
            self._commanded = present.copy()
            for number, value, is_angle in zip(self._numbers, present.tolist(), self._is_angle, strict=True):
                number.show(_shown(value, is_angle))
            return
        elapsed = now - self._last if self._due else PERIOD
        self._due, self._last = now + PERIOD, now
        if self._is_left_alone():
            self.end("nobody looks at this page")
            return
        self._commanded = self._next(present, min(elapsed, 4.0 * PERIOD))
        try:
            self._plant.command(dict(zip(self._names, self._commanded.tolist(), strict=True)))
        except InputError as problem:
            self.end(str(problem))

    def _next(self, present: Array, elapsed: float) -> Array:
        """Towards the sliders, as fast as the joints may go, and not far ahead of them."""
        goal = np.array([n.read() for n in self._numbers])
        goal[self._is_angle] = np.radians(goal[self._is_angle])
        reach = self._speeds * elapsed
        moved = self._commanded + np.clip(goal - self._commanded, -reach, reach)
        return np.asarray(np.clip(moved, present - LEAD, present + LEAD))

    def _is_left_alone(self) -> bool:
        """Whether the last person who looked at the page has closed it."""
        is_watched = self._page.is_looked_at
        left = self._was_watched and not is_watched
        self._was_watched = self._was_watched or is_watched
        return left


def _speed(model: Model, name: str) -> float:
    joint = model.joints[name]
    own = abs(joint.limits.velocity)
    usual = SLIDE if joint.kind == Prismatic.kind else TURN
    return min(own, usual) if own > 0.0 else usual


def _shown(value: float, is_angle: bool) -> float:
    return math.degrees(value) if is_angle else value
