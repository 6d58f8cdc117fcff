# SPDX-License-Identifier: Apache-2.0
"""Least efforts of the motors of a mechanism with loops that do what efforts on all joints of its tree would.

Loops pass efforts on: all τ = wanted - Jᵀ λ do the same. The least one without efforts on passive joints is E y, with

    [ E + Jᵀ J  Jᵀ ] [ y ]   [ wanted ]
    [ J         0  ] [ λ ] = [ 0      ]

where E has a one for each motor: Jᵀ (J y) is nothing, but makes the pivots of passive joints regular where the motors
drive all motions y that the loops allow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.kinematics import standing_still, transforms
from ada_dynamics.algorithms.kkt import LinearSystem, softened, solved
from ada_dynamics.algorithms.ldl import SymmetricMatrix
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar


class Sharing(NamedTuple):
    """How efforts are shared.

    Attributes:
        plan: the conditions in use, and the order of elimination.
        units: of the conditions: J is divided by them, to be about one.
        motors: velocities of joints that have motors.
        softness: how far conditions that depend on each other give way (`kkt.softened`); none where they do not.
    """

    plan: Plan
    units: Sequence[float]
    motors: Collection[int]
    softness: Sequence[float] = ()


def system(tree: Tree, q: Sequence[Scalar], wanted: Sequence[Scalar], sharing: Sharing) -> LinearSystem:
    """The equations above, in y and λ."""
    plan, nv, rest = sharing.plan, tree.nv, no_velocity(tree)
    X = transforms(tree, q)
    rows = planned_rows(tree, X, q, rest, standing_still(tree), plan)
    matrix = SymmetricMatrix(nv + plan.conditions)
    for i in sharing.motors:
        matrix.add(i, i, 1.0)
    for c, (row, unit) in enumerate(zip(rows, sharing.units, strict=True)):
        scaled = sorted((k, x * (1.0 / unit)) for k, x in row.columns.items())
        for at, (k, x) in enumerate(scaled):
            matrix.add(nv + c, k, x)
            for j, y in scaled[: at + 1]:
                matrix.add(k, j, x * y)
    return matrix, [*wanted, *[0.0] * plan.conditions]


def solve(
    tree: Tree, q: Sequence[Scalar], wanted: Sequence[Scalar], sharing: Sharing
) -> tuple[list[Scalar], ConstrainedSolution]:
    """Efforts of all joints, and the solution in y and λ, whose pivots tell how good it is."""
    equations = system(tree, q, wanted, sharing)
    if sharing.softness:
        found = softened(tree.nv, sharing.plan, equations, sharing.softness)
    else:
        found = solved(tree.nv, sharing.plan, equations)[0]
    return [y if i in sharing.motors else 0.0 for i, y in enumerate(found.accelerations)], found
