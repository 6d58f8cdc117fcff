# SPDX-License-Identifier: Apache-2.0
"""Poses of links from joint positions, and joint positions back from poses of links, on numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import (
    Cylindrical,
    Floating,
    FloatingEuler,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from ada_dynamics.model.model import Model
from ada_dynamics.model.rigid import Pose
from ada_dynamics.model.tree import WORLD, Body
from ada_dynamics.spatial.transform import Transform

NO_MOVE: Pose = (np.eye(3), np.zeros(3))


def compose(outer: Pose, inner: Pose) -> Pose:
    """Pose of C in A from those of B in A and of C in B."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def invert(pose: Pose) -> Pose:
    """Pose of A in B from that of B in A."""
    return pose[0].T, -pose[0].T @ pose[1]


def numbers(pose: Transform) -> Pose:
    """A transform of constants as arrays."""
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
    """Pose of a joint's child link in its parent link, for the joint's own positions."""
    description, tree = model.joints[joint], model.full_tree
    body = next(b for b in tree.bodies if b.name == joint)
    parent, child = tree.frames[description.parent], tree.frames[description.child]
    inside = compose(numbers(body.transform(own.tolist())), numbers(child.pose))
    return compose(invert(numbers(parent.pose)), inside)


def positions_at(model: Model, poses: Mapping[str, Pose], near: Mapping[str, Array]) -> Array:
    """The q at which the links have the given poses.

    Args:
        model: what is posed.
        poses: pose of every link in the world.
        near: angles to stay within half a turn of, by joint, where they are known.
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
            q[body.q] = _positions(body, own, near.get(body.name))
    return q


def _positions(body: Body, pose: Pose, near: Array | None) -> Array:
    own = joint_positions(body.joint, pose)
    if near is None or len(near) != len(own):
        return own
    if isinstance(body.joint, Spherical | Floating):
        own[-4:] *= 1.0 if own[-4:] @ near[-4:] >= 0.0 else -1.0
        return own
    turns = [i for i in range(len(own)) if i in _ANGLES.get(body.joint.kind, ())]
    own[turns] += 2.0 * np.pi * np.round((near[turns] - own[turns]) / (2.0 * np.pi))
    return own


_ANGLES: dict[str, tuple[int, ...]] = {
    "revolute": (0,),
    "continuous": (0,),
    "cylindrical": (1,),
    "universal": (0, 1),
    "spherical_euler": (0, 1, 2),
    "planar": (2,),
    "floating_euler": (3, 4, 5),
}


def joint_positions(joint: JointType, pose: Pose) -> Array:
    """The position variables at which a joint has (as nearly as it can) the given pose."""
    R, p = pose
    if isinstance(joint, Revolute):
        return np.array([_angle(R, joint.k)])
    if isinstance(joint, Prismatic):
        return np.array([p[joint.k]])
    if isinstance(joint, Cylindrical):
        return np.array([p[joint.k], _angle(R, joint.k)])
    if isinstance(joint, Planar):
        return np.array([p[0], p[1], _angle(R, 2)])
    if isinstance(joint, Universal):
        return np.array([np.arctan2(-R[0, 1], R[1, 1]), np.arctan2(-R[2, 0], R[2, 2])])
    if isinstance(joint, Spherical):
        return quaternion(R)
    if isinstance(joint, Floating):
        return np.concatenate([p, quaternion(R)])
    if isinstance(joint, SphericalEuler):
        second = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
        return np.array([np.arctan2(R[1, 2], R[0, 2]), second, np.arctan2(R[2, 1], -R[2, 0])])
    if isinstance(joint, FloatingEuler):
        second = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
        return np.array([*p, np.arctan2(R[1, 0], R[0, 0]), second, np.arctan2(R[2, 1], R[2, 2])])
    raise InputError(f"a joint of type {joint.kind!r} has no positions that a pose could give.")


def _angle(R: Array, k: int) -> float:
    """Angle of a turn about coordinate axis k, from all four entries that show it."""
    a, b = (k + 1) % 3, (k + 2) % 3
    return float(np.arctan2(R[b, a] - R[a, b], R[a, a] + R[b, b]))


def quaternion(R: Array) -> Array:
    """The unit quaternion (x, y, z, w) of a rotation matrix: the eigenvector of a symmetric matrix, never ill-posed."""
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[3, 3] = np.trace(R)
    values, vectors = np.linalg.eigh(K)
    p = vectors[:, int(np.argmax(values))]
    return np.asarray(p if p[3] >= 0.0 else -p)
