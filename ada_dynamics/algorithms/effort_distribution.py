# SPDX-License-Identifier: Apache-2.0
"""Distribution of joint efforts to the actuated joints of a mechanism with loops.

All τ = τ₀ - Jᵀ λ have the same effect. The smallest one without efforts on passive joints is E y, with

    [ E + Jᵀ J  Jᵀ ] [ y ]   [ τ₀ ]
    [ J         0  ] [ λ ] = [ 0  ]

where E is one for each actuated velocity. The term Jᵀ (J y) is zero, but makes the pivots of passive joints regular if
the actuated joints determine all motions y that the loops allow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ada_dynamics.algorithms.kinematics import standing_still, transforms
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan, planned_rows, solved, solved_with_compliance
from ada_dynamics.algorithms.ldl import SymmetricMatrix
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar


class Sharing(NamedTuple):
    """Constraints and actuated velocities of a distribution of efforts.

    Attributes:
        plan: constraints in use, and the order of elimination.
        units: divisors of the rows of J, which scale them to about one.
        motors: actuated velocities.
        compliance: of redundant constraints (`kkt.solved_with_compliance`); empty for independent constraints.
    """

    plan: Plan
    units: Sequence[float]
    motors: Collection[int]
    compliance: Sequence[float] = ()


def solve(
    tree: Tree, q: Sequence[Scalar], effort: Sequence[Scalar], sharing: Sharing
) -> tuple[list[Scalar], ConstrainedSolution]:
    """Efforts of all joints for efforts τ₀ on them, and the solution in y and λ with its pivots."""
    plan, nv, rest = sharing.plan, tree.nv, no_velocity(tree)
    X = transforms(tree, q)
    rows = planned_rows(tree, X, q, rest, standing_still(tree), plan)
    matrix = SymmetricMatrix(nv + plan.constraint_count)
    for i in sharing.motors:
        matrix.add(i, i, 1.0)
    for c, (row, unit) in enumerate(zip(rows, sharing.units, strict=True)):
        scaled = sorted((k, x * (1.0 / unit)) for k, x in row.columns.items())
        for at, (k, x) in enumerate(scaled):
            matrix.add(nv + c, k, x)
            for j, y in scaled[: at + 1]:
                matrix.add(k, j, x * y)
    equations = matrix, [*effort, *[0.0] * plan.constraint_count]
    compliance = sharing.compliance
    found = solved_with_compliance(nv, plan, equations, compliance) if compliance else solved(nv, plan, equations)[0]
    return [y if i in sharing.motors else 0.0 for i, y in enumerate(found.accelerations)], found
