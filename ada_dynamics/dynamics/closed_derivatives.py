# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics with loops, by the first tier that can: fast, robust, or on numbers.

In singular configurations accelerations do not depend smoothly on the state and have no derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.dynamics.closed import LATE, ClosedDynamics
from ada_dynamics.dynamics.derivative_quantities import Equations, of_equations, residual_derivatives
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.model.tree import for_efforts

SPARSE = "kkt sparse"  # the candidate with the least fill, which all right sides go through


def equations(closed: ClosedDynamics, candidate: str = SPARSE, smallest: float | None = None) -> Equations:
    """The equations of motion in the order of a candidate, guarded as by `closed_quantities.elimination`."""
    tree, plans = closed.tree, closed.plans
    solver = closed_quantities.elimination(tree, plans, candidate, smallest)
    tag = f"_closed_{solver.tag}_{closed_quantities.digest(tree, plans, solver.plan)}"
    return Equations(tree, for_efforts(tree), solver.plan, tag, solver.guards)


def rescue(closed: ClosedDynamics, name: str, inputs: Sequence[Array], is_batch: bool) -> Any:
    """Derivatives of forward dynamics, an array or a tuple of them, where some state stopped the fast tier.

    Raises:
        SingularConfigurationError: a state is singular; the message gives its index and the loops.
    """
    if not is_batch:
        return _at_state(closed, name, *map(np.ascontiguousarray, inputs))
    found = []
    for i, state in enumerate(zip(*inputs, strict=True)):
        try:
            found.append(_at_state(closed, name, *map(np.ascontiguousarray, state)))
        except SingularConfigurationError as problem:
            raise SingularConfigurationError(f"state {i}: {problem}", loop=problem.loop, field=f"q[{i}]") from None
    return tuple(map(np.array, zip(*found, strict=True))) if isinstance(found[0], tuple) else np.array(found)


def _at_state(closed: ClosedDynamics, name: str, *state: Array) -> Any:
    """A quantity of the equations by the fast order or by the robust one, or on numbers where neither serves."""
    smallest = None if name == "forward_hvp" else closed_quantities.EARLY_THRESHOLD  # as numbers lose fewer digits
    for candidate in () if closed.plans.is_dense_only else (SPARSE, LATE):
        tag = name if candidate == SPARSE else f"{name} {candidate}"
        make = partial(of_equations, equations(closed, candidate, smallest), name)
        found, status = closed.kernels.get(tag, make).single_status(*state)
        if not status:
            return found
    return _by_singular_values(closed, name, *state)


def _matrices(closed: ClosedDynamics, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
    """Derivatives by singular values of the constraint Jacobian: M da - Jᵀ dλ = -dr₁, J da = -dr₂.

    Raises:
        SingularConfigurationError: the accelerations do not depend smoothly on the state.
    """
    n, rank, (system, solution) = closed.model.nv, closed.analysis.rank, closed.solution(q, v, tau)
    a, x = solution.accelerations, -solution.multipliers
    if solution.is_singular:
        loops = ", ".join(sorted(closed.lost_names(solution)))
        if closed.plans.is_dense_only or closed.kernel(LATE, False, multipliers=True).single_status(q, v, tau)[1]:
            raise SingularConfigurationError(
                f"model {closed.model.name!r} is in a singular configuration (loops {loops}), where its accelerations "
                "have no derivatives. Use a configuration nearby; `branch_directions` returns the tangents of the "
                "branches.",
                loop=loops,
                field="q",
            )
        a, x = singular.whitened(system).truncated_solution(system, rank)
    plan = Plan(closed.plans.rows, ())
    tag = closed_quantities.digest(closed.tree, closed.plans, plan)
    make = partial(residual_derivatives, closed.tree, plan, f"residual_derivatives_{tag}")
    residual = closed.kernels.get("closed residual derivatives", make)
    by_q, by_v = residual.single(q, v, a, -x / closed.weights)
    dr = np.concatenate([by_q, by_v, -np.eye(n + len(system.J), n)], axis=1)
    U, s, Vt = np.linalg.svd(system.J)
    held, N = Vt[:rank].T, Vt[rank:].T
    da = held @ ((U[:, :rank].T @ (-dr[n:] / closed.weights[:, None])) / s[:rank, None])
    da += N @ np.linalg.solve(N.T @ system.M @ N, N.T @ (-dr[:n] - system.M @ da))
    return tuple(np.split(da, 3, axis=1))


def _by_singular_values(closed: ClosedDynamics, name: str, q: Array, v: Array, tau: Array, *more: Array) -> Any:
    """A quantity of derivatives by their matrices; second derivatives are refused."""
    matrices = _matrices(closed, q, v, tau)
    if name == "forward_hvp":
        raise InputError(
            f"second derivatives of model {closed.model.name!r} need an elimination with independent constraints, and "
            "there is none in this configuration: its loops are redundant, or support massless links. Use a "
            "configuration nearby, or differences of `forward_vjp`.",
            loop=", ".join(closed.model.loop_names),
            field="q",
        )
    if name == "forward_jvp":
        return np.asarray(sum(d @ x for d, x in zip(matrices, more, strict=True)), dtype=np.float64)
    return tuple(more[0] @ d for d in matrices) if name == "forward_vjp" else matrices
