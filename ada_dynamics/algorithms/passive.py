# SPDX-License-Identifier: Apache-2.0
"""Efforts against damping, Coulomb friction and springs of joints, and the velocity term of the armature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ada_dynamics.algorithms.dissipation import lost_effort
from ada_dynamics.algorithms.springs import spring_effort
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.vector import ZERO3, Scalar, is_zero


def unloaded(tree: Tree) -> Tree:
    """The same tree without weight and springs: at rest nothing acts on it."""
    bodies = tuple(body if is_zero(body.stiffness) else replace(body, stiffness=0.0) for body in tree.bodies)
    return replace(tree, bodies=bodies, gravity=ZERO3)


def joint_passive_efforts(body: Body, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Of one joint, on its own positions and velocities."""
    efforts = [lost_effort(body, rate) + pull for rate, pull in zip(v, spring_effort(body, q), strict=True)]
    if is_zero(body.armature) or not body.joint.leaves_free():
        return efforts
    # Armature of a free joint is constant in the world's axes, while its velocities are in the body's.
    turning = body.joint.commutator(v, [body.armature * rate for rate in v])
    return [effort + turned for effort, turned in zip(efforts, turning, strict=True)]


def passive_efforts(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Of all joints in the model's order."""
    result: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        own = joint_passive_efforts(body, body.positions(q), body.velocities(v))
        for i, effort in zip(range(body.v.start, body.v.stop), own, strict=True):
            result[i] = result[i] + body.multiplier * effort
    return result
