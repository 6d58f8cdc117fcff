# SPDX-License-Identifier: Apache-2.0
"""Drawable parts of a robot: solids of its visual or collision shapes, or a stick figure if it has none."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.mesh_files import Mesh, RobotMeshes
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import Joint, Link, Shape
from ada_dynamics.model.joints import Fixed, Planar
from ada_dynamics.model.model import Model, reach_of

AROUND = 32  # vertices of a cylinder's circle


@cache
def unit_solid(kind: str) -> Any:
    """Unit solid as a trimesh: box of side 1, cylinder of radius 1 and length 1 along z, or sphere of radius 1."""
    from trimesh import creation, util

    if kind == "sphere":
        return creation.icosphere(subdivisions=3)
    if kind == "box":
        box = creation.box()
        box.unmerge_vertices()
        return box
    cylinder = creation.cylinder(1.0, 1.0, sections=AROUND)
    is_lid = np.abs(cylinder.face_normals[:, 2]) > 0.5
    return util.concatenate([cylinder.submesh([np.flatnonzero(part)], append=True) for part in (is_lid, ~is_lid)])


_LOG = logging.getLogger(__name__)

Colour = tuple[float, ...]

_STICK = (0.35, 0.45, 0.62, 1.0)
_JOINT = (0.93, 0.55, 0.14, 1.0)
_MASS = (0.55, 0.58, 0.62, 1.0)
_THIN = 0.012  # stick radius as a fraction of the robot size
_TINY = 1e-9  # [m] shorter sticks are omitted


@dataclass(frozen=True, eq=False)
class ShapePart:
    """One solid fixed to a link."""

    link: str  # name of the link
    solid: str  # box, cylinder, sphere, or the path of a mesh
    pose: Array  # homogeneous transform 4x4 in the link frame
    scale: Array  # scale of the unit solid along its axes
    rgba: Colour  # colour; an opaque mesh with vertex colours keeps those
    mesh: Mesh | None = None  # triangles of a mesh

    @property
    def surface(self) -> Any:
        """Unscaled triangles, with `vertices` and `faces`."""
        return self.mesh if self.mesh is not None else unit_solid(self.solid)

    @property
    def corners(self) -> Array:
        """Corners of the bounding box in the link frame, (8, 3)."""
        vertices = np.asarray(self.surface.vertices) * self.scale
        box = np.stack(np.meshgrid(*np.stack([vertices.min(axis=0), vertices.max(axis=0)]).T), axis=-1).reshape(8, 3)
        return np.asarray(box @ self.pose[:3, :3].T + self.pose[:3, 3])


def parts_of(model: Model) -> list[ShapePart]:
    """Solids of all links, with sticks for bodies without shapes.

    Collision shapes replace visual meshes that are not available. Links without shapes are not drawn if they are fixed
    to a link with shapes, or if they are the massless cross of a universal joint in a robot with shapes.
    """
    meshes = RobotMeshes()
    drawn: dict[str, list[ShapePart]] = {name: [] for name in model.links}
    for link in model.links.values():
        for shapes in (link.visuals, link.collisions):
            if not drawn[link.name]:
                drawn[link.name] = [part for shape in shapes for part in shape_parts(link.name, shape, meshes)]
    meshes.report("Links without any other shape are drawn as sticks.")
    if not any(drawn.values()):
        _LOG.warning("model %r has no shapes that can be drawn: it is shown as sticks.", model.name)
    bodies = {name: name for name in model.links}  # by link, the first link of its fixed assembly
    for joint in model.joints.values():  # parents come first
        if joint.kind == Fixed.kind and joint.parent in bodies:
            bodies[joint.child] = bodies[joint.parent]
    seen = {bodies[name] for name, parts in drawn.items() if parts}
    radius = _THIN * reach_of(model)
    for link in model.links.values():
        if bodies[link.name] not in seen:
            sticks = _sticks(model, link, radius)
            is_cross = not link.mass and all(part.rgba == _JOINT for part in sticks)
            drawn[link.name] = [] if seen and is_cross else sticks
    return [part for parts in drawn.values() for part in parts]


def shape_parts(link: str, shape: Shape, meshes: RobotMeshes | None = None) -> list[ShapePart]:
    """Solids of a shape; empty if its mesh is not available."""
    pose = _placed(shape.xyz, shape.rotation)
    if shape.kind == "mesh":
        mesh = (meshes or RobotMeshes()).get(shape)
        return [] if mesh is None else [ShapePart(link, shape.mesh or "", pose, np.array(shape.size), shape.rgba, mesh)]
    if shape.kind == "capsule":
        radius, length = shape.size
        ends = [pose @ _placed(np.array([0.0, 0.0, z])) for z in (-0.5 * length, 0.5 * length)]
        balls = [ShapePart(link, "sphere", end, np.full(3, radius), shape.rgba) for end in ends]
        return [ShapePart(link, "cylinder", pose, np.array([radius, radius, length]), shape.rgba), *balls]
    scales: dict[str, Sequence[int]] = {"sphere": (0, 0, 0), "cylinder": (0, 0, 1)}
    scale = np.array(shape.size)[list(scales.get(shape.kind, (0, 1, 2)))]
    return [ShapePart(link, shape.kind, pose, scale, shape.rgba)]


def _sticks(model: Model, link: Link, radius: float) -> list[ShapePart]:
    """Sticks from the link frame to all attached joints; for a terminal body, through its centre of mass."""
    ends = [j.xyz for j in model.joints.values() if j.parent == link.name and not _is_apart(j)]
    for loop in model.loops.values():
        ends += [loop.parent_xyz] if loop.parent == link.name else []
        ends += [loop.child_xyz] if loop.child == link.name else []
    found = [_marker(model, link.name, radius)]
    if link.mass > 0.0 and not any(np.linalg.norm(end) > _TINY for end in ends):
        ends = [2.0 * link.com]
        found.append(ShapePart(link.name, "sphere", _placed(link.com), np.full(3, 1.8 * radius), _MASS))
    return [part for part in [*found, *(_stick(link.name, end, radius) for end in ends)] if part is not None]


def _is_apart(joint: Joint) -> bool:
    """Return True if a joint allows translation, so that no stick can connect its links."""
    return joint.type.leaves_free() or joint.kind == Planar.kind


def _marker(model: Model, link: str, radius: float) -> ShapePart | None:
    """Marker of the joint that carries a link: cylinder along a revolute axis, box along a prismatic one."""
    joint = next((j for j in model.joints.values() if j.child == link), None)
    if joint is None or not joint.nv or _is_apart(joint) or (joint.parent == WORLD_LINK and joint.nv > 3):
        return None
    if joint.type.slides():
        return ShapePart(link, "box", _along(joint.axis), radius * np.array([3.0, 3.0, 5.0]), _JOINT)
    if joint.nv == 1:
        return ShapePart(link, "cylinder", _along(joint.axis), radius * np.array([2.0, 2.0, 4.5]), _JOINT)
    return ShapePart(link, "sphere", np.eye(4), np.full(3, 2.2 * radius), _JOINT)


def _stick(link: str, end: Array, radius: float) -> ShapePart | None:
    length = float(np.linalg.norm(end))
    if length < _TINY:
        return None
    pose = _along(end / length)
    pose[:3, 3] = 0.5 * end
    return ShapePart(link, "cylinder", pose, np.array([radius, radius, length]), _STICK)


def _placed(xyz: Array, rotation: Array | None = None) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = xyz
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def _along(direction: Array) -> Array:
    """Transform at the origin whose z axis has this direction."""
    z = np.asarray(direction, dtype=np.float64)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return _placed(np.zeros(3), np.column_stack([x, np.cross(z, x), z]))
