# SPDX-License-Identifier: Apache-2.0
"""Forward and inverse dynamics with equal limbs in lanes, by the steps of articulated-body and Newton-Euler algorithms.

Sub-chains are eliminated one by one and assembled at the body that carries them (Takahashi 2012, sec. 4.2). Here equal
sub-chains are eliminated together, and the assembly is a sum over their lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms.aba import Pivot, eliminate_joint, joint_acceleration
from ada_dynamics.algorithms.kinematics import Moving, at_rest, moving_outward, transforms
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import joint_efforts, needed_force, rotor_efforts
from ada_dynamics.hybrid.lane_tree import LaneTree, lane_tree
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """Joint accelerations, as in `aba.forward_dynamics`."""
    limbs = lane_tree(tree)
    bodies = limbs.tree.bodies
    q, v, tau = limbs.positions(q), limbs.rates(v), limbs.rates(tau)
    X = transforms(limbs.tree, q)
    effort = [t - p for t, p in zip(tau, passive_efforts(limbs.tree, q, v), strict=True)]
    wrench = _needed_wrenches(limbs, X, q, v, None, external or {})

    # Pass 2: inward, articulated inertias
    pivots: list[tuple[Pivot, ...]] = [()] * len(bodies)
    inertias: dict[int, ArticulatedInertia] = {}
    wrenches: dict[int, Force] = {}
    for body in reversed(bodies):
        i = body.index
        inertia, needed = ArticulatedInertia.of_rigid(body.inertia), wrench[i]
        for carried_inertia in limbs.seen_from_below(i, inertias):
            inertia = inertia + carried_inertia
        for carried_wrench in limbs.seen_from_below(i, wrenches):
            needed = needed + carried_wrench
        free = eliminate_joint(body, body.positions(q), effort[body.v], inertia, needed)
        pivots[i] = free.pivots
        inertias[i], wrenches[i] = X[i].to_parent(free.inertia), X[i].to_parent(free.wrench)

    # Pass 3: outward, accelerations
    rates: list[Scalar] = [0.0] * limbs.tree.nv
    acceleration: dict[int, Motion] = {WORLD: NO_MOTION}
    for body in bodies:
        i = body.index
        carried = X[i].to_child(limbs.from_above(i, acceleration))
        rates[body.v], acceleration[i] = joint_acceleration(body, body.positions(q), pivots[i], carried)
    return limbs.original_rates(rates)


def inverse_dynamics(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
    """Joint efforts, as in `rnea.inverse_dynamics`."""
    limbs = lane_tree(tree)
    q, v, a = limbs.positions(q), limbs.rates(v), limbs.rates(a)
    X = transforms(limbs.tree, q)
    needed = _needed_wrenches(limbs, X, q, v, a, {})
    tau = [p + r for p, r in zip(passive_efforts(limbs.tree, q, v), rotor_efforts(limbs.tree, a), strict=True)]
    carried: dict[int, Force] = {}
    for body in reversed(limbs.tree.bodies):
        i, total = body.index, needed[body.index]
        for wrench in limbs.seen_from_below(i, carried):
            total = total + wrench
        tau[body.v] = [t + e for t, e in zip(tau[body.v], joint_efforts(body, body.positions(q), total), strict=True)]
        carried[i] = X[i].to_parent(total)
    return limbs.original_rates(tau)


def _needed_wrenches(
    limbs: LaneTree,
    X: Sequence[Transform],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None,
    external: Mapping[int, Force],
) -> list[Force]:
    """Wrench of inertia and weight of each body, minus the external wrench.

    Args:
        limbs: the mechanism.
        X: pose of every body in its parent.
        q: positions.
        v: velocities.
        a: joint accelerations; None means zero.
        external: wrenches by body of the original tree.
    """
    moving: dict[int, Moving] = {WORLD: at_rest(-limbs.tree.gravity)}
    result = []
    for body in limbs.tree.bodies:
        i, rates = body.index, None if a is None else body.velocities(a)
        above = limbs.from_above(i, moving)
        moving[i] = moving_outward(body, X[i], body.positions(q), body.velocities(v), rates, above)
        result.append(needed_force(body.inertia, moving[i]) - limbs.of_members(i, external, NO_FORCE))
    return result
