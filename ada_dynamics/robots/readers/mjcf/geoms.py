# SPDX-License-Identifier: Apache-2.0
"""Geoms and meshes of MJCF: mass and inertia of a body, visual and collision shapes.

Volumes of meshes (legacy, exact, shell) are sums over pyramids from a point to the triangles. "legacy",
MuJoCo's default, takes every pyramid's volume as positive, which overestimates the mass of meshes that are not closed
or not convex.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Problem, Sink
from ada_dynamics.model.elements import PLAIN, Shape
from ada_dynamics.model.rotations import UNIT, Pose, compose, conjugated, shortest_turn
from ada_dynamics.model.tree import point_inertia
from ada_dynamics.robots.readers.mjcf.document import MjcfSettings, MjcfValues, folder_of, rotation_of
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.files import has_longer_line, read_file

_STL_HEADER, _STL_FACE = 84, 50
_LONGEST_LINE = 1024 * 1024  # [byte] of an OBJ file: a polygon of 100 000 corners
Faces = NDArray[np.int64]


def read_mesh(path: Path) -> tuple[Array, Faces]:
    """Read a binary STL or OBJ file in single precision, as MuJoCo does.

    Returns:
        Vertices (n, 3), and the indices of the corners of each face (m, 3).

    Raises:
        ModelError: the file cannot be read or has another format.
    """
    readers = {".stl": _stl, ".obj": _obj}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ModelError(f"{path}: this mesh format is not supported; allowed: {', '.join(readers)}.", file=path)
    data = read_file(path)
    try:
        vertices, faces = reader(data)
    except (ValueError, IndexError, struct.error):
        raise ModelError(f"{path}: it is no valid {path.suffix[1:].upper()} file for MuJoCo.", file=path) from None
    inside = len(faces) > 0 and faces.min() >= 0 and faces.max() < len(vertices)
    if not inside or not np.isfinite(vertices).all():
        raise ModelError(f"{path}: it has no faces, or invalid faces or vertices.", file=path)
    return vertices.astype(np.float32).astype(np.float64), faces


def _stl(data: bytes) -> tuple[Array, Faces]:
    (count,) = struct.unpack("<I", data[80:_STL_HEADER])
    if len(data) != _STL_HEADER + _STL_FACE * count:
        raise ValueError("another size")  # such as text STL, which MuJoCo does not read
    rows = np.frombuffer(data, dtype=np.uint8, offset=_STL_HEADER).reshape(count, _STL_FACE)
    corners = np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(-1, 3)
    return corners.astype(np.float64), np.arange(3 * count).reshape(-1, 3)


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
    """Split a quadrilateral along its shorter diagonal, and other polygons from their first corner."""
    if len(polygon) == 4:
        a, b, c, d = polygon
        if np.linalg.norm(vertices[c] - vertices[a]) >= np.linalg.norm(vertices[d] - vertices[b]):
            return [[a, b, d], [b, c, d]]
    return [[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]


KINDS = ("legacy", "exact", "shell")
_DRAWN = (".stl", ".obj")
_SKEW = 1e-9  # part of the largest scale
_LEAST = 1e-15  # MuJoCo's least volume [m³] and area [m²]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass, centre of mass, and inertia about it in the axes of the body."""

    mass: float
    com: Array
    inertia: Array


