# SPDX-License-Identifier: Apache-2.0
"""Many solids of one kind as one node of the browser's scene: one message moves all of them.

A node per link costs about 0.2 ms per link and frame on the server's side; a batch costs that much in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.spatial.rotation_arrays import quaternions
from ada_dynamics.view.browser.parts import Part

Array = NDArray[np.float64]
Floats = NDArray[np.float32]


class Batch:
    """The parts of a robot that share a surface."""

    def __init__(self, scene: Any, name: str, parts: Sequence[Part]) -> None:
        """Draw them.

        Args:
            scene: viser's.
            name: of the node.
            parts: all of the same solid.
        """
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
            # A mesh without colours has no normals either: each face looks flat, and both sides can be seen.
            flat_shading=mesh is not None,
            side="double" if mesh is not None else "front",
            **placed,
        )

    def move(self, positions: Floats, wxyzs: Floats) -> None:
        """Args: of the parts in the world, (n, 3) and w, x, y, z in (n, 4)."""
        self.node.batched_positions = positions
        self.node.batched_wxyzs = wxyzs

    @property
    def positions(self) -> Array:
        """Where the parts are drawn, (n, 3)."""
        return np.asarray(self.node.batched_positions, dtype=np.float64)


class Batches:
    """All parts of a robot, by solid. What is see-through is drawn apart, or it would hide what is behind it."""

    def __init__(self, scene: Any, parts: Sequence[Part], rows: dict[str, int], node: str = "/robot") -> None:
        """Draw them.

        Args:
            scene: viser's.
            parts: all of them.
            rows: by link, the row of its pose in what `move` is given.
            node: name of what they are below, in the scene.
        """
        by_solid: dict[tuple[str, int, bool], list[Part]] = {}
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
        """Args: poses of the links in the world, (n, 4, 4)."""
        world = poses[self._rows] @ self._local
        positions = world[:, :3, 3].astype(np.float32)
        turned = quaternions(world[:, :3, :3]).astype(np.float32)
        for batch, own in zip(self.each, self._slices, strict=True):
            batch.move(positions[own], turned[own])

    @property
    def positions(self) -> Array:
        """Where all parts are drawn, (n, 3)."""
        return np.concatenate([np.zeros((0, 3)), *(batch.positions for batch in self.each)])
