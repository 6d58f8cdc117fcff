# SPDX-License-Identifier: Apache-2.0
"""Loop constraints in use, and the order in which velocities and multipliers are eliminated.

Every algorithm for loops is an order, or a choice of blocks, of elimination in one sparse symmetric system:

    [ M  Jᵀ ] [ a  ]   [ τ - h ]
    [ J  0  ] [ -λ ] = [  -γ   ]

The constraints in use must be independent. If those of a loop are dependent, and the dependent ones change with the
configuration (a Bennett linkage), linear combinations replace them: a plan has their number, and their weights are
inputs that are updated during a simulation (`constraints.elimination`). Off the loop constraints, as in the
stages of an integrator, dependent constraints are inconsistent; fixed combinations remain consistent.

A plan is made once per model, on numbers; the algorithms use it with any scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ada_dynamics.algorithms.closure import ConstraintRow, combined, loop_rows
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.model.tree import Loop, Tree
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
