# SPDX-License-Identifier: Apache-2.0
"""Sliders that command positions of motors, or set the joint targets of a controller, while a box is ticked."""

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

TURN, SLIDE = 1.0, 0.2  # [rad/s], [m/s] at most; slower where the joint is


class CommandSliders(JointSliders):
    """They follow the robot while the box is not ticked; then they command, from where the joints are."""

    def __init__(
        self, page: Page, model: Model, send: Send, title: str = "joint commands", box: str = "command"
    ) -> None:
        """Add them to the page.

        Args:
            page: to draw on.
            model: the robot; its motors with one position get sliders.
            send: called with positions by joint.
            title: above the sliders.
            box: label of the box.
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
            self.box = page.gui.add_checkbox(box, False, hint="motors go where the sliders are")
            self.add()
        self._disable(True)
        page.when(self.box, lambda: self.switch(bool(self.box.value)), moves=True)

    def _disable(self, disabled: bool) -> None:
        for slider in self.sliders:
            slider.disabled = disabled

    def offer(self, is_offered: bool) -> None:
        """Show them, or hide them, and command no more then."""
        if not self.motors or self._folder.visible == is_offered:
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
            self._disable(not is_on)
        if not is_on:
            self._send(None)

    def end(self, reason: str) -> None:
        """Command no more, and say why."""
        if self.is_on:
            self.switch(False)
            self._page.say(f"{self._title} are off: {reason}")

    def tick(self, q: Array) -> None:
        """Once a frame. Args: present positions of the robot."""
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
        if self._is_left_alone():
            self.end("nobody looks at this page")
            return
        try:
            self.advance(self.goal(), present, min(elapsed, 4.0 * PERIOD))
        except InputError as problem:
            self.end(str(problem))

    def _is_left_alone(self) -> bool:
        """True once the last browser has closed the page."""
        is_watched = self._page.is_looked_at
        left = self._was_watched and not is_watched
        self._was_watched = self._was_watched or is_watched
        return left


class JointTargets(CommandSliders):
    """Sliders shown while a controller follows joint positions; an unchanged target is sent once."""

    def __init__(self, page: Page, model: Model, follower: Follower) -> None:
        """Add them to the page, hidden. Args: to draw on; the robot; the controller."""
        super().__init__(page, model, self._follow, "joint targets", "send targets")
        self._follower, self._actuated = follower, frozenset(model.actuated)
        self._sent: Positions | None = None
        self.offer(False)

    def tick(self, q: Array) -> None:
        """Once a frame. Args: present positions of the robot."""
        targets = self._follower.target_joints()
        self.offer(targets is not None)
        if targets is not None:
            super().tick(q)

    def _follow(self, positions: Positions | None) -> None:
        """Send the controller targets of its joints; without new positions it keeps the last ones."""
        targets = self._follower.target_joints()
        if positions is None or targets is None:
            self._sent = None
            return
        wanted = {name: positions.get(name, target) for name, target in targets.items() if name in self._actuated}
        if wanted != self._sent:
            self._follower.follow_joints(wanted)
            self._sent = wanted


def motors_of(model: Model) -> list[Motor]:
    """The motors of a robot that have one position."""
    found = []
    for name in model.actuated:
        joint = model.joints[name]
        if joint.nq == joint.nv == 1:
            place, is_angle = model.q_index(name).start, joint.type.turns()
            own, usual = abs(joint.limits.velocity), TURN if is_angle else SLIDE
            speed = min(own, usual) if own > 0.0 else usual
            found.append(Motor(name, float(model.lower[place]), float(model.upper[place]), speed, is_angle))
    return found
