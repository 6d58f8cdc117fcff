# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics with loops as one kernel: efforts of the tree, shared among the motors.

By the conditions in use, or, of redundant loops on devices, by all that act. States that are refused, and mechanisms
whose motors do not drive all motions by themselves, are for `ClosedDynamics.efforts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.algorithms import effort_distribution, rnea
from ada_dynamics.algorithms.effort_distribution import Sharing
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.constraints.elimination import late
from ada_dynamics.dynamics.quantities.base import Quantity, body_wrenches, quantity, tag_of
from ada_dynamics.dynamics.quantities.closed import FIXED_THRESHOLD, SOFTNESS, usual_pivots
from ada_dynamics.expr import Traced, minimum
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.spatial.vector import Scalar

if TYPE_CHECKING:
    from ada_dynamics.dynamics.closed import ClosedDynamics

# Of a typical pivot. Smaller pivots are refused, and with them every singular configuration
# (`constraints.singular.SINGULAR`), where the efforts are those along a branch. At 1e-5 one of 35 such configurations
# of a Delta robot was accepted, at 1e-6 20 of them.
SMALLEST = 1e-4
_REGULAR = 1e-6  # smallest eigenvalue of E + JᵀJ, in the usual sample pose


def inverse(
    closed: ClosedDynamics,
    external: bool,
    by_all: bool = False,
    smallest: float = SMALLEST,
    judged: bool = False,
) -> Quantity | None:
    """Least efforts of the motors from q, v and a; None where numbers alone can tell.

    Args:
        closed: the mechanism.
        external: whether wrenches act on links.
        by_all: by all conditions that act, dependent ones too.
        smallest: the pivot, of a typical one, below which a state is refused.
        judged: give the guards' smallest value as an output, and refuse nothing.
    """
    sharing = None if closed.plans.is_dense_only else _sharing(closed, by_all)
    if sharing is None:
        return None
    tree, nv = closed.tree, closed.model.nv
    samples = [
        effort_distribution.solve(tree, q.tolist(), [0.0] * nv, sharing)[1] for q in closed.analysis.configurations
    ]
    # velocities' pivots, then those of the conditions
    usual = np.array([[*(1.0 / x for x in found.inverse_inertias), *found.pivots] for found in samples], dtype=float)
    is_redundant = closed.analysis.is_redundant
    typical = usual_pivots(usual.tolist()) if is_redundant else np.median(usual, axis=0).tolist()
    if min(typical) <= 0.0:
        return None
    short = for_efforts(tree)

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Traced:
        acting = None if wrenches is None else body_wrenches(tree, wrenches)
        wanted = rnea.inverse_dynamics(short, q, v, a, acting)
        tau, found = effort_distribution.solve(tree, q, wanted, sharing)
        guards = _guards(found, typical, smallest, is_redundant)
        if judged:
            return Traced({"tau": tau, "margin": [reduce(minimum, guards, 1.0)]})
        return Traced({"tau": tau}, guards)

    inputs = ("q", "v", "a", "wrenches") if external else ("q", "v", "a")
    shapes: dict[str, tuple[int, ...]] = {"tau": (nv,)}
    if judged:
        shapes["margin"] = (1,)
    name = f"inverse_shared_{tag_of(sharing, typical, smallest)}{'_external' * external}{'_judged' * judged}"
    return quantity(name, tree, inputs, shapes, body)


def _sharing(closed: ClosedDynamics, by_all: bool) -> Sharing | None:
    """None where the motors do not drive all motions that the loops allow."""
    plans, constraints, nv = closed.plans, closed.analysis.constraints, closed.model.nv
    chosen = range(len(plans.nontrivial)) if by_all else plans.independent
    units = closed.weights[list(chosen)] * constraints.length
    conditions = [plans.nontrivial[c] for c in chosen]
    jacobians = [constraints.jacobian(q)[conditions] / units[:, None] for q in closed.analysis.configurations]
    model = closed.model
    motors = tuple(velocities_of(model, [name for name in model.actuated if name != model.floating_joint]))
    E = np.diag(np.isin(np.arange(nv), motors).astype(float))
    blocks = [E + J.T @ J for J in jacobians]
    if np.median([np.linalg.eigvalsh(block)[0] for block in blocks]) < _REGULAR:
        return None
    # early multipliers would save half of the operations, and lose four digits more where E + JᵀJ is nearly singular
    plan = Plan(plans.rows if by_all else plans.late.rows, late(nv, len(chosen)))
    return Sharing(plan, tuple(units.tolist()), motors, (SOFTNESS,) * len(chosen) if by_all else ())


def _guards(found: ConstrainedSolution, typical: Sequence[float], smallest: float, is_redundant: bool) -> list[Scalar]:
    n = len(found.inverse_inertias)
    guards: list[Scalar] = []
    for inverse, scale in zip(found.inverse_inertias, typical[:n], strict=True):
        guards += [inverse, 1.0 / (smallest * scale) - inverse]
    shares = [pivot * (1.0 / scale) for pivot, scale in zip(found.pivots, typical[n:], strict=True)]
    if is_redundant:  # single pivots of dependent conditions say nothing
        return [*guards, reduce(mul, shares, 1.0) - FIXED_THRESHOLD]
    return [*guards, *(share - smallest for share in shares)]
