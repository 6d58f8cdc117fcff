# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies of a description (links joined by fixed joints), and bounding boxes of links."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Shape
from ada_dynamics.model.structure import roots

_HINGES = ("revolute", "continuous")
_DIFFERENT = 0.1  # sine of the angle between the axes of a cross


@dataclass(eq=False)
class RigidBody:
    """A rigid body, whose frame is that of its first link."""

    index: int
    parent: int  # index, or -1
    joint: Joint | None  # None for a root
    rotation: Array  # of the joint's frame in the parent body's frame
    position: Array
    links: list[tuple[Link, Array, Array]] = field(default_factory=list)  # with rotation and position in the body

    @property
    def name(self) -> str:
        """Name of the first link with mass, or of the first link."""
        return next((link.name for link, _, _ in self.links if link.mass > 0.0), self.links[0][0].name)

    @property
    def mass(self) -> float:
        """Total mass of the links [kg]."""
        return sum(link.mass for link, _, _ in self.links)

    def spatial_inertia(self) -> Array:
        """Spatial inertia about the origin of the body's frame, (6, 6), [angular; linear]."""
        total = np.zeros((6, 6))
        for link, R, p in self.links:
            c = skew(p + R @ link.com)
            total[:3, :3] += R @ link.inertia @ R.T + link.mass * c @ c.T
            total[:3, 3:] += link.mass * c
            total[3:, :3] += link.mass * c.T
            total[3:, 3:] += link.mass * np.eye(3)
        return total


def skew(c: Array) -> Array:
    """Matrix of the cross product with a vector."""
    return np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])


def crosses(
    links: Iterable[Link], joints: Iterable[Joint], loops: Iterable[LoopJoint] = ()
) -> dict[str, tuple[Joint, Joint | LoopJoint]]:
    """Find massless links between two hinges whose different axes intersect: the crosses of universal joints.

    The second hinge may be a loop joint.

    Returns:
        The two joints by name of the massless link.
    """
    arriving: dict[str, list[Joint]] = {}
    others: dict[str, list[tuple[Joint | LoopJoint, Array, Array]]] = {}  # with point and axis in the link's frame
    for joint in joints:
        if joint.kind in _HINGES:
            arriving.setdefault(joint.child, []).append(joint)
        others.setdefault(joint.parent, []).append((joint, joint.xyz, joint.rotation @ joint.axis))
    for loop in loops:
        others.setdefault(loop.parent, []).append((loop, loop.parent_xyz, loop.parent_rotation @ loop.axis))
        others.setdefault(loop.child, []).append((loop, loop.child_xyz, loop.child_rotation @ loop.axis))
    found: dict[str, tuple[Joint, Joint | LoopJoint]] = {}
    for link in links:
        first, rest = arriving.get(link.name, []), others.get(link.name, [])
        if link.mass or len(first) != 1 or len(rest) != 1:
            continue
        second, xyz, axis = rest[0]
        across = np.linalg.norm(np.cross(first[0].axis, axis))
        if second.kind in _HINGES and not xyz.any() and across > _DIFFERENT:
            found[link.name] = (first[0], second)
    return found


def rigid_bodies(robot: Description) -> list[RigidBody]:
    """Return the rigid bodies reachable from the roots, parents first.

    Joints with unknown links and second parents of a link are ignored.
    """
    links = {link.name: link for link in reversed(robot.links)}
    children: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        if joint.parent in links and joint.child in links and joint.parent != joint.child:
            children.setdefault(joint.parent, []).append(joint)
    found: list[RigidBody] = []
    seen: set[str] = set()
    pending: list[tuple[str, RigidBody, Array, Array]] = []

    def start(link: str, parent: int, joint: Joint | None, R: Array, p: Array) -> None:
        body = RigidBody(len(found), parent, joint, R, p)
        found.append(body)
        pending.append((link, body, np.eye(3), np.zeros(3)))

    for root in roots(robot):
        if root.name in seen:
            continue
        seen.add(root.name)
        start(root.name, -1, None, np.eye(3), np.zeros(3))
        while pending:
            name, body, R, p = pending.pop()
            body.links.append((links[name], R, p))
            for joint in children.get(name, ()):
                if joint.child in seen:
                    continue
                seen.add(joint.child)
                at = (R @ joint.rotation, p + R @ joint.xyz)
                if joint.kind == "fixed":
                    pending.append((joint.child, body, *at))
                else:
                    start(joint.child, body.index, joint, *at)
    return found


@dataclass(eq=False)
class Extent:
    """Axis-aligned bounding box of the geometric primitives of a link, in the link's frame."""

    low: Array
    high: Array
    complete: bool  # False if the link has meshes as well

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
        """Distance of a point from the box, 0 inside [m]."""
        return float(np.linalg.norm(np.maximum(np.maximum(self.low - point, point - self.high), 0.0)))


def extent(link: Link) -> Extent | None:
    """Return the bounding box of a link's boxes, cylinders, capsules and spheres, or None without any."""
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
