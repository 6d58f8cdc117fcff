# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of links, and the tangent map of mechanisms with loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.motion import NO_MOTION, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3, is_zero


def columns_at(tree: Tree, q: Sequence[Scalar], world: Sequence[Transform], body: int, point: Vec3) -> list[Motion]:
    """Jacobian of a body at a point in the world, in world axes: one motion per velocity of the model (eq. A.1)."""
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
        frame: "local" (at the link's origin, link's axes), "local_world_aligned" (at the link's origin, world axes) or
            "world" (at the world's origin, world axes).
    """
    place = tree.frames[link]
    if place.body == WORLD:
        return [NO_MOTION] * tree.nv
    world = poses(tree, transforms(tree, q))
    pose = world[place.body] @ place.pose
    point = ZERO3 if frame == "world" else pose.position
    columns = columns_at(tree, q, world, place.body, point)
    if frame != "local":
        return columns
    R = pose.rotation
    return [Motion(R.to_child(c.angular), R.to_child(c.linear)) for c in columns]


SparseRow = dict[int, Scalar]


def tangent_map(
    rows: Sequence[Mapping[int, Scalar]], pivots: Sequence[tuple[int, int]], chosen: Sequence[int]
) -> tuple[dict[int, SparseRow], list[Scalar]]:
    """T of v = T y with J v = 0, by elimination with given pivots.

    The rows of J are independent constraints, as many as dependent velocities.

    Args:
        rows: rows of J, by velocity.
        pivots: row and velocity of each pivot, in the order of elimination.
        chosen: independent velocities y, in the order of T's columns.

    Returns:
        Rows of T by velocity, and the values of the pivots.
    """
    left: list[SparseRow] = [{k: x for k, x in row.items() if not is_zero(x)} for row in rows]
    found = []
    for done, (i, k) in enumerate(pivots):
        found.append(left[i].pop(k))
        inverse = 1.0 / found[-1]
        left[i] = {j: inverse * x for j, x in left[i].items()}
        for other, _ in pivots[done + 1 :]:
            if k in left[other]:
                _subtract(left[other], left[other].pop(k), left[i])
    T: dict[int, SparseRow] = {k: {column: 1.0} for column, k in enumerate(chosen)}
    for i, k in reversed(pivots):
        T[k] = {}
        for j, x in left[i].items():
            _subtract(T[k], x, T[j])
    return T, found


def _subtract(row: SparseRow, factor: Scalar, other: SparseRow) -> None:
    for k, x in other.items():
        row[k] = row.get(k, ZERO) - factor * x
