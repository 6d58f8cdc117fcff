# SPDX-License-Identifier: Apache-2.0
"""A second, see-through robot in the scene: the commanded pose of the real one, or its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_tools.browser.batch import Batches
from ada_tools.browser.page import Page
from ada_tools.browser.scene import Scene

NODE = "/ghost"  # name in viser's scene
COLOUR = (0.16, 0.45, 0.95, 0.35)
_SHRUNK = 0.98  # smaller, so that parts at the place of real ones are hidden in these


class Ghost:
    """Shown while there is a pose; for robots without loops alone: passive joints have no commanded positions."""

    def __init__(self, page: Page, scene: Scene) -> None:
        """Begin without one.

        Args:
            page: to draw on.
            scene: with the robot.
        """
        self._page, self._scene = page, scene
        self._batches: Batches | None = None
        self._shown: Array | None = None
        self.is_visible = False

    def show(self, q: Array, positions: Mapping[str, float] | None) -> None:
        """Draw it, or hide it.

        Args:
            q: of the robot; joints that are not named are there.
            positions: by joint; None hides it.
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
        """Where its parts are drawn, (n, 3)."""
        return np.zeros((0, 3)) if self._batches is None else self._batches.positions

    def remove(self) -> None:
        """Take it away."""
        if self._batches is not None:
            for batch in self._batches.each:
                batch.node.remove()
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
        if is_visible == self.is_visible:
            return
        self.is_visible = is_visible
        for batch in self._batches.each if self._batches else ():
            batch.node.visible = is_visible
