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
from ada_tools.browser.parts import ShapePart

Floats = NDArray[np.float32]


class Batch:
    """Parts of a robot that share one surface, drawn as one scene node."""

    def __init__(self, scene: Any, name: str, parts: Sequence[ShapePart]) -> None:
        """Add parts with the same solid to the scene, as one node."""
        self.links = [part.link for part in parts]
        mesh, surface = parts[0].mesh, parts[0].surface
        rgba = np.array([part.rgba for part in parts])
        placed = {
            "batched_wxyzs": np.tile([1.0, 0.0, 0.0, 0.0], (len(parts), 1)),
            "batched_positions": np.zeros((len(parts), 3)),
            "batched_scales": np.array([part.scale for part in parts]),
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


class Batches:
    """All parts of a robot, grouped by solid; translucent parts have separate nodes to keep the depth order correct."""

    def __init__(self, scene: Any, parts: Sequence[ShapePart], rows: dict[str, int], node: str = "/robot") -> None:
        """Add the parts to the scene below a node; `rows` are those of the links in the poses passed to `move`."""
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
