# SPDX-License-Identifier: Apache-2.0
"""Pushes of a simulated robot: by a button, by a click on a link, or by dragging it with the mouse."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.scene import floats
from ada_tools.browser.grabs import Pull
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
_SHOWN = 0.4  # [s] that the arrow of a push stays
_PULLED = 2.0  # weights of the robot, that the mouse pulls with over the robot's size


class PushPanel:
    """Controls of pushes, and the link that is pulled now.

    Attributes:
        pull: the drag that goes on; None: there is none.
    """

    def __init__(self, page: Page, scene: Scene, source: RobotSource) -> None:
        """Add the controls; the robot must have a link that moves.

        Args:
            page: to draw on.
            scene: with the robot.
            source: that is pushed.
        """
        self.pull: Pull | None = None
        self._page, self._scene, self._source = page, scene, source
        self._is_refused = False  # the present pull
        self._pulled = ""  # link that the last pull acts on for a little longer
        self._arrow: tuple[float, Arrow] | None = None
        model, gui = scene.model, page.gui
        moving = moving_links(model)
        with gui.add_folder("push"):
            # of an arm the hand, of a robot that stands or floats its trunk
            heaviest = max(moving, key=lambda link: model.links[link].mass)
            first = heaviest if floats(model) else moving[-1]
            self.link = gui.add_dropdown("link", tuple(moving), initial_value=first)
            self.direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="x")
            strength = float(f"{0.5 * scene.weight:.2g}")
            self.strength = gui.add_slider("force [N]", 0.0, 10.0 * strength, 0.01 * strength, strength)
            self.button = gui.add_button("push")
            gui.add_markdown("or drag a link with the mouse; a click pushes it away from you")
        page.when(self.button, self.push)
        scene.on_pull(lambda pull: page.note("pull", lambda: self.drag(pull)))
        scene.on_click(lambda *hit: page.note("click", lambda: self._clicked(*hit)))

    def begin(self, link: str, direction: str, force: float) -> None:
        """Set the controls; a link that there is not, or a force beyond the slider, is left as it is.

        Args:
            link: that is pushed.
            direction: one of `DIRECTIONS`.
            force: [N]; 0 leaves half of the robot's weight.
        """
        if link in self.link.options:
            self.link.value = link
        self.direction.value = direction
        if 0.0 < force <= self.strength.max:
            self.strength.value = force

    def push(self) -> None:
        """Push by the button: a force on the centre of mass of a link."""
        link, direction = str(self.link.value), np.array(DIRECTIONS[str(self.direction.value)])
        self._push_at(link, float(self.strength.value) * direction, self._scene.centre_of(link))

    def _clicked(self, link: str, origin: Array, direction: Array) -> None:
        """Away from the eye, at the point of the ray that is nearest to the link's centre of mass."""
        along = float((self._scene.centre_of(link) - origin) @ direction)
        self._push_at(link, float(self.strength.value) * direction, origin + along * direction)

    def drag(self, pull: Pull) -> None:
        """Begin, go on with, or end a pull; one that was refused is over until the person begins another one."""
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
        """Once a frame: a spring from where a link was grabbed to the mouse."""
        if self.pull is not None:
            force = _PULLED * self._scene.weight / self._scene.size * (self.pull.pointer - self.pull.grabbed)
            self._push_at(self.pull.link, force, self.pull.grabbed)

    @property
    def arrows(self) -> list[Arrow]:
        """Forces to be drawn."""
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
    """Links that a joint carries."""
    children = {joint.child for joint in model.joints.values()}
    return [name for name in model.link_names if name in children]
