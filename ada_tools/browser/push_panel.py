# SPDX-License-Identifier: Apache-2.0
"""Pushes on a simulated robot: by a button, by a click on a link, or by dragging a link."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.scene import floats
from ada_tools.browser.mouse_drag import MouseDrag
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import RobotSource
from ada_tools.browser.scene import Arrow, Scene

DIRECTIONS = {
    "x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}
_SHOWN = 0.4  # [s] display time of a push arrow
_PULLED = 1.0  # stiffness of the mouse spring: robot weights per robot size
_STRONGEST = {True: 0.15, False: 0.5}  # maximum force in robot weights; a floating robot should not be thrown over


class PushPanel:
    """Push controls, and the current drag.

    Attributes:
        pull: current drag; None without one.
    """

    def __init__(self, page: Page, scene: Scene, source: RobotSource) -> None:
        """Add the controls; the robot must have a moving link.

        Args:
            page: page to draw on.
            scene: scene with the robot.
            source: robot to push.
        """
        self.pull: MouseDrag | None = None
        self._page, self._scene, self._source = page, scene, source
        self._is_refused = False  # the current drag was refused
        self._pulled = ""  # link on which the last drag still acts
        self._arrow: tuple[float, Arrow] | None = None
        model, gui = scene.model, page.gui
        moving = moving_links(model)
        with gui.add_folder("push", expand_by_default=False):
            # default: end link of a fixed-base arm, heaviest link of a floating robot
            heaviest = max(moving, key=lambda link: model.links[link].mass)
            first = heaviest if floats(model) else moving[-1]
            self.link = gui.add_dropdown("link", tuple(moving), initial_value=first)
            self.direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="x")
            strength = float(f"{0.5 * scene.weight:.2g}")
            self.strength = gui.add_slider("force [N]", 0.0, 10.0 * strength, 0.01 * strength, strength)
            self.button = gui.add_button("push")
            gui.add_markdown("or drag a link with the mouse; a click pushes it away from you")
        page.when(self.button, self.push)
        scene.on_mouse(
            lambda pull: page.note("pull", lambda: self.drag(pull)),
            lambda *hit: page.note("click", lambda: self._clicked(*hit)),
        )

    def push(self) -> None:
        """Apply the force to the centre of mass of the selected link."""
        link, direction = str(self.link.value), np.array(DIRECTIONS[str(self.direction.value)])
        self._push_at(link, float(self.strength.value) * direction, self._scene.centre_of(link))

    def _clicked(self, link: str, origin: Array, direction: Array) -> None:
        """Select the link, and push it along the view ray, at the ray point closest to its centre of mass."""
        self.link.value = link if link in self.link.options else self.link.value
        self._scene.label(link)
        along = float((self._scene.centre_of(link) - origin) @ direction)
        self._push_at(link, float(self.strength.value) * direction, origin + along * direction)

    def drag(self, pull: MouseDrag) -> None:
        """Start, update or end a drag; a refused drag is ignored until the next press."""
        if pull.phase != "update":
            self._is_refused = False
        self.pull = None if pull.phase == "end" or self._is_refused else pull
        if self.pull is not None:
            self._pulled = pull.link
        elif self._pulled:
            link, self._pulled = self._pulled, ""
            if not self._is_refused:
                self._source.push(link, np.zeros(6))

    def tick(self) -> None:
        """Per-frame update: apply a spring force from the grabbed point to the pointer."""
        if self.pull is not None:
            weights = _PULLED / self._scene.size * (self.pull.pointer - self.pull.grabbed)
            limit = _STRONGEST[floats(self._scene.model)]
            weights *= limit / max(float(np.linalg.norm(weights)), limit)
            self._push_at(self.pull.link, self._scene.weight * weights, self.pull.grabbed)

    @property
    def arrows(self) -> list[Arrow]:
        """Forces to draw."""
        return [self._arrow[1]] if self._arrow and self._page.clock.now() < self._arrow[0] else []

    def _push_at(self, link: str, force: Array, point: Array) -> None:
        if link not in self._scene.poses or not np.any(force):
            return
        wrench, R = self._scene.wrench_at(link, force, point), self._scene.poses[link][:3, :3]
        try:
            self._source.push(link, np.concatenate([wrench[:3] @ R, wrench[3:] @ R]))
        except AdaError as problem:
            self._is_refused, self.pull = self.pull is not None, None
            self._page.say(str(problem))
            return
        self._arrow = (self._page.clock.now() + _SHOWN, Arrow(point, force))


def moving_links(model: Model) -> list[str]:
    """Links that are the child of a joint."""
    children = {joint.child for joint in model.joints.values()}
    return [name for name in model.link_names if name in children]