class Meshes:
    """The meshes of a document; files are read if a body's mass depends on them."""

    def __init__(self, root: Element, file: str, settings: MjcfSettings, sink: Sink) -> None:
        """Args: the expanded document, its name, its settings, and the callback for problems."""
        self._settings, self._sink = settings, sink
        self._folder = folder_of(file)
        self._elements: dict[str, Element] = {}
        for element in (m for assets in root.all("asset") for m in assets.all("mesh")):
            name = element.attributes.get("name") or Path(element.attributes.get("file", "")).stem
            self._elements.setdefault(name.strip(), element)
        self._found: dict[str, MassProperties | None] = {}

    def _element(self, name: str, user: MjcfValues) -> Element | None:
        if name not in self._elements:
            user.problem("unknown-mesh", f"names the mesh {name!r}, which is not there.", "Add it to <asset>.")
        return self._elements.get(name)

    def bulk(self, name: str, user: MjcfValues) -> MassProperties | None:
        """Return volume, centre and inertia of a geom's mesh of density 1, or None after reporting a problem."""
        element = self._element(name, user)
        if element is not None and name not in self._found:
            try:
                self._found[name] = self._read(MjcfValues(element, f"mesh {name!r}", self._sink, self._settings))
            except ModelError as problem:
                user.problem("mesh-inertia", f"defines the body's inertia by a mesh: {problem}", "")
                return None
        return self._found.get(name)

    def shape(self, name: str, user: MjcfValues) -> tuple[Array, Pose, str] | None:
        """Scale, pose of the file's frame in the geom, and address of a geom's mesh, or None after a report."""
        element = self._element(name, user)
        if element is None:
            return None
        problems: list[Problem] = []
        values = MjcfValues(element, f"mesh {name!r}", problems.append, self._settings)
        scale, shift = values.vector("scale", (1.0, 1.0, 1.0)), values.vector("refpos", (0.0, 0.0, 0.0))
        R = rotation_of(values.vector("refquat", (1.0, 0.0, 0.0, 0.0)))
        # the scale applies after the rotation and must be along the file's axes
        along: Array = R @ np.diag(scale) @ R.T
        file = Path(values.text("file"))
        reason = str(problems[0].message) if problems else ""
        if file.suffix.lower() not in _DRAWN:
            reason = f"has another format than {', '.join(_DRAWN)}"
        elif float(np.max(np.abs(along - np.diag(np.diag(along))))) > _SKEW * float(np.max(np.abs(scale))):
            reason = "is scaled along axes other than those of its file"
        if reason:
            user.problem("mesh-not-drawn", f"has no shape for drawing and contact: its mesh {name!r} {reason}.")
            return None
        return np.diag(along).copy(), (R.T, -scale * (R.T @ shift)), self._address(values)

    def _address(self, values: MjcfValues) -> str:
        """Address relative to the main file."""
        if self._folder is None:
            return (Path(self._settings.mesh_folder) / self._name(values)).as_posix()
        path = self._path(values)
        beside = os.path.relpath(path, self._folder)
        return (path if Path(self._name(values)).is_absolute() else Path(beside)).as_posix()

    def _read(self, values: MjcfValues) -> MassProperties | None:
        for what in ("builtin", "vertex"):
            if values.has(what):
                fix = "Give the body an <inertial>: MuJoCo writes it by mj_saveLastXML with saveinertial."
                values.problem("not-modelled", f"has {what}, which is not supported.", fix)
                return None
        kind = values.word("inertia", "legacy", KINDS)
        vertices, faces = read_mesh(self._path(values))
        R = rotation_of(values.vector("refquat", (1.0, 0.0, 0.0, 0.0)))
        scale = values.vector("scale", (1.0, 1.0, 1.0))
        placed: Array = (vertices - values.vector("refpos", (0.0, 0.0, 0.0))) @ R * scale
        if float(np.prod(scale)) < 0.0:
            faces = faces[:, ::-1]  # keep the orientation of mirrored faces
        found = bulk_of(placed[faces], kind)
        if not found.mass > _LEAST:
            message = f"has the volume {found.mass:.3g} m³ by inertia={kind!r}; its triangles may be inverted."
            values.problem("mesh-inertia", message, 'Set inertia="shell", or give the body an <inertial>.')
            return None
        return found

    def _name(self, values: MjcfValues) -> str:
        name = values.text("file").replace("\\", "/")
        return name.rsplit("/", 1)[-1] if self._settings.strips_paths else name

    def _path(self, values: MjcfValues) -> Path:
        name = self._name(values)
        inside = Path(self._settings.mesh_folder) / name
        if self._folder is None and not inside.is_absolute():
            raise ModelError(f"{name}: a text has no folder; load the file by its path.")
        beside = [] if values.element.file is None else [Path(values.element.file).parent / inside]
        places = [inside if self._folder is None else self._folder / inside, *beside]
        return next((place for place in places if place.is_file()), places[0])


