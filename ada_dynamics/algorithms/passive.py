# SPDX-License-Identifier: Apache-2.0
"""Passive joint efforts: viscous damping, Coulomb friction and springs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ada_dynamics import expr
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, is_zero


def lost_effort(body: Body, rate: Scalar) -> Scalar:
    """damping v + friction sign(v) of one velocity of a joint; sign(0) = 0.

    Static friction is modelled by the simulation.
    """
    effort = body.damping * rate
    if is_zero(body.friction) or is_zero(rate):
        return effort
    return effort + body.friction * expr.sign(rate)


def gathered(tree: Tree, efforts: Iterable[Sequence[Scalar]]) -> list[Scalar]:
    """Efforts by body as a vector (nv,); those of mimic joints are added to the joints that they mimic."""
    result: list[Scalar] = [0.0] * tree.nv
    for body, own in zip(tree.bodies, efforts, strict=True):
        for i, effort in zip(range(body.v.start, body.v.stop), own, strict=True):
            result[i] = result[i] + body.multiplier * effort
    return result


def lost_efforts(tree: Tree, v: Sequence[Scalar]) -> list[Scalar]:
    """`lost_effort` of all joints in the order of the model."""
    return gathered(tree, ([lost_effort(body, rate) for rate in body.velocities(v)] for body in tree.bodies))


def spring_effort(body: Body, q: Sequence[Scalar]) -> list[Scalar]:
    """Effort of the spring of a joint, for its positions.

    A joint with one position has the effort k (q - rest). A spherical joint rests at its zero position and has the
    effort k φ along its rotation vector φ, in the child's axes: the gradient of ½ k |φ|².
    """
    if is_zero(body.stiffness):
        return [0.0] * body.joint.nv
    return [body.stiffness * x for x in body.joint.deflection(q, body.rest)]


def stored_energy(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """Energy in all springs, ½ Σ k (q - rest)² [J]."""
    sprung = [body for body in tree.bodies if not is_zero(body.stiffness)]
    pulled = ((body, x) for body in sprung for x in body.joint.deflection(body.positions(q), body.rest))
    return sum((0.5 * (body.stiffness * (x * x)) for body, x in pulled), ZERO)


def unloaded(tree: Tree) -> Tree:
    """The same tree without weight and springs, which is in equilibrium at rest."""
    bodies = tuple(body if is_zero(body.stiffness) else replace(body, stiffness=0.0) for body in tree.bodies)
    return replace(tree, bodies=bodies, gravity=ZERO3)


def joint_passive_efforts(body: Body, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Passive efforts of one joint, for its positions and velocities."""
    efforts = [lost_effort(body, rate) + pull for rate, pull in zip(v, spring_effort(body, q), strict=True)]
    if is_zero(body.armature) or not body.joint.leaves_free():
        return efforts
    # Armature of a free joint is constant in the world's axes, while its velocities are in the body's.
    turning = body.joint.commutator(v, [body.armature * rate for rate in v])
    return [effort + turned for effort, turned in zip(efforts, turning, strict=True)]


def passive_efforts(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Passive efforts of all joints in the order of the model."""
    return gathered(tree, (joint_passive_efforts(b, b.positions(q), b.velocities(v)) for b in tree.bodies))
