# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics with loops in joint space: constraints in use, and one sparse symmetric elimination.

Every algorithm for loops is an order, or a choice of blocks, of elimination in one system:

    [ M  Jᵀ ] [ a  ]   [ τ - h ]
    [ J  0  ] [ -λ ] = [  -γ   ]

With M and h from Lagrange's method these are his equations with multipliers (Takahashi 2012, sec. 2.3).

The constraints in use must be independent. If those of a loop are dependent, and the dependent ones change with the
configuration (a Bennett linkage), linear combinations replace them: a plan has their number, and their weights are
inputs that are updated during a simulation (`constraints.elimination`). Off the loop constraints, as in the
stages of an integrator, dependent constraints are inconsistent; fixed combinations remain consistent. Redundant
constraints can also all be used if each is slightly compliant: see `solved_with_compliance`.

A plan is made once per model, on numbers; the algorithms use it with any scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from ada_dynamics.algorithms.closure import ConstraintRow, combined, loop_rows
from ada_dynamics.algorithms.crba import equations_of_motion
from ada_dynamics.algorithms.kinematics import Moving, at_rest, inward_sums, motions, transforms, world_and_bodies
from ada_dynamics.algorithms.ldl import Factors, SymmetricMatrix, factorise
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import gather_efforts, needed_force, rotor_efforts
from ada_dynamics.model.tree import WORLD, Loop, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Plan:
    """Elimination plan for the loops of a mechanism.

    Unknowns are numbered: the velocities, followed by one multiplier per constraint or combination in use, loop by
    loop.
    """

    rows: Mapping[str, tuple[int, ...]]  # constraint rows in use by loop, as indices into `Loop.rows`
    order: tuple[int, ...]  # of elimination of all unknowns
    combinations: Mapping[str, int] = field(default_factory=dict)  # by loop, number that replaces its rows

    @property
    def constraint_count(self) -> int:
        """Number of constraints, or combinations, in use."""
        return sum(self.combinations.get(name, len(rows)) for name, rows in self.rows.items())

    @property
    def weights(self) -> int:
        """Number of weights of all combinations."""
        return sum(count * len(self.rows[name]) for name, count in self.combinations.items())

    def in_use(
        self,
        tree: Tree,
        weights: Sequence[Scalar],
        of_loop: Callable[[Loop, tuple[int, ...]], Sequence[Item]],
        combine: Callable[[Sequence[Scalar], Sequence[Item]], Item],
    ) -> list[Item]:
        """One item for each constraint or combination in use.

        Args:
            tree: the mechanism.
            weights: weights of the combinations, loop by loop, row by row.
            of_loop: returns the items of the constraint rows of a loop.
            combine: combines several items by weights.
        """
        left = iter(weights)
        found: list[Item] = []
        for loop in tree.loops:
            items = of_loop(loop, self.rows[loop.name])
            if loop.name in self.combinations:
                items = [combine([next(left) for _ in items], items) for _ in range(self.combinations[loop.name])]
            found += items
        return found


class ConstrainedSolution(NamedTuple):
    """Accelerations and multipliers of a mechanism with loops, and their pivots."""

    accelerations: list[Scalar]
    multipliers: list[Scalar]  # λ: force or moment of each condition on the loop joint's child
    pivots: list[Scalar]  # of the multipliers, positive where regular
    inverse_inertias: list[Scalar]  # 1/D of each velocity
    last_change: Sequence[Scalar] = ()  # of the accelerations, by the last refinement


def planned_rows(
    tree: Tree,
    X: Sequence[Transform],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    moving: Mapping[int, Moving],
    plan: Plan,
    weights: Sequence[Scalar] = (),
) -> list[ConstraintRow]:
    """The constraint rows in use, in the order of their multipliers."""
    return plan.in_use(tree, weights, lambda loop, rows: loop_rows(tree, X, q, v, moving, loop, rows), combined)


# --- elimination ------------------------------------------------------------------------------------------------------
LinearSystem = tuple[SymmetricMatrix, list[Scalar]]

REFINEMENTS = 3  # of compliant constraints


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
    return _closed(nv, factors.solve(right), factors), factors


def solved_with_compliance(
    nv: int, plan: Plan, equations: LinearSystem, compliance: Sequence[Scalar]
) -> ConstrainedSolution:
    """The solution of a `system` with redundant constraints: J a - E (-λ) = -γ instead of J a = -γ.

    Each refinement solves for the residual E (-λ) of the constraints: along a singular value σ of L⁻¹ Jᵀ it multiplies
    the error by e / (σ² + e). The multipliers have the least norm with respect to E.

    Args:
        nv: number of velocities.
        plan: of all constraints, multipliers last.
        equations: the system.
        compliance: diagonal of E.
    """
    matrix, right = equations
    for c, e in enumerate(compliance):
        matrix.add(nv + c, nv + c, -e)
    factors = factorise(matrix, plan.order)
    solution = step = factors.solve(right)
    for _ in range(REFINEMENTS):
        left = [-(e * y) for e, y in zip(compliance, step[nv:], strict=True)]
        step = factors.solve([*[0.0] * nv, *left])
        solution = [x + y for x, y in zip(solution, step, strict=True)]
    return _closed(nv, solution, factors)._replace(last_change=step[:nv])


def _closed(nv: int, solution: Sequence[Scalar], factors: Factors) -> ConstrainedSolution:
    multipliers, pivots = [-x for x in solution[nv:]], [-p for p in factors.pivots[nv:]]
    return ConstrainedSolution(list(solution[:nv]), multipliers, pivots, list(factors.inverse[:nv]))


def residual(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    plan: Plan | None = None,
    multipliers: Sequence[Scalar] = (),
) -> tuple[list[Scalar], list[Scalar]]:
    """M a + h - Jᵀλ and J a + γ: the residual of the equations of motion with multipliers, plus τ.

    Its first derivatives are those of forward and inverse dynamics, with and without loops: with the factors of [M Jᵀ;
    J 0], the derivative of [a; -λ] is minus the solution for the derivative of the residual.
    """
    X, base = transforms(tree, q), at_rest(-tree.gravity)
    moving = motions(tree, X, q, v, a, base)
    own = [needed_force(body.inertia, m) for body, m in zip(tree.bodies, moving, strict=True)]
    every = {WORLD: base, **dict(enumerate(moving))}
    rows = planned_rows(tree, X, q, v, every, plan) if plan and plan.rows else []
    for row, x in zip(rows, multipliers, strict=True):
        for i, wrench in row.wrenches.items():
            own[i] = own[i] - x * wrench
    tau = gather_efforts(tree, q, inward_sums(tree, X, own))
    parts = zip(tau, passive_efforts(tree, q, v), rotor_efforts(tree, a), strict=True)
    return [needed + passive + rotor for needed, passive, rotor in parts], [row.rate for row in rows]
