# SPDX-License-Identifier: Apache-2.0
"""Which conditions of the loops are in use, and in which order velocities and multipliers are eliminated.

Every way to close loops is an order, or a choice of blocks, of elimination in one sparse symmetric system:

    [ M   Jᵀ ] [ a  ]   [ τ - h ]
    [ J  -ε  ] [ -λ ] = [ -γ - ε λ₀ ... ]

A plan is made once per model, on numbers; the algorithms follow it over any scalars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ada_dynamics.algorithms.closure import Row, loop_rows
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform


class UnusableOrderError(Exception):
    """An order of elimination that couples more than the numbers it was found on have shown."""


@dataclass(frozen=True)
class Plan:
    """How to close the loops of a mechanism.

    Unknowns are numbered: the velocities, then one multiplier per condition in use, loop by loop.
    """

    rows: Mapping[str, tuple[int, ...]]  # conditions in use by loop, as indices into `closure.row_kinds`
    order: tuple[int, ...]  # of elimination of all unknowns
    compliance: tuple[float, ...] = ()  # ε of each condition; none where all conditions are independent
    passes: int = 1  # of the proximal iteration; more than one only with compliance

    @property
    def conditions(self) -> int:
        """Number of conditions in use."""
        return sum(len(rows) for rows in self.rows.values())


class Closed(NamedTuple):
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
) -> list[Row]:
    """The conditions in use, in the order of their multipliers."""
    return [row for loop in tree.loops for row in loop_rows(tree, X, q, v, moving, loop, plan.rows[loop.name])]
