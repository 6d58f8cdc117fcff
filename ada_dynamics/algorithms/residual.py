# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics with multipliers as one residual, which vanishes where a mechanism moves as it must.

    r = [ M a + h - τ - Jᵀλ ;  J a + γ ]

Its first derivatives are those of forward and of inverse dynamics, with loops and without: with the factors of the
matrix [M Jᵀ; J 0], the change of [a; -λ] with anything is minus the solution for the change of r.
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.elimination import Plan, planned_rows
from ada_dynamics.algorithms.kinematics import at_rest, motions, transforms
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import gather_efforts, needed_force, rotor_efforts, wrenches_inward
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.vector import Scalar


def efforts_and_conditions(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    plan: Plan | None = None,
    multipliers: Sequence[Scalar] = (),
    weights: Sequence[Scalar] = (),
) -> tuple[list[Scalar], list[Scalar]]:
    """M a + h - Jᵀλ and J a + γ."""
    X = transforms(tree, q)
    base = at_rest(-tree.gravity)
    moving = motions(tree, X, q, v, a, base)
    own = [needed_force(body.inertia, m) for body, m in zip(tree.bodies, moving, strict=True)]
    rows = [] if plan is None else planned_rows(tree, X, q, v, {WORLD: base, **dict(enumerate(moving))}, plan, weights)
    for row, x in zip(rows, multipliers, strict=True):
        for i, wrench in row.wrenches.items():
            own[i] = own[i] - x * wrench
    tau = gather_efforts(tree, q, wrenches_inward(tree, X, own))
    parts = zip(tau, passive_efforts(tree, q, v), rotor_efforts(tree, a), strict=True)
    return [needed + passive + rotor for needed, passive, rotor in parts], [row.rate for row in rows]
