# SPDX-License-Identifier: Apache-2.0
"""Geoms and meshes of MJCF: mass and inertia of a body by primitive shapes, visual and collision shapes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Problem
from ada_dynamics.model.elements import PLAIN, Shape
from ada_dynamics.model.rotations import Pose, compose, conjugated, shortest_turn
from ada_dynamics.model.tree import point_inertia
from ada_dynamics.robots.readers.mjcf.document import MjcfSettings, MjcfValues, folder_of, rotation_of
from ada_dynamics.robots.readers.xml import Element

_DRAWN = (".stl", ".obj")
_SKEW = 1e-9  # part of the largest scale


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass, centre of mass, and inertia about it in the axes of the body."""

    mass: float
    com: Array
    inertia: Array


class Meshes:
    """The meshes of a document."""

    def __init__(self, root: Element, file: str, settings: MjcfSettings) -> None:
        """Find the meshes of an expanded document; `file` is its name."""
        self._settings = settings
        self._folder = folder_of(file)
        self._elements: dict[str, Element] = {}
        for element in (m for assets in root.all("asset") for m in assets.all("mesh")):
            name = element.attributes.get("name") or Path(element.attributes.get("file", "")).stem
            self._elements.setdefault(name.strip(), element)

    def shape(self, name: str, user: MjcfValues) -> tuple[Array, Pose, str] | None:
        """Scale, pose of the file's frame in the geom, and address of a geom's mesh, or None after a report."""
        element = self._elements.get(name)
        if element is None:
            user.problem("unknown-mesh", f"names the mesh {name!r}, which is not there.", "Add it to <asset>.")
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
        name = values.text("file").replace("\\", "/")
        if self._settings.strips_paths:
            name = name.rsplit("/", 1)[-1]
        inside = Path(self._settings.mesh_folder) / name
        if self._folder is None:
            return inside.as_posix()
        own = values.element.file
        places = [self._folder / inside, *([] if own is None else [Path(own).parent / inside])]
        path = next((place for place in places if place.is_file()), places[0])
        return (path if Path(name).is_absolute() else Path(os.path.relpath(path, self._folder))).as_posix()


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


def read_geom(values: MjcfValues, around: Pose, is_static: bool) -> MassProperties | None:
    """Read the mass properties of a geom of uniform density, or None if it has no mass or another group.

    Args:
        values: attributes of the geom.
        around: pose of the enclosing <frame>s.
        is_static: the body does not move, so that meshes without mass properties have no effect.
    """
    low, high = values.settings.inertia_groups
    if not low <= values.number("group", 0.0) <= high:
        return None
    mass = values.number("mass", -1.0) if values.has("mass") else None
    shape = _kind_of(values)
    if shape in _GROUNDS or mass == 0.0 or (mass is None and values.number("density", 1000.0) == 0.0):
        return None
    is_mesh = values.has("mesh") or shape in ("mesh", "sdf")
    if is_mesh and is_static:
        return None
    if is_mesh or values.flag("shellinertia"):
        fix = "Give the body an <inertial>; MuJoCo writes it by mj_saveLastXML with saveinertial."
        values.problem("mesh-inertia", "defines the body's inertia by a mesh or shell, which is not computed.", fix)
        return None
    size, pose = size_and_pose(values, shape)
    if not (size > 0.0).all():
        values.problem("size", f"is a {shape} with size {size.tolist()}.", "All of them must be positive.")
        return None
    volume, moments = _of_uniform_density(shape, size)
    own = mass if mass is not None else values.number("density", 1000.0) * volume
    R, com = compose(around, pose)
    return MassProperties(own, com, conjugated(R, np.diag(own * moments)))


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
