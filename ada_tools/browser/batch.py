# SPDX-License-Identifier: Apache-2.0
"""Instanced meshes: all parts with the same surface are one node of the viser scene and move with one message.

A node per link costs about 0.2 ms per link and frame on the server; a batch costs that much in total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.spatial.orientation import quaternions
from ada_dynamics.spatial.rotation import from_quaternion
from ada_tools.browser.parts import ShapePart

Floats = NDArray[np.float32]


class Batch:
    """Parts of a robot that share one surface, drawn as one scene node."""

    def __init__(self, scene: Any, name: str, parts: Sequence[ShapePart]) -> None:
        """Add the parts to the scene.

        Args:
            scene: viser scene.
            name: name of the node.
            parts: parts with the same solid.
        """
        self.links = [part.link for part in parts]
        mesh, surface = parts[0].mesh, parts[0].surface
        self._surface, self._scales = surface, np.array([part.scale for part in parts])
        rgba = np.array([part.rgba for part in parts])
        placed = {
            "batched_wxyzs": np.tile([1.0, 0.0, 0.0, 0.0], (len(parts), 1)),
            "batched_positions": np.zeros((len(parts), 3)),
            "batched_scales": self._scales,
            "lod": "off",
        }
        is_clear = bool((rgba[:, 3] < 1.0).any())
        if mesh is not None and mesh.glb is not None and not is_clear:
            self.node = scene.add_batched_glb(name, mesh.glb, **placed)
            return
        self.node = scene.add_batched_meshes_simple(
            name,
            surface.vertices,
            surface.faces,
            batched_colors=np.round(255.0 * rgba[:, :3]).astype(np.uint8),
            batched_opacities=rgba[:, 3] if is_clear else None,
            # A mesh without colours has no normals either: draw it flat-shaded and double-sided.
            flat_shading=mesh is not None,
            side="double" if mesh is not None else "front",
            **placed,
        )

    def move(self, positions: Floats, wxyzs: Floats) -> None:
        """Move the parts to world positions (n, 3) and quaternions w, x, y, z (n, 4)."""
        self.node.batched_positions = positions
        self.node.batched_wxyzs = wxyzs

    @property
    def positions(self) -> Array:
        """World positions of the parts, (n, 3)."""
        return np.asarray(self.node.batched_positions, dtype=np.float64)

    def hit(self, origin: Array, direction: Array) -> tuple[str, float] | None:
        """First link hit by a ray, and the distance in multiples of `direction`; None without a hit."""
        corners = self._surface.vertices[self._surface.faces]
        turned = np.asarray(self.node.batched_wxyzs, dtype=np.float64)
        found: tuple[str, float] | None = None
        for i, (link, at, scale) in enumerate(zip(self.links, self.positions, self._scales, strict=True)):
            if not scale.all():
                continue  # degenerate scale: the solid has no volume
            w, x, y, z = turned[i].tolist()
            R = np.array(from_quaternion(x, y, z, w), dtype=np.float64)
            distance = _first_hit(corners, (R.T @ (origin - at)) / scale, (R.T @ direction) / scale)
            if distance is not None and (found is None or distance < found[1]):
                found = link, distance
        return found


class Batches:
    """All parts of a robot, grouped by solid; translucent parts have separate nodes to keep the depth order correct."""

    def __init__(self, scene: Any, parts: Sequence[ShapePart], rows: dict[str, int], node: str = "/robot") -> None:
        """Add the parts to the scene.

        Args:
            scene: viser scene.
            parts: all parts of the robot.
            rows: row of each link in the pose array passed to `move`.
            node: name of the parent node in the scene.
        """
        by_solid: dict[tuple[str, int, bool], list[ShapePart]] = {}
        for part in parts:
            by_solid.setdefault((part.solid, id(part.mesh), part.rgba[3] < 1.0), []).append(part)
        self.each = [
            Batch(scene, f"{node}/{i}_{alike[0].solid if alike[0].mesh is None else 'mesh'}", alike)
            for i, alike in enumerate(by_solid.values())
        ]
        ordered = [part for alike in by_solid.values() for part in alike]
        self._rows = np.array([rows[part.link] for part in ordered], dtype=np.intp)
        self._local = np.array([part.pose for part in ordered]).reshape(-1, 4, 4)
        ends = np.cumsum([len(batch.links) for batch in self.each]).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def move(self, poses: Array) -> None:
        """Move the parts to link poses in the world, (n, 4, 4)."""
        world = poses[self._rows] @ self._local
        positions = world[:, :3, 3].astype(np.float32)
        turned = quaternions(world[:, :3, :3]).astype(np.float32)
        for batch, own in zip(self.each, self._slices, strict=True):
            batch.move(positions[own], turned[own])

    def set_visible(self, is_visible: bool) -> None:
        """Show or hide the parts."""
        for batch in self.each:
            batch.node.visible = is_visible

    def remove(self) -> None:
        """Remove the parts from the scene."""
        for batch in self.each:
            batch.node.remove()

    def hit(self, origin: Array, direction: Array) -> tuple[str, Array] | None:
        """First link hit by a ray, and the hit point; None without a hit."""
        found = [hit for hit in (batch.hit(origin, direction) for batch in self.each) if hit is not None]
        if not found:
            return None
        link, distance = min(found, key=lambda hit: hit[1])
        return link, np.asarray(origin + distance * direction)

    @property
    def positions(self) -> Array:
        """World positions of all parts, (n, 3)."""
        return np.concatenate([np.zeros((0, 3)), *(batch.positions for batch in self.each)])


def _first_hit(corners: Array, origin: Array, direction: Array) -> float | None:
    """Distance to the first triangle (n, 3, 3) hit by a ray, in multiples of `direction`; None without a hit.

    Moller and Trumbore, Fast, minimum storage ray-triangle intersection, 1997.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    p = np.cross(direction, c - a)
    volume = np.einsum("ni,ni->n", b - a, p)
    is_seen = volume != 0.0  # the ray is not parallel to the triangle
    inverse = np.divide(1.0, volume, out=np.zeros_like(volume), where=is_seen)
    from_a = origin - a
    u = np.einsum("ni,ni->n", from_a, p) * inverse
    r = np.cross(from_a, b - a)
    v = r @ direction * inverse
    distance = np.einsum("ni,ni->n", c - a, r) * inverse
    hits = distance[is_seen & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0)]
    return float(hits.min()) if len(hits) else None
