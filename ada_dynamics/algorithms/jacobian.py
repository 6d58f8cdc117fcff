# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of links and of the centre of mass."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.motion import NO_MOTION, Motion
from ada_dynamics.spatial.rotation import Rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3


def columns_at(tree: Tree, q: Sequence[Scalar], world: Sequence[Transform], body: int, point: Vec3) -> list[Motion]:
    """Jacobian of a body at a point of the world, world's axes: one motion per velocity of the model (eq. A.1)."""
    columns = [NO_MOTION] * tree.nv
    for i in tree.ancestry(body):
        joint, pose = tree.bodies[i], world[i]
        arm = point - pose.position
        for j, s in zip(range(joint.v.start, joint.v.stop), joint.joint.subspace(joint.positions(q)), strict=True):
            turned = Motion(pose.rotation.to_parent(s.angular), pose.rotation.to_parent(s.linear)).at(arm)
            columns[j] = columns[j] + joint.multiplier * turned
    return columns


def link_jacobian(tree: Tree, q: Sequence[Scalar], link: str, frame: str) -> list[Motion]:
    """Jacobian of a link, by columns.

    Args:
        tree: the mechanism.
        q: positions.
        link: name of the link.
        frame: "local" (at the link's origin, link's axes), "local_world_aligned" (there, world's axes) or "world"
            (at the world's origin, world's axes).
    """
    place = tree.frames[link]
    if place.body == WORLD:
        return [NO_MOTION] * tree.nv
    world = poses(tree, transforms(tree, q))
    pose = world[place.body] @ place.pose
    point = ZERO3 if frame == "world" else pose.position
    columns = columns_at(tree, q, world, place.body, point)
    return [_in_axes(pose.rotation, c) for c in columns] if frame == "local" else columns


def _in_axes(rotation: Rotation, m: Motion) -> Motion:
    return Motion(rotation.to_child(m.angular), rotation.to_child(m.linear))
