# SPDX-License-Identifier: Apache-2.0
"""Translucent second robot in the scene that shows the commanded or target configuration of the real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_tools.browser.batch import Batches
from ada_tools.browser.page import Page
from ada_tools.browser.scene import Scene

NODE = "/ghost"  # node name in the viser scene
COLOUR = (0.16, 0.45, 0.95, 0.35)
_SHRUNK = 0.98  # slightly smaller, so that coinciding parts are hidden inside the real ones


class GhostRobot:
    """Ghost of a robot without loops; passive joints of closed loops have no commanded positions."""

    def __init__(self, page: Page, scene: Scene) -> None:
        """Create a hidden ghost.

        Args:
            page: page to draw on.
            scene: scene with the robot.
        """
        self._page, self._scene = page, scene
        self._batches: Batches | None = None
        self._shown: Array | None = None
        self.is_visible = False

    def show(self, q: Array, positions: Mapping[str, float] | None) -> None:
        """Draw or hide the ghost.

        Args:
            q: configuration of the robot, used for joints without a commanded position.
            positions: positions by joint; None hides the ghost.
        """
        model = self._scene.model
        names = [name for name in positions or () if name in model.joints and model.joints[name].nq == 1]
        if model.loops or not names or positions is None:
            self._set_visible(False)
            return
        at = q.copy()
        for name in names:
            at[model.q_index(name)] = positions[name]
        if not np.isfinite(at).all():
            self._set_visible(False)
            return
        if self._shown is None or not np.array_equal(at, self._shown):
            self._shown = at
            self._drawn().move(np.array(list(self._scene.dynamics.forward_kinematics(at).values())))
        self._set_visible(True)

    def positions(self) -> Array:
        """World positions of the parts, (n, 3)."""
        return np.zeros((0, 3)) if self._batches is None else self._batches.positions

    def remove(self) -> None:
        """Remove the ghost from the scene."""
        if self._batches is not None:
            self._batches.remove()
        self._batches = self._shown = None
        self.is_visible = False

    def _drawn(self) -> Batches:
        if self._batches is None:
            model = self._scene.model
            rows = {link: i for i, link in enumerate(self._scene.dynamics.forward_kinematics(model.neutral()))}
            parts = [replace(part, rgba=COLOUR, scale=_SHRUNK * part.scale) for part in self._scene.parts]
            self._batches = Batches(self._page.scene, parts, rows, NODE)
        return self._batches

    def _set_visible(self, is_visible: bool) -> None:
        if is_visible != self.is_visible:
            self.is_visible = is_visible
            if self._batches:
                self._batches.set_visible(is_visible)
