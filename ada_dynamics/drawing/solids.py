# SPDX-License-Identifier: Apache-2.0
"""Faces of the shapes of links as polygons in link frames; meshes are replaced by their convex hulls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.mesh_files import RobotMeshes
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import Model

_AROUND = 20  # corners of a circle
_UP = 5  # rings of a hemisphere
_DIRECTION_COUNT = 48  # directions in which the hull of a mesh is exact
_BLOCK = 50_000


class Solid(NamedTuple):
    """A convex shape of a link.

    Attributes:
        link: name of the link.
        corners: corners in the link frame, (k, 3) [m].
        faces: polygons, as indices of corners.
        colour: red, green, blue, opacity.
    """

    link: str
    corners: Array
    faces: tuple[tuple[int, ...], ...]
    colour: tuple[float, ...]


def solids_of(model: Model) -> list[Solid]:
    """Visual shapes of the links, with the convex hulls of meshes."""
    found = []
    meshes = RobotMeshes()
    for link in model.links.values():
        for shape in getattr(link, "visuals", ()):
            made = _shape_solid(shape, meshes) if shape.rgba[3] > 0.0 else None
            if made is not None:
                corners, faces, colour = made
                placed = corners @ np.asarray(shape.rotation).T + np.asarray(shape.xyz)
                found.append(Solid(link.name, placed, faces, colour))
    meshes.report("They are omitted from the drawing.")
    return found


Polyhedron = tuple[Array, tuple[tuple[int, ...], ...]]


def _shape_solid(
    shape: Shape, meshes: RobotMeshes
) -> tuple[Array, tuple[tuple[int, ...], ...], tuple[float, ...]] | None:
    """Corners in the frame of the shape, faces, colour."""
    if shape.kind != "mesh":
        return (*_PRIMITIVES[shape.kind](*shape.size), tuple(shape.rgba))
    mesh = meshes.get(shape)
    hull = None if mesh is None else _hull(mesh.vertices * shape.size)
    return None if mesh is None or hull is None else (*hull, mesh.colour or tuple(shape.rgba))


def _hull(points: Array) -> Polyhedron | None:
    """Convex hull of the extreme points in many directions; None if it is flat."""
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError:
        return None
    farthest = np.unique(np.concatenate([np.argmax(part @ _DIRECTIONS.T, axis=0) + at for at, part in _blocks(points)]))
    corners = points[np.unique(farthest[np.argmax(points[farthest] @ _DIRECTIONS.T, axis=0)])]
    try:
        hull = ConvexHull(corners)
    except (QhullError, ValueError):
        return None
    return corners, tuple(tuple(int(i) for i in face) for face in hull.simplices)


def _blocks(points: Array) -> Iterator[tuple[int, Array]]:
    """Blocks of points and their offsets, to limit the memory."""
    for at in range(0, len(points), _BLOCK):
        yield at, points[at : at + _BLOCK]


def _directions() -> Array:
    """Directions distributed evenly over the sphere by the golden angle."""
    k = np.arange(_DIRECTION_COUNT) + 0.5
    z, turn = 1.0 - 2.0 * k / _DIRECTION_COUNT, np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


_DIRECTIONS = _directions()


def _box(x: float, y: float, z: float) -> Polyhedron:
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=np.float64)
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return 0.5 * signs * (x, y, z), faces


def _rings(radii: Array, heights: Array) -> Polyhedron:
    """Body of revolution about z from rings in ascending order, closed at both ends."""
    angles = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_AROUND)])
    corners = np.vstack([r * circle + (0.0, 0.0, z) for r, z in zip(radii, heights, strict=True)])
    faces: list[tuple[int, ...]] = [tuple(range(_AROUND))[::-1]]
    for ring in range(len(radii) - 1):
        for i in range(_AROUND):
            a, b = ring * _AROUND + i, ring * _AROUND + (i + 1) % _AROUND
            faces.append((a, b, b + _AROUND, a + _AROUND))
    faces.append(tuple(range((len(radii) - 1) * _AROUND, len(radii) * _AROUND)))
    return corners, tuple(faces)


def _cylinder(radius: float, length: float) -> Polyhedron:
    return _rings(np.full(2, radius), np.array([-0.5, 0.5]) * length)


def _capsule(radius: float, length: float) -> Polyhedron:
    # Rings start next to the poles, where they would degenerate to a point.
    latitude = np.linspace(-0.5 * np.pi, 0.0, _UP + 1)[1:]
    radii, heights = radius * np.cos(latitude), radius * np.sin(latitude)
    first = 0.2 * radii[0]
    up, out = np.concatenate([[-radius], heights]), np.concatenate([[first], radii])
    return _rings(np.concatenate([out, out[::-1]]), np.concatenate([up - 0.5 * length, -up[::-1] + 0.5 * length]))


def _sphere(radius: float) -> Polyhedron:
    return _capsule(radius, 0.0)


_PRIMITIVES: dict[str, Any] = {"box": _box, "sphere": _sphere, "cylinder": _cylinder, "capsule": _capsule}
