# SPDX-License-Identifier: Apache-2.0
"""Sliders for the joints of a robot that a controller moves: they tell the controller where the joints shall be."""

from __future__ import annotations

from collections.abc import Mapping

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_tools.browser.command_sliders import CommandSliders
from ada_tools.browser.follower import Follower
from ada_tools.browser.page import Page


class JointTargets:
    """There while the controller follows positions of joints; a target that does not change is sent once."""

    def __init__(self, page: Page, model: Model, follower: Follower) -> None:
        """Add them to the page, hidden.

        Args:
            page: to draw on.
            model: the robot.
            follower: that is told.
        """
        self._follower = follower
        self._targets: Mapping[str, float] = {}
        self._sent: Mapping[str, float] | None = None
        self.sliders = CommandSliders(page, model, self, "joint targets", "send targets")
        self.sliders.offer(False)

    def tick(self, q: Array) -> None:
        """Once a frame. Args: present positions of the robot."""
        targets = self._follower.target_joints()
        self._targets = targets or {}
        self.sliders.offer(targets is not None)
        if targets is not None:
            self.sliders.tick(q)

    def command(self, positions: Mapping[str, float] | None) -> None:
        """Tell the controller, of the joints that it has; without new positions it keeps the last ones."""
        if positions is None:
            self._sent = None
            return
        wanted = {name: positions.get(name, target) for name, target in self._targets.items()}
        if wanted != self._sent:
            self._follower.follow_joints(wanted)
            self._sent = wanted
