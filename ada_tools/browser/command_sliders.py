# SPDX-License-Identifier: Apache-2.0
"""Sliders that send position commands to motors, or joint targets to a controller, while a checkbox is ticked."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_robot.node_state import Motor
from ada_tools.browser.follower import Follower
from ada_tools.browser.joint_sliders import LOOK, PERIOD, JointSliders, Send
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Positions

TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] maximum command speed; lower if the joint limit is lower


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
        self._was_watched = self.is_on = False
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
        if not self.is_on:
            self._due = now + LOOK
            self.commanded = present.copy()
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
