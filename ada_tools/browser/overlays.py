# SPDX-License-Identifier: Apache-2.0
"""Overlays: centre of mass, link frames, collision shapes, inertia boxes, and a camera that follows the robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model, reach_of
from ada_tools.browser.batch import Batches
from ada_tools.browser.page import Page
from ada_tools.browser.parts import ShapePart, shape_parts
from ada_tools.browser.scene import Scene

_AXES = ((0.85, 0.2, 0.2, 1.0), (0.2, 0.65, 0.2, 1.0), (0.2, 0.35, 0.9, 1.0))  # red x, green y, blue z
_TOUCHES = (0.2, 0.75, 0.35, 0.35)
_MASSIVE = (0.75, 0.25, 0.75, 0.35)
_MASS = (20, 20, 20)
_LEVEL = np.array([1.0, 1.0, 0.0])  # the camera keeps its height
_LENGTH, _THIN = 0.08, 0.004  # of the frame axes, as fractions of the robot size


def frames(model: Model) -> list[ShapePart]:
    """Three axes at the origin of each link."""
    size = reach_of(model)
    length, radius = _LENGTH * size, _THIN * size
    poses = []
    for k in range(3):
        pose = np.eye(4)
        pose[:3, :3] = np.roll(np.eye(3), k + 1, axis=1)  # z of the cylinder along axis k
        pose[k, 3] = 0.5 * length
        poses.append(pose)
    scale = np.array([radius, radius, length])
    return [ShapePart(link, "cylinder", poses[k], scale, _AXES[k]) for link in model.links for k in range(3)]


def collisions(model: Model) -> list[ShapePart]:
    """Collision shapes of all links."""
    return [
        ShapePart(part.link, part.solid, part.pose, part.scale, _TOUCHES, part.mesh)
        for link in model.links.values()
        for shape in link.collisions
        for part in shape_parts(link.name, shape)
    ]


def inertias(model: Model) -> list[ShapePart]:
    """Box of uniform density with the mass, centre of mass and inertia of each link."""
    found = []
    for link in model.links.values():
        if link.mass > 0.0:
            moments, axes = np.linalg.eigh(link.inertia)
            # box moments m/12 (b² + c²), ..., hence a² = 6/m (I_b + I_c - I_a)
            squares = 6.0 / link.mass * (moments.sum() - 2.0 * moments)
            pose = np.eye(4)
            pose[:3, :3] = axes * np.sign(np.linalg.det(axes))
            pose[:3, 3] = link.com
            sides = np.sqrt(np.maximum(squares, (1e-3 * reach_of(model)) ** 2))
            found.append(ShapePart(link.name, "box", pose, sides, _MASSIVE))
    return found


KINDS: dict[str, Callable[[Model], list[ShapePart]]] = {
    "frames": frames,
    "collision shapes": collisions,
    "inertias": inertias,
}


class Overlays:
    """Checkboxes that select overlays; each overlay is created when first selected."""

    def __init__(
        self, page: Page, scene: Scene, refresh: Callable[[], None], *, has_com: bool = False, follows: bool = False
    ) -> None:
        """Add the checkboxes, two of which may be ticked initially; `refresh` redraws the present configuration."""
        self._page, self._scene = page, scene
        self._com = page.scene.add_icosphere("/com", 0.025 * scene.size, _MASS, visible=has_com)
        self._drawn: dict[str, Batches] = {}
        self._seen_at: Array | None = None
        self.boxes: dict[str, Any] = {}
        with page.gui.add_folder("show", expand_by_default=False):
            self.com = page.gui.add_checkbox("centre of mass", has_com)
            for kind, of_model in KINDS.items():
                if of_model(scene.model):
                    self.boxes[kind] = page.gui.add_checkbox(kind, False)
            self.follow = page.gui.add_checkbox("follow the robot", follows)
            page.add_screenshot()
        for box in (self.com, *self.boxes.values(), self.follow):
            page.when(box, refresh)

    def show(self, q: Array) -> None:
        """Draw the selected overlays in the displayed configuration."""
        poses = np.array(list(self._scene.poses.values()))
        self._com.visible = bool(self.com.value)
        if self.com.value:
            self._com.position = self._scene.dynamics.com(q)
        for kind, box in self.boxes.items():
            if box.value and kind not in self._drawn:
                self._drawn[kind] = self._made(kind)
            if kind in self._drawn:
                self._drawn[kind].set_visible(bool(box.value))
            if box.value:
                self._drawn[kind].move(poses)
        self._follow(poses[:, :3, 3].mean(axis=0))

    def remove(self) -> None:
        """Remove the overlays from the scene; the checkboxes are removed with the page controls."""
        self._com.remove()
        for batches in self._drawn.values():
            batches.remove()
        self._drawn.clear()

    def _made(self, kind: str) -> Batches:
        rows = {link: i for i, link in enumerate(self._scene.poses)}
        name = kind.split()[0]
        return Batches(self._page.server.scene, KINDS[kind](self._scene.model), rows, f"/shown/{name}")

    def _follow(self, centre: Array) -> None:
        """Move the cameras by the displacement of the robot."""
        if not self.follow.value:
            self._seen_at = None
            return
        centre = centre * _LEVEL
        before, self._seen_at = self._seen_at, centre
        if before is None or np.allclose(before, centre, rtol=0.0, atol=1e-6):
            return
        for client in self._page.server.get_clients().values():
            with client.atomic():
                client.camera.position = np.asarray(client.camera.position) + centre - before
                client.camera.look_at = np.asarray(client.camera.look_at) + centre - before
