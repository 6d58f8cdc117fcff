# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics with loops in joint space: mass matrix, constraints, and one sparse symmetric elimination.

With M and h from Lagrange's method these are his equations with multipliers (Takahashi 2012, sec. 2.3). Redundant
constraints can all be used if each is slightly compliant: see `softened`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ada_dynamics.algorithms.crba import equations_of_motion
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.kinematics import at_rest, inward_sums, motions, transforms, world_and_bodies
from ada_dynamics.algorithms.ldl import Factors, SymmetricMatrix, factorise, solve_factorised
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import gather_efforts, needed_force, rotor_efforts
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Scalar

LinearSystem = tuple[SymmetricMatrix, list[Scalar]]

REFINEMENTS = 2  # of compliant constraints


def system(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    plan: Plan,
    external: Mapping[int, Force] | None = None,
    equations: Callable[..., LinearSystem] = equations_of_motion,
    rates: Sequence[Scalar] | None = None,
    weights: Sequence[Scalar] = (),
) -> LinearSystem:
    """[M Jᵀ; J 0] and [τ - h; -γ], in the unknowns [a; -λ]; `rates` replace γ."""
    nv = tree.nv
    X = transforms(tree, q)
    M, rest = equations(tree, q, v, tau, external) if external else equations(tree, q, v, tau)
    matrix = SymmetricMatrix(nv + plan.constraint_count)
    for i, row in enumerate(M.lower_rows()):
        for j, value in row.items():
            matrix.add(i, j, value)
    right = list(rest)
    for c, condition in enumerate(planned_rows(tree, X, q, v, world_and_bodies(tree, X, q, v), plan, weights)):
        for j, value in condition.columns.items():
            matrix.add(nv + c, j, value)
        right.append(-(condition.rate if rates is None else rates[c]))
    return matrix, right


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    plan: Plan,
    external: Mapping[int, Force] | None = None,
    equations: Callable[..., LinearSystem] = equations_of_motion,
    added: Mapping[int, ArticulatedInertia] | None = None,
    added_armature: Sequence[Scalar] | None = None,
    rates: Sequence[Scalar] | None = None,
    weights: Sequence[Scalar] = (),
) -> ConstrainedSolution:
    """Compute accelerations and multipliers.

    `added` and `added_armature` are those of `aba.forward_dynamics`, for the default equations only. With `rates` in
    place of γ, the constraints are J a = -rates; `weights` are those of the combinations of the plan.
    """
    if added is not None or added_armature is not None:
        equations = partial(equations, added=added, added_armature=added_armature)
    return solved(tree.nv, plan, system(tree, q, v, tau, plan, external, equations, rates, weights))[0]


def solved(nv: int, plan: Plan, equations: LinearSystem) -> tuple[ConstrainedSolution, Factors]:
    """The solution of a `system`, and the factors of its matrix."""
    matrix, right = equations
    factors = factorise(matrix, plan.order)
    return _closed(nv, solve_factorised(factors, right), factors), factors


def softened(nv: int, plan: Plan, equations: LinearSystem, softness: Sequence[Scalar]) -> ConstrainedSolution:
    """The solution of a `system` with redundant constraints: J a - E (-λ) = -γ instead of J a = -γ.

    Each refinement solves for the residual E (-λ) of the constraints: along a singular value σ of L⁻¹ Jᵀ the final
    error is (e / (σ² + e))³. The multipliers have the least norm with respect to E.

    Args:
        nv: number of velocities.
        plan: of all constraints, multipliers last.
        equations: the system.
        softness: diagonal of E.
    """
    matrix, right = equations
    for c, e in enumerate(softness):
        matrix.add(nv + c, nv + c, -e)
    factors = factorise(matrix, plan.order)
    solution = step = solve_factorised(factors, right)
    for _ in range(REFINEMENTS):
        left = [-(e * y) for e, y in zip(softness, step[nv:], strict=True)]
        step = solve_factorised(factors, [*[0.0] * nv, *left])
        solution = [x + y for x, y in zip(solution, step, strict=True)]
    return _closed(nv, solution, factors)


def _closed(nv: int, solution: Sequence[Scalar], factors: Factors) -> ConstrainedSolution:
    multipliers, pivots = [-x for x in solution[nv:]], [-p for p in factors.pivots[nv:]]
    return ConstrainedSolution(list(solution[:nv]), multipliers, pivots, factors.inverse[:nv])


def residual(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    plan: Plan | None = None,
    multipliers: Sequence[Scalar] = (),
    weights: Sequence[Scalar] = (),
) -> tuple[list[Scalar], list[Scalar]]:
    """M a + h - Jᵀλ and J a + γ: the residual of the equations of motion with multipliers, plus τ.

    Its first derivatives are those of forward and inverse dynamics, with and without loops: with the factors of [M Jᵀ;
    J 0], the derivative of [a; -λ] is minus the solution for the derivative of the residual.
    """
    X = transforms(tree, q)
    base = at_rest(-tree.gravity)
    moving = motions(tree, X, q, v, a, base)
    own = [needed_force(body.inertia, m) for body, m in zip(tree.bodies, moving, strict=True)]
    rows = [] if plan is None else planned_rows(tree, X, q, v, {WORLD: base, **dict(enumerate(moving))}, plan, weights)
    for row, x in zip(rows, multipliers, strict=True):
        for i, wrench in row.wrenches.items():
            own[i] = own[i] - x * wrench
    tau = gather_efforts(tree, q, inward_sums(tree, X, own))
    parts = zip(tau, passive_efforts(tree, q, v), rotor_efforts(tree, a), strict=True)
    return [needed + passive + rotor for needed, passive, rotor in parts], [row.rate for row in rows]
