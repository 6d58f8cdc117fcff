# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by the recursive Newton-Euler algorithm, on accelerations of points.

Weight is an acceleration of the base; external wrenches act on bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms.kinematics import Moving, at_rest, inward_sums, motions, transforms
from ada_dynamics.algorithms.passive import gathered, passive_efforts
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Scalar, Vec3, cross, diagonal


def needed_force(inertia: RigidInertia, moving: Moving) -> Force:
    """Wrench about the origin that gives a body its motion (Takahashi 2012, eq. 2.1: I V̇ + P).

    f = m a + Ψ h and n = I ẇ + w x I w + h x a. The first two terms of n are the axial part of Ψ E with E = ½ tr(I) 1 -
    I: nᵢ = (ΨE)_kj - (ΨE)_jk for cyclic i, j, k, which reuses the products in Ψ.
    """
    m, h, about = inertia
    f = m * moving.a + moving.spin @ h
    half_trace = 0.5 * (about[0][0] + about[1][1] + about[2][2])
    E = diagonal(half_trace, half_trace, half_trace) - about
    P = moving.spin
    turn = Vec3(P[2] @ E[1] - P[1] @ E[2], P[0] @ E[2] - P[2] @ E[0], P[1] @ E[0] - P[0] @ E[1])
    return Force(turn + cross(h, moving.a), f)


def joint_efforts(body: Body, q: Sequence[Scalar], wrench: Force) -> list[Scalar]:
    """Sᵀ F: the efforts of a joint whose wrench is F (eq. 2.10)."""
    return [s @ wrench for s in body.joint.subspace(q)]


def gather_efforts(tree: Tree, q: Sequence[Scalar], wrenches: Sequence[Force]) -> list[Scalar]:
    """Efforts of all joints in the order of the model."""
    return gathered(tree, (joint_efforts(body, body.positions(q), wrenches[body.index]) for body in tree.bodies))


def joint_wrenches(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None,
    external: Mapping[int, Force] | None = None,
) -> list[Force]:
    """Wrench of every joint on its body, in the frame of the body.

    Args:
        tree: the mechanism.
        q: positions.
        v: velocities.
        a: accelerations; None means zero.
        external: wrench on a body about its origin, in its axes.
    """
    X = transforms(tree, q)
    moving = motions(tree, X, q, v, a, at_rest(-tree.gravity))
    own = [needed_force(b.inertia, m) for b, m in zip(tree.bodies, moving, strict=True)]
    for i, wrench in (external or {}).items():
        own[i] = own[i] - wrench
    return inward_sums(tree, X, own)


def inverse_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None,
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """Joint efforts for given accelerations, including armature, damping, friction and springs.

    Arguments are those of `joint_wrenches`.
    """
    tau = gather_efforts(tree, q, joint_wrenches(tree, q, v, a, external))
    tau = [t + p for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]
    return tau if a is None else [t + r for t, r in zip(tau, rotor_efforts(tree, a), strict=True)]


def rotor_efforts(tree: Tree, a: Sequence[Scalar]) -> list[Scalar]:
    """Armature times acceleration."""
    tau: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        factor = body.multiplier * body.multiplier * body.armature
        for i in range(body.v.start, body.v.stop):
            tau[i] = tau[i] + factor * a[i]
    return tau


def no_velocity(tree: Tree) -> tuple[float, ...]:
    """A velocity vector of constant zeros, which are folded."""
    return (0.0,) * tree.nv


def gravity_efforts(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Joint efforts that balance weight and springs at rest."""
    return inverse_dynamics(tree, q, no_velocity(tree), None)
