# SPDX-License-Identifier: Apache-2.0
"""Faces of the simple shapes that links look like, as polygons in the links' frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.model.model import Model

Array = NDArray[np.float64]

_AROUND = 20  # corners of a circle
_UP = 5  # rings of a hemisphere


class Solid(NamedTuple):
    """A convex shape of a link.

    Attributes:
        link: that it is fixed to.
        corners: in the link's frame, (k, 3) [m].
        faces: polygons, as indices of corners.
        colour: red, green, blue, opacity.
    """

    link: str
    corners: Array
    faces: tuple[tuple[int, ...], ...]
    colour: tuple[float, ...]


def solids_of(model: Model) -> list[Solid]:
    """What the links look like; nothing for those without simple shapes. Meshes are left out."""
    found = []
    for link in model.links.values():
        for shape in getattr(link, "visuals", ()):
            made = _MADE.get(shape.kind)
            if made is not None and shape.rgba[3] > 0.0:
                corners, faces = made(*shape.size)
                placed = corners @ np.asarray(shape.rotation).T + np.asarray(shape.xyz)
                found.append(Solid(link.name, placed, faces, tuple(shape.rgba)))
    return found


Made = tuple[Array, tuple[tuple[int, ...], ...]]


def _box(x: float, y: float, z: float) -> Made:
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=np.float64)
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return 0.5 * signs * (x, y, z), faces


def _rings(radii: Array, heights: Array) -> Made:
    """A body of revolution about z, by its rings from the lowest to the highest, closed at both ends."""
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


def _cylinder(radius: float, length: float) -> Made:
    return _rings(np.full(2, radius), np.array([-0.5, 0.5]) * length)


def _capsule(radius: float, length: float) -> Made:
    # Rings start a little off the poles, where they would shrink to nothing.
    latitude = np.linspace(-0.5 * np.pi, 0.0, _UP + 1)[1:]
    radii, heights = radius * np.cos(latitude), radius * np.sin(latitude)
    first = 0.2 * radii[0]
    up, out = np.concatenate([[-radius], heights]), np.concatenate([[first], radii])
    return _rings(np.concatenate([out, out[::-1]]), np.concatenate([up - 0.5 * length, -up[::-1] + 0.5 * length]))


def _sphere(radius: float) -> Made:
    return _capsule(radius, 0.0)


_MADE: dict[str, Any] = {"box": _box, "sphere": _sphere, "cylinder": _cylinder, "capsule": _capsule}
