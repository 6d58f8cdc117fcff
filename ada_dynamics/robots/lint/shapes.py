# SPDX-License-Identifier: Apache-2.0
"""The size of a link as its simple shapes show it, and the meshes that it names."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Link, Shape


@dataclass(eq=False)
class Extent:
    """Box around the simple shapes of a link, along the link's axes."""

    low: Array
    high: Array
    complete: bool  # whether there is no mesh beside the simple shapes

    @property
    def diagonal(self) -> float:
        """Length of the box's diagonal [m]."""
        return float(np.linalg.norm(self.high - self.low))

    @property
    def volume(self) -> float:
        """Volume of the box [m³]."""
        return float(np.prod(self.high - self.low))

    def reach(self, point: Array) -> float:
        """Distance from a point to the farthest corner [m]."""
        return float(np.linalg.norm(np.maximum(np.abs(self.high - point), np.abs(self.low - point))))

    def outside(self, point: Array) -> float:
        """How far a point is outside the box [m]."""
        return float(np.linalg.norm(np.maximum(np.maximum(self.low - point, point - self.high), 0.0)))


def extent(link: Link) -> Extent | None:
    """Box around the link's boxes, cylinders, capsules and spheres; None where it has none."""
    low, high = np.full(3, math.inf), np.full(3, -math.inf)
    shapes = [*link.visuals, *link.collisions]
    for shape in shapes:
        if shape.kind != "mesh":
            around = np.abs(shape.rotation) @ _half_size(shape)
            low, high = np.minimum(low, shape.xyz - around), np.maximum(high, shape.xyz + around)
    complete = all(shape.kind != "mesh" for shape in shapes)
    return Extent(low, high, complete) if np.isfinite(low).all() else None


def _half_size(shape: Shape) -> Array:
    if shape.kind == "box":
        return 0.5 * np.array(shape.size)
    radius = shape.size[0]
    if shape.kind == "sphere":
        return np.full(3, radius)
    return np.array([radius, radius, 0.5 * shape.size[1] + (radius if shape.kind == "capsule" else 0.0)])


def mesh_names(link: Link) -> list[str]:
    """File names of the link's meshes as written."""
    return [shape.mesh for shape in (*link.visuals, *link.collisions) if shape.mesh]
