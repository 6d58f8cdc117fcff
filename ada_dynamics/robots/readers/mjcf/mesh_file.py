# SPDX-License-Identifier: Apache-2.0
"""Triangles of the mesh files that MuJoCo reads: binary STL, OBJ, its own MSH; all in single precision, as there."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.structured_text.files import has_longer_line, read_file

_STL_HEADER, _STL_FACE = 84, 50
_LONGEST_LINE = 1024 * 1024  # [byte] of an OBJ file: a polygon of 100 000 corners
Faces = NDArray[np.int64]


def read_mesh(path: Path) -> tuple[Array, Faces]:
    """Vertices (n, 3) and the three corners of each face (m, 3).

    Raises:
        ModelError: the file cannot be read, or is of another kind.
    """
    readers = {".stl": _stl, ".obj": _obj, ".msh": _msh}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ModelError(f"{path}: meshes of this kind are not read; MuJoCo has {', '.join(readers)}.")
    data = read_file(path)
    try:
        vertices, faces = reader(data)
    except (ValueError, IndexError, struct.error):
        raise ModelError(f"{path}: it is no {path.suffix[1:].upper()} file as MuJoCo reads it.") from None
    inside = len(faces) > 0 and faces.min() >= 0 and faces.max() < len(vertices)
    if not inside or not np.isfinite(vertices).all():
        raise ModelError(f"{path}: it has no faces, or faces and vertices that cannot be.")
    return vertices.astype(np.float32).astype(np.float64), faces


def _stl(data: bytes) -> tuple[Array, Faces]:
    (count,) = struct.unpack("<I", data[80:_STL_HEADER])
    if len(data) != _STL_HEADER + _STL_FACE * count:
        raise ValueError("another size")  # such as the text form, which MuJoCo does not read
    rows = np.frombuffer(data, dtype=np.uint8, offset=_STL_HEADER).reshape(count, _STL_FACE)
    corners = np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(-1, 3)
    return corners.astype(np.float64), np.arange(3 * count).reshape(-1, 3)


def _msh(data: bytes) -> tuple[Array, Faces]:
    vertices, normals, texture, faces = struct.unpack("<4i", data[:16])
    if min(vertices, normals, texture, faces) < 0:
        raise ValueError("sizes")
    at = 16 + 4 * (3 * vertices + 3 * normals + 2 * texture)
    points = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3)
    return points.astype(np.float64), np.frombuffer(data, "<i4", 3 * faces, at).reshape(-1, 3).astype(np.int64)


def _obj(data: bytes) -> tuple[Array, Faces]:
    if has_longer_line(data, _LONGEST_LINE):
        raise ValueError("a line without an end")
    points: list[list[float]] = []
    polygons: list[list[int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "v":
            points.append([float(x) for x in rest.split()[:3]])
        elif word == "f":
            corners = [int(corner.split("/")[0]) for corner in rest.split()]
            polygons.append([c - 1 if c > 0 else len(points) + c for c in corners])
    vertices = np.array(points, dtype=np.float64).reshape(-1, 3)
    faces = [triangle for polygon in polygons for triangle in _triangles(vertices, polygon)]
    return vertices, np.array(faces, dtype=np.int64).reshape(-1, 3)


def _triangles(vertices: Array, polygon: list[int]) -> list[list[int]]:
    """A quadrilateral is cut along its shorter diagonal, other polygons from their first corner."""
    if len(polygon) == 4:
        a, b, c, d = polygon
        if np.linalg.norm(vertices[c] - vertices[a]) >= np.linalg.norm(vertices[d] - vertices[b]):
            return [[a, b, d], [b, c, d]]
    return [[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]
