# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy, and velocities scaled to conserve energy."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.algorithms.centroidal import first_moment, momentum_about_origin
from ada_dynamics.algorithms.kinematics import transforms, velocities
from ada_dynamics.algorithms.passive import stored_energy
from ada_dynamics.algorithms.rnea import gather_efforts, joint_wrenches, rotor_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import ZERO, Scalar


def kinetic_of_links(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """½ Σ V . I V [J]."""
    moved = velocities(tree, transforms(tree, q), q, v)
    return 0.5 * sum((V @ (b.inertia @ V) for b, V in zip(tree.bodies, moved, strict=True)), ZERO)


def kinetic(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """Kinetic energy of links and rotors, ½ Σ V . I V + ½ Σ armature v² [J]."""
    rotors = sum((r * x for r, x in zip(rotor_efforts(tree, v), v, strict=True)), ZERO)
    return kinetic_of_links(tree, q, v) + 0.5 * rotors


def potential(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """Potential energy of weight and springs [J]."""
    return potential_of_weight(tree, q) + stored_energy(tree, q)


def potential_of_weight(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """-g . Σ m c, zero at the origin of the world [J]."""
    return -(tree.gravity @ first_moment(tree, q))


LARGEST, LEAST = 4.0, 1e-6  # largest and smallest factor of the kinetic energy
_TINY = 1e-30  # [J²], for 0/0 at rest

Vector = Sequence[Scalar]


def scaled_velocities(
    tree: Tree, before: tuple[Vector, Vector], a: Vector, held: Scalar, h: Scalar, after: tuple[Vector, Vector]
) -> list[Scalar]:
    """Velocities s v⁺ after a first-order step, scaled so that the energy changes by the work of the forces only.

    After v⁺ = v + h a and q⁺ = q + h q̇(v⁺), projected onto the loop constraints, the kinetic energy T has grown by
    about ½ h² aᵀ M a where velocities change direction: along loops and by Coriolis forces. Scaled by s,

        s² T(q⁺, v⁺) = T(q, v) + W,   W = h v̄ᵀ (M a + C v + g - Jᵀ λ) + [U - ½ h P]⁺ - [U - ½ h P],   v̄ = ½ (v + v⁺),

    where U is the work of weight, U̇ = P = -gᵀ v. The bracket retains the bounded error of a semi-implicit step of a
    robot with constant M, for which s = 1: T - U + ½ h P of a passive mechanism is constant.

    Args:
        tree: the mechanism.
        before: q and v.
        a: accelerations of the step.
        held: λᵀ J(q) v⁺; J v is zero.
        h: time step [s].
        after: q⁺ and v⁺, on the loop constraints.
    """
    (q, v), (q1, v1) = before, after
    inward = gather_efforts(tree, q, joint_wrenches(tree, q, v, a))
    efforts = [x + y for x, y in zip(inward, rotor_efforts(tree, a), strict=True)]
    work = 0.5 * h * (sum(((x + y) * f for x, y, f in zip(v, v1, efforts, strict=True)), ZERO) - held)
    fallen = tree.gravity @ (first_moment(tree, q1) - first_moment(tree, q))
    power, power1 = (tree.gravity @ momentum_about_origin(tree, *state).force for state in (before, after))
    T, T1, b = kinetic(tree, q, v), kinetic(tree, q1, v1), -0.5 * h * power1
    # s² T1 - s b = T + W: one Newton step for s² from 1. Near rest, where b is all of the slope, there is no step
    excess = T1 - b - (T + work + fallen + 0.5 * h * power)
    slope = 2.0 * T1 - b
    share = 1.0 - 2.0 * excess * slope / (slope * slope + b * b + _TINY)
    factor = expr.sqrt(expr.maximum(expr.minimum(share, LARGEST), LEAST))
    return [factor * x for x in v1]
