# SPDX-License-Identifier: Apache-2.0
"""The size of a link as its simple shapes show it, and the meshes that it names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from ada_dynamics.model.elements import Array
from ada_dynamics.model.readers.description import LinkRecord
from ada_dynamics.model.readers.problems import Problem
from ada_dynamics.model.readers.values import Attributes, read_pose
from ada_dynamics.model.readers.xacro import find_package
from ada_dynamics.model.readers.xml import Element


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


def extent(link: LinkRecord) -> Extent | None:
    """Box around the link's boxes, cylinders, capsules and spheres; None where it has none."""
    low, high = np.full(3, math.inf), np.full(3, -math.inf)
    complete = True
    for role, geometry in _geometries(link):
        half = _half_size(geometry)
        if half is None:
            complete = complete and geometry.first("mesh") is None
            continue
        R, p = read_pose(role, link.where, _ignore)
        around = np.abs(R) @ half
        low, high = np.minimum(low, p - around), np.maximum(high, p + around)
    return Extent(low, high, complete) if np.isfinite(low).all() else None


def _geometries(link: LinkRecord) -> list[tuple[Element, Element]]:
    roles = [c for c in link.element.children if c.tag in {"visual", "collision"}]
    return [(role, geometry) for role in roles if (geometry := role.first("geometry")) is not None]


def _half_size(geometry: Element) -> Array | None:
    for shape in geometry.children:
        values = Attributes(shape, "", _ignore)
        if shape.tag == "box":
            half = 0.5 * values.vector("size", 3, (math.inf,) * 3)
        elif shape.tag == "sphere":
            half = np.full(3, values.number("radius", math.inf))
        elif shape.tag in {"cylinder", "capsule"}:
            radius, length = values.number("radius", math.inf), values.number("length", math.inf)
            half = np.array([radius, radius, 0.5 * length + (radius if shape.tag == "capsule" else 0.0)])
        else:
            continue
        return half if np.isfinite(half).all() else None
    return None


def _ignore(problem: Problem) -> None:
    """Looks have no part in the dynamics: an unreadable shape counts as none."""


def mesh_names(link: LinkRecord) -> list[str]:
    """File names of the link's meshes as written."""
    meshes = [mesh for _, geometry in _geometries(link) for mesh in geometry.all("mesh")]
    return [name for mesh in meshes if (name := mesh.attributes.get("filename", "").strip())]


def mesh_exists(name: str, near: Path) -> bool:
    """Whether a mesh is there: a path beside the description, or in a ROS package around it."""
    address = urlparse(name)
    try:
        if address.scheme in {"package", "model"}:
            folder = find_package(address.netloc, near)
            return folder is not None and (folder / unquote(address.path).lstrip("/")).is_file()
        if address.scheme in {"", "file"}:
            return (near.parent / unquote(address.path)).is_file()
    except (OSError, ValueError):
        return False
    return False