def bulk_of(triangles: Array, kind: str) -> MassProperties:
    """Mass properties at density 1 of triangles (m, 3, 3) with counter-clockwise corners seen from outside."""
    edges = triangles[:, 1:] - triangles[:, :1]
    normals = 0.5 * np.cross(edges[:, 0], edges[:, 1])
    areas = np.linalg.norm(normals, axis=1)
    middles = triangles.mean(axis=1)
    centroid = areas @ middles / max(float(areas.sum()), _LEAST)
    if kind == "shell":
        sizes, centre = areas, centroid
    else:
        sizes = _volumes(triangles - centroid, normals, kind)
        total = float(sizes.sum())
        centre = sizes @ (0.75 * middles + 0.25 * centroid) / total if total > _LEAST else centroid
        sizes = _volumes(triangles - centre, normals, kind)
    # ∫ x xᵀ over a pyramid from the centre is V/20 (Σ cᵢcᵢᵀ + (Σ cᵢ)(Σ cᵢ)ᵀ), over a triangle A/12 of it
    corners = triangles - centre
    sums = corners.sum(axis=1)
    products = np.einsum("m,mki,mkj->ij", sizes, corners, corners) + np.einsum("m,mi,mj->ij", sizes, sums, sums)
    products /= 12.0 if kind == "shell" else 20.0
    inertia: Array = np.trace(products) * np.eye(3) - products
    return MassProperties(float(sizes.sum()), centre, inertia)


def _volumes(triangles: Array, normals: Array, kind: str) -> Array:
    signed: Array = np.einsum("mi,mi->m", triangles.mean(axis=1), normals) / 3.0
    return np.abs(signed) if kind == "legacy" else signed


# --- geoms --------------------------------------------------------------------------------------------------------
SHAPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")

_GROUNDS = ("plane", "hfield")
_LINES = ("capsule", "ellipsoid", "cylinder", "box")  # shapes that allow fromto
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}


def read_inertial(values: MjcfValues) -> MassProperties:
    """Read an <inertial> element."""
    for name in ("pos", "mass"):
        if not values.has(name):
            values.problem("missing-attribute", f"has no {name}.", f'Add {name}="...".')
    R, com = values.pose()
    mass = values.number("mass", 0.0)
    if values.has("fullinertia"):
        xx, yy, zz, xy, xz, yz = values.numbers("fullinertia", 6, 6).tolist()
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif values.has("diaginertia"):
        I = np.diag(values.numbers("diaginertia", 3, 3))
    else:
        fix = 'Add diaginertia="..." [kg m²].'
        values.problem("missing-attribute", "has neither diaginertia nor fullinertia.", fix)
        I = np.zeros((3, 3))
    return MassProperties(mass, com, conjugated(R, I))


def combined(parts: list[MassProperties]) -> MassProperties:
    """Combine the mass properties of several parts."""
    total = float(sum(part.mass for part in parts))
    if total == 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    com = np.sum([part.mass * part.com for part in parts], axis=0) / total
    inertia = np.zeros((3, 3))
    for part in parts:
        inertia += part.inertia + point_inertia(part.mass, part.com - com)
    return MassProperties(total, com, inertia)


def _kind_of(values: MjcfValues) -> str:
    return values.word("type", "mesh" if values.has("mesh") and not values.has("type") else "sphere", SHAPES)


