# SPDX-License-Identifier: Apache-2.0
"""Overlays: link frames, collision shapes, inertia boxes, a camera that follows the robot, and a ghost.

The ghost is a translucent second robot that shows the commanded or target configuration of the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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

    def __init__(self, page: Page, scene: Scene, refresh: Callable[[], None]) -> None:
        """Add the checkboxes.

        Args:
            page: page with the controls.
            scene: scene with the robot.
            refresh: redraws the present configuration.
        """
        self._page, self._scene = page, scene
        self._drawn: dict[str, Batches] = {}
        self._seen_at: Array | None = None
        self.boxes: dict[str, Any] = {}
        with page.gui.add_folder("show", expand_by_default=False):
            for kind, of_model in KINDS.items():
                if of_model(scene.model):
                    self.boxes[kind] = page.gui.add_checkbox(kind, False)
            self.follow = page.gui.add_checkbox("follow the robot", False)
        for box in (*self.boxes.values(), self.follow):
            page.when(box, refresh)
        scene.overlays = self

    def show(self, poses: Array) -> None:
        """Draw the selected overlays at the link poses in the world, (n, 4, 4)."""
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
        before, self._seen_at = self._seen_at, centre
        if before is None or np.allclose(before, centre, rtol=0.0, atol=1e-6):
            return
        for client in self._page.server.get_clients().values():
            with client.atomic():
                client.camera.position = np.asarray(client.camera.position) + centre - before
                client.camera.look_at = np.asarray(client.camera.look_at) + centre - before


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
