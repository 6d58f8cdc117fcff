# SPDX-License-Identifier: Apache-2.0
"""Poses of links from joint positions, and joint positions from poses of links, on numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import Pose, product, turned
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.transform import Transform

NO_MOVE: Pose = (np.eye(3), np.zeros(3))


def compose(outer: Pose, inner: Pose) -> Pose:
    """Pose of C in A from the poses of B in A and of C in B."""
    return product(outer[0], inner[0]), outer[1] + turned(outer[0], inner[1])


def invert(pose: Pose) -> Pose:
    """Pose of A in B from the pose of B in A."""
    return pose[0].T, -turned(pose[0].T, pose[1])


def numbers(pose: Transform) -> Pose:
    """Convert a constant transform to arrays."""
    return np.array(pose.rotation.matrix(), dtype=float), np.array(pose.position, dtype=float)


def link_poses(model: Model, q: Array) -> dict[str, Pose]:
    """Pose of every link in the world."""
    tree = model.tree
    bodies = body_poses(model, q)
    return {
        name: compose(bodies[frame.body] if frame.body != WORLD else NO_MOVE, numbers(frame.pose))
        for name, frame in tree.frames.items()
    }


def body_poses(model: Model, q: Array) -> list[Pose]:
    """Pose of every body of the tree in the world."""
    values: list[float] = q.tolist()
    poses: list[Pose] = []
    for body in model.tree.bodies:
        above = poses[body.parent] if body.parent != WORLD else NO_MOVE
        poses.append(compose(above, numbers(body.transform(body.positions(values)))))
    return poses


def displaced(model: Model, joint: str, own: Array) -> Pose:
    """Pose of the child link of a joint in its parent link at a joint position."""
    description, tree = model.joints[joint], model.full_tree
    body = next(b for b in tree.bodies if b.name == joint)
    parent, child = tree.frames[description.parent], tree.frames[description.child]
    inside = compose(numbers(body.transform(own.tolist())), numbers(child.pose))
    return compose(invert(numbers(parent.pose)), inside)


def positions_at(model: Model, poses: Mapping[str, Pose], near: Mapping[str, Array]) -> Array:
    """Configuration in which the links have the given poses.

    Args:
        model: the model.
        poses: pose of every link in the world.
        near: known positions by joint; angles are returned within half a turn of them.
    """
    tree = model.tree
    at: dict[int, Pose] = {}
    for name, frame in tree.frames.items():
        if frame.body != WORLD and name in poses:
            at[frame.body] = compose(poses[name], invert(numbers(frame.pose)))
    q = model.neutral()
    for body in tree.bodies:
        if model.joints[body.name].mimic is None:
            above = at[body.parent] if body.parent != WORLD else NO_MOVE
            own = compose(invert(compose(above, numbers(body.placement))), at[body.index])
            found = body.joint.positions_at(*own)
            known = near.get(body.name)
            q[body.q] = found if known is None or len(known) != len(found) else body.joint.brought_near(found, known)
    return q
