# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the articulated-body algorithm (Takahashi 2012, sec. 2.2.2, eqs. 2.23-2.34).

The velocity terms are separated first: with zero joint accelerations, the Newton-Euler pass gives the wrench P of each
body. The remainder is linear in the accelerations and independent of velocities, so the articulated-body passes run on
plain operators. Each velocity of a joint is eliminated separately, with a scalar pivot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ada_dynamics.algorithms.kinematics import at_rest, motions, transforms
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, Scalar


class Pivot(NamedTuple):
    """An eliminated velocity: U/D and u/D of eqs. 2.31-2.33."""

    U_over_D: Force
    u_over_D: Scalar


class Eliminated(NamedTuple):
    """A body whose joint velocities are eliminated: inertia and wrench for the parent, and factors for pass 3."""

    inertia: ArticulatedInertia
    wrench: Force
    pivots: tuple[Pivot, ...]
    inverse_D: tuple[Scalar, ...]  # 1/D of each velocity, for loop constraints


def eliminate_joint(
    body: Body,
    q: Sequence[Scalar],
    effort: Sequence[Scalar],
    inertia: ArticulatedInertia,
    wrench: Force,
    added_armature: Sequence[Scalar] | None = None,
) -> Eliminated:
    """Pass 2 for one body: eliminate the velocities of its joint (eqs. 2.26-2.34), in the frame of the body.

    U = I^A S, D = Sᵀ U (+ armature), u = τ - Sᵀ P; the parent receives I^A - U Uᵀ/D and P + U u/D.
    """
    pivots = []
    inverses = []
    for j, (s, tau) in enumerate(zip(body.joint.subspace(q), effort, strict=True)):
        U = inertia @ s
        armature = body.armature if added_armature is None else body.armature + added_armature[j]
        inverse_D = 1.0 / (s @ U + armature)
        u = tau - s @ wrench
        scaled = inverse_D * U
        inertia = inertia.less_outer(U, scaled)
        wrench = wrench + u * scaled
        pivots.append(Pivot(scaled, inverse_D * u))
        inverses.append(inverse_D)
    return Eliminated(inertia, wrench, tuple(pivots), tuple(inverses))


def articulated_bodies(tree: Tree, added: Mapping[int, ArticulatedInertia] | None = None) -> list[ArticulatedInertia]:
    """Inertia of the bodies before any joint is eliminated, including `added` (see `forward_dynamics`)."""
    inertia = [ArticulatedInertia.of_rigid(body.inertia) for body in tree.bodies]
    for i, more in (added or {}).items():
        inertia[i] = inertia[i] + more
    return inertia


def eliminated_bodies(tree: Tree, X: Sequence[Transform], q: Sequence[Scalar]) -> list[Eliminated]:
    """Pass 2 for all bodies without wrenches and efforts: inertias and factors of a configuration."""
    inertia, found = articulated_bodies(tree), dict[int, Eliminated]()
    for body in reversed(tree.bodies):
        i, p, still = body.index, body.parent, [ZERO] * body.joint.nv
        found[i] = eliminate_joint(body, body.positions(q), still, inertia[i], NO_FORCE)
        if p != WORLD:
            inertia[p] = inertia[p] + X[i].to_parent(found[i].inertia)
    return [found[body.index] for body in tree.bodies]


def joint_acceleration(
    body: Body, q: Sequence[Scalar], pivots: Sequence[Pivot], carried: Motion
) -> tuple[list[Scalar], Motion]:
    """Pass 3 for one body: accelerations of its joint and of the body.

    q̈ = u/D - (U/D) . a, a + S q̈; backwards through the velocities of the joint. `carried` is the acceleration of the
    parent, transformed to the body.
    """
    subspace = body.joint.subspace(q)
    result: list[Scalar] = [0.0] * len(subspace)
    # The velocity eliminated last does not depend on the other ones.
    for i in range(len(subspace) - 1, -1, -1):
        rate = pivots[i].u_over_D - carried @ pivots[i].U_over_D
        result[i] = rate
        carried = carried + rate * subspace[i]
    return result, carried


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
    added: Mapping[int, ArticulatedInertia] | None = None,
    added_armature: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Compute the joint accelerations; mimicking joints are not supported.

    With `added` (A, by body) and `added_armature` (R, by velocity) they solve (M + Σ JᵀAJ + R) a = τ - h: forces that
    depend on the acceleration, as in a linearly implicit step (see `contact.contact_loads`).
    """
    X = transforms(tree, q)
    effort = [t - p for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]

    # Pass 1: outward, wrenches with zero joint accelerations
    biased = motions(tree, X, q, v, None, at_rest(-tree.gravity))
    wrench = [needed_force(b.inertia, m) for b, m in zip(tree.bodies, biased, strict=True)]
    for i, given in (external or {}).items():
        wrench[i] = wrench[i] - given

    # Pass 2: inward, articulated inertias
    inertia = articulated_bodies(tree, added)
    pivots: list[tuple[Pivot, ...]] = [()] * len(tree.bodies)
    for body in reversed(tree.bodies):
        i, p = body.index, body.parent
        rotors = None if added_armature is None else added_armature[body.v]
        free = eliminate_joint(body, body.positions(q), effort[body.v], inertia[i], wrench[i], rotors)
        pivots[i] = free.pivots
        if p != WORLD:
            inertia[p] = inertia[p] + X[i].to_parent(free.inertia)
            wrench[p] = wrench[p] + X[i].to_parent(free.wrench)

    # Pass 3: outward, accelerations
    result: list[Scalar] = [0.0] * tree.nv
    acceleration: list[Motion] = []
    for body in tree.bodies:
        i = body.index
        carried = NO_MOTION if body.parent == WORLD else X[i].to_child(acceleration[body.parent])
        rates, own = joint_acceleration(body, body.positions(q), pivots[i], carried)
        acceleration.append(own)
        result[body.v] = rates
    return result