def read_geom(values: MjcfValues, meshes: Meshes, around: Pose) -> MassProperties | None:
    """Read the mass properties of a geom of uniform density, or None if it has no mass or another group.

    Args:
        values: attributes of the geom.
        meshes: meshes of the document.
        around: pose of the enclosing <frame>s.
    """
    low, high = values.settings.inertia_groups
    if not low <= values.number("group", 0.0) <= high:
        return None
    mass = values.number("mass", -1.0) if values.has("mass") else None
    shape = _kind_of(values)
    if shape in _GROUNDS or mass == 0.0 or (mass is None and values.number("density", 1000.0) == 0.0):
        return None
    if values.flag("shellinertia"):
        fix = 'Set inertia="shell" of its mesh, or give the body an <inertial>.'
        values.problem("not-modelled", "has shellinertia.", fix)
    if values.has("mesh") or shape in ("mesh", "sdf"):
        return _of_mesh(values, shape, mass, meshes, around)
    size, pose = size_and_pose(values, shape)
    if not (size > 0.0).all():
        values.problem("size", f"is a {shape} with size {size.tolist()}.", "All of them must be positive.")
        return None
    volume, moments = _of_uniform_density(shape, size)
    own = mass if mass is not None else values.number("density", 1000.0) * volume
    R, com = compose(around, pose)
    return MassProperties(own, com, conjugated(R, np.diag(own * moments)))


def _of_mesh(values: MjcfValues, shape: str, mass: float | None, meshes: Meshes, around: Pose) -> MassProperties | None:
    if shape != "mesh" or not values.has("mesh"):
        fix = "Give the body an <inertial>; MuJoCo writes it by mj_saveLastXML with saveinertial."
        values.problem("mesh-inertia", f"defines the body's inertia by a {shape} fitted to a mesh.", fix)
        return None
    found = meshes.bulk(values.text("mesh"), values)
    if found is None:
        return None
    own = mass if mass is not None else values.number("density", 1000.0) * found.mass
    R, com = compose(compose(around, values.pose()), (UNIT, found.com))
    return MassProperties(own, com, conjugated(R, own / found.mass * found.inertia))


def bounded(mass: MassProperties, settings: MjcfSettings) -> MassProperties:
    """Apply boundmass, boundinertia and balanceinertia of <compiler> to mass properties."""
    if not settings.least_mass and not settings.least_inertia and not settings.balances:
        return mass
    moments, axes = np.linalg.eigh(mass.inertia)
    wanted = np.maximum(moments, settings.least_inertia)
    if settings.balances and wanted[0] + wanted[1] < wanted[2]:
        wanted = np.full(3, wanted.mean())
    inertia = mass.inertia if np.array_equal(wanted, moments) else conjugated(axes, np.diag(wanted))
    return MassProperties(max(mass.mass, settings.least_mass), mass.com, inertia)


def size_and_pose(values: MjcfValues, shape: str) -> tuple[Array, Pose]:
    """Read sizes and pose of a geom, with fromto converted to them."""
    wanted = _SIZES[shape]
    if not values.has("fromto"):
        size = values.numbers("size", wanted, 3)[:wanted] if values.has("size") else np.zeros(wanted)
        return size, values.pose()
    ends = values.numbers("fromto", 6, 6)
    if shape not in _LINES:
        values.problem("keyword", f"is a {shape} with fromto.", f"Allowed for: {', '.join(_LINES)}.")
        return np.ones(wanted), values.pose()
    along = ends[:3] - ends[3:]  # z points to the first end, as in MuJoCo
    half = 0.5 * float(np.linalg.norm(along))
    radius = float(values.numbers("size", 1, 3)[0]) if values.has("size") else 0.0
    size = np.array([radius, half] if wanted == 2 else [radius, radius, half])
    if half == 0.0:
        return np.zeros(wanted), values.pose()
    return size, (shortest_turn(np.array([0.0, 0.0, 1.0]), along), 0.5 * (ends[:3] + ends[3:]))


