# SPDX-License-Identifier: Apache-2.0
"""Surfaces of unit solids as triangles; edges that shall look sharp have vertices of their own on each side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

Indices = NDArray[np.uint32]

_AROUND = 32  # vertices of a circle


class Surface(NamedTuple):
    """Triangles: rows of `faces` are indices into the rows of `vertices`, anticlockwise seen from outside."""

    vertices: Array
    faces: Indices


def box() -> Surface:
    """The cube of side 1 about the origin."""
    corners: list[Array] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            a, b = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            if side < 0.0:
                a, b = b, a
            first = len(corners)
            middle = side * np.eye(3)[axis]
            corners += [middle + 0.5 * (i * a + j * b) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return _surface(corners, faces)


def cylinder() -> Surface:
    """Radius 1 and length 1, along z about the origin."""
    turns = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    ring = np.column_stack([np.cos(turns), np.sin(turns), np.zeros(_AROUND)])
    up = np.array([0.0, 0.0, 0.5])
    # side below, side above, lid below, lid above, their middles
    corners = np.concatenate([ring - up, ring + up, ring - up, ring + up, [-up, up]])
    faces = []
    n = _AROUND
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, n + j), (i, n + j, n + i), (2 * n + j, 2 * n + i, 4 * n), (3 * n + i, 3 * n + j, 4 * n + 1)]
    return _surface(corners, faces)


def sphere() -> Surface:
    """Radius 1 about the origin, by circles of latitude."""
    bands = _AROUND // 2
    polar = np.linspace(0.0, np.pi, bands + 1)[1:-1]
    turns = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    rows = [(np.sin(p) * np.cos(t), np.sin(p) * np.sin(t), np.cos(p)) for p in polar.tolist() for t in turns.tolist()]
    top, bottom = len(rows), len(rows) + 1
    faces = []
    for j in range(_AROUND):
        k = (j + 1) % _AROUND
        faces += [(top, j, k), (bottom, top - _AROUND + k, top - _AROUND + j)]
        for band in range(bands - 2):
            a, b = band * _AROUND, (band + 1) * _AROUND
            faces += [(a + j, b + j, b + k), (a + j, b + k, a + k)]
    return _surface([*rows, (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)], faces)


def _surface(corners: object, faces: object) -> Surface:
    return Surface(np.array(corners, dtype=np.float64), np.array(faces, dtype=np.uint32))


SOLIDS = {"box": box, "cylinder": cylinder, "sphere": sphere}
