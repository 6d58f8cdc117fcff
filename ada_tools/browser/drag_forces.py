# SPDX-License-Identifier: Apache-2.0
"""Dragging of links of a simulated robot with the mouse, by a spring force."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.scene import floats
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import RobotSource
from ada_tools.browser.scene import Arrow, MouseDrag, Scene

_SHOWN = 0.4  # [s] display time of an arrow
_PULLED = 1.0  # stiffness of the mouse spring: robot weights per robot size
_STRONGEST = {True: 0.15, False: 0.5}  # maximum force in robot weights; a floating robot should not be thrown over


class DragForces:
    """Force of the current drag.

    Attributes:
        pull: current drag; None without one.
    """

    def __init__(self, page: Page, scene: Scene, source: RobotSource) -> None:
        """Listen to the mouse."""
        self.pull: MouseDrag | None = None
        self._page, self._scene, self._source = page, scene, source
        self._is_refused = False  # the current drag was refused
        self._pulled = ""  # link on which the last drag still acts
        self._arrow: tuple[float, Arrow] | None = None
        scene.on_mouse(lambda pull: page.note("pull", lambda: self.drag(pull)))

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
            self._is_refused, self.pull = True, None
            self._page.say(str(problem))
            return
        self._arrow = (self._page.clock.now() + _SHOWN, Arrow(point, force))