def _of_uniform_density(shape: str, size: Array) -> tuple[float, Array]:
    """Return volume, and moments of inertia per mass about the centre."""
    if shape == "sphere":
        r = float(size[0])
        return 4.0 / 3.0 * np.pi * r**3, np.full(3, 0.4 * r * r)
    if shape == "ellipsoid":
        squares = size * size
        return 4.0 / 3.0 * np.pi * float(np.prod(size)), 0.2 * (squares.sum() - squares)
    if shape == "box":
        squares = size * size
        return 8.0 * float(np.prod(size)), (squares.sum() - squares) / 3.0
    r, half = size.tolist()
    tube = np.pi * r * r * 2.0 * half
    across, along = r * r / 4.0 + half * half / 3.0, r * r / 2.0
    if shape == "cylinder":
        return tube, np.array([across, across, along])
    # Hemispheres on both ends: centre 3r/8 beyond the end, moment 83/320 m r² about it, perpendicular to the axis.
    ball = 4.0 / 3.0 * np.pi * r**3
    whole = tube + ball
    across = (tube * across + ball * (83.0 / 320.0 * r * r + (half + 0.375 * r) ** 2)) / whole
    along = (tube * along + ball * 0.4 * r * r) / whole
    return whole, np.array([across, across, along])


_KINDS = ("box", "sphere", "cylinder", "capsule")
_FIRST_HIDDEN = 3  # group of geoms that MuJoCo's viewer does not show


def read_colours(root: Element, settings: MjcfSettings) -> None:
    """Read the colours of materials into the settings; invalid ones are left out."""
    for material in (m for assets in root.all("asset") for m in assets.all("material")):
        problems: list[Problem] = []
        values = MjcfValues(material, "a material", problems.append, settings)
        colour = tuple(values.vector("rgba", PLAIN).tolist())
        if values.has("rgba") and not problems:
            settings.colours[values.text("name")] = colour


def read_ground(worldbody: Element, settings: MjcfSettings) -> None:
    """Read friction and margin of the first plane or height field in the world into the settings."""
    for child in worldbody.all("geom"):
        problems: list[Problem] = []
        values = MjcfValues(child, "the ground", problems.append, settings)
        if values.text("type") in _GROUNDS:
            settings.ground_friction, settings.ground_margin = _friction(values), values.number("margin", 0.0)
            return


def _friction(values: MjcfValues) -> float:
    """Coefficient of sliding friction."""
    return float(values.numbers("friction", 1, 3)[0]) if values.has("friction") else 1.0


def read_shape(values: MjcfValues, meshes: Meshes, around: Pose) -> tuple[Shape | None, bool, bool]:
    """Read a geom as a shape, or None; return also True if it is visible, and True if it has contacts.

    Args:
        values: attributes of the geom, whose callback for problems must not raise.
        meshes: meshes of the document.
        around: pose of the enclosing <frame>s.
    """
    settings, kind = values.settings, _kind_of(values)
    address = None
    if kind == "mesh":
        found = meshes.shape(values.text("mesh"), values)
        if found is None:
            return None, False, False
        size, in_geom, address = found
        pose = compose(values.pose(), in_geom)
    elif kind not in _KINDS or values.has("mesh"):
        if kind not in _GROUNDS:
            fitted = " that is fitted to a mesh" if values.has("mesh") else ""
            values.problem("not-drawn", f"is of type {kind}{fitted}, which has no shape and no contacts.")
        return None, False, False
    else:
        size, pose = size_and_pose(values, kind)
        if not (size > 0.0).all():
            return None, False, False
        size = size * {"box": 2.0, "sphere": 1.0}.get(kind, np.array([1.0, 2.0]))
    R, p = compose(around, pose)
    hidden = values.number("group", 0.0) >= _FIRST_HIDDEN
    touches = values.number("contype", 1.0) != 0.0 or values.number("conaffinity", 1.0) != 0.0
    colour = tuple(values.vector("rgba", settings.colours.get(values.text("material"), PLAIN)).tolist())
    # A contact has the larger friction of both geoms, or that of the geom with the higher priority.
    ground = 0.0 if values.number("priority", 0.0) > 0.0 else settings.ground_friction
    friction = max(_friction(values), ground)
    margin = values.number("margin", 0.0) + settings.ground_margin
    shape = Shape(kind, tuple(size.tolist()), p, R, colour, address, friction=friction, margin=margin)
    return shape, not hidden, touches
