# SPDX-License-Identifier: Apache-2.0
"""Which conditions of the loops are in use, and in which order velocities and multipliers are eliminated.

Every way to close loops is an order, or a choice of blocks, of elimination in one sparse symmetric system:

    [ M  Jᵀ ] [ a  ]   [ τ - h ]
    [ J  0  ] [ -λ ] = [  -γ   ]

The constraints in use must be independent. Where those of a loop depend on each other, and the dependent ones change
with the configuration (a Bennett linkage), combinations of them take their place: a plan gives their number, and the
integrator updates their weights as the mechanism moves (`constraints.combinations`). Where a state violates the
constraints, as in the stages of an integrator, dependent constraints contradict each other; fixed combinations do not.

A plan is made once per model, on numbers; the algorithms follow it over any scalars.
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
    """How to close the loops of a mechanism.

    Unknowns are numbered: the velocities, then one multiplier per condition or combination in use, loop by loop.
    """

    rows: Mapping[str, tuple[int, ...]]  # conditions in use by loop, as indices into `closure.row_kinds`
    order: tuple[int, ...]  # of elimination of all unknowns
    combinations: Mapping[str, int] = field(default_factory=dict)  # by loop, how many take the place of its conditions

    @property
    def conditions(self) -> int:
        """Number of conditions, or combinations, in use."""
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
        """Something of each condition, or of each combination.

        Args:
            tree: the mechanism.
            weights: of the combinations, loop by loop, row by row.
            of_loop: gives it for the conditions of a loop.
            combine: makes one of several, by their weights.
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
    """Accelerations of a mechanism with loops, and how its loops are held."""

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
    """The conditions in use, in the order of their multipliers."""
    return plan.in_use(tree, weights, lambda loop, rows: loop_rows(tree, X, q, v, moving, loop, rows), combined)
