# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics with loops, by the first tier that can: fast, robust, or on numbers.

In singular poses accelerations do not depend smoothly on the state, and there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import SingularPoseError
from ada_dynamics.jit import Kernel
from ada_dynamics.loops import singular

if TYPE_CHECKING:
    from ada_dynamics.dynamics.closed import ClosedDynamics

Changes = tuple[Array, Array, Array]  # of the accelerations, by q, v and τ

SPARSE = "kkt sparse"  # the candidate with the least fill, which all right sides go through
LATE = "late"  # the robust one


def equations(closed: ClosedDynamics, candidate: str = SPARSE) -> quantities.Equations:
    """The equations of motion in the order of a candidate."""
    solver = closed_quantities.elimination(closed.tree, closed.plans, candidate)
    return quantities.closed_equations(closed.tree, closed.plans, solver)


def rescue(closed: ClosedDynamics, inputs: Sequence[Array], is_batch: bool) -> Changes:
    """Derivatives where some state stopped the fast tier.

    Raises:
        SingularPoseError: a state is in a singular pose; the message says which one, and names the loops.
    """
    if not is_batch:
        return _of_state(closed, *map(np.ascontiguousarray, inputs))
    found = []
    for i, state in enumerate(zip(*inputs, strict=True)):
        try:
            found.append(_of_state(closed, *map(np.ascontiguousarray, state)))
        except SingularPoseError as problem:
            raise SingularPoseError(f"state {i}: {problem}") from None
    dq, dv, du = (np.array(parts) for parts in zip(*found, strict=True))
    return dq, dv, du


def _of_state(closed: ClosedDynamics, q: Array, v: Array, tau: Array) -> Changes:
    for candidate in () if closed.plans.is_dense_only else (SPARSE, LATE):
        make = lambda c=candidate: quantities.forward_derivatives(equations(closed, c))  # noqa: E731
        kernel = closed.kernels.get(f"derivatives {candidate}", make)
        found, status = kernel.single_status(q, v, tau)
        if not status:
            dq, dv, du = found
            return dq, dv, du
    return on_numbers(closed, q, v, tau)


def on_numbers(closed: ClosedDynamics, q: Array, v: Array, tau: Array) -> Changes:
    """By singular values of the conditions."""
    n, system = closed.model.nv, closed.system(q, v, tau)
    a, multipliers = regular(closed, system, v, lambda: closed.rates(q, v))
    by_q, by_v = residual(closed).single(q, v, a, multipliers)
    dr = np.concatenate([by_q, by_v, -np.eye(n + len(system.J), n)], axis=1)
    dq, dv, du = np.split(accelerated(closed, system, dr), 3, axis=1)
    return dq, dv, du


def regular(
    closed: ClosedDynamics, system: singular.System, v: Array, rates: Callable[[], singular.Rates]
) -> tuple[Array, Array]:
    """Accelerations and multipliers where they depend smoothly on the state.

    Raises:
        SingularPoseError: they do not.
    """
    solution = singular.solve(system, closed.study.rank, v, rates)
    if solution.is_singular:
        loops = ", ".join(sorted(closed.lost_names(solution)))
        raise SingularPoseError(
            f"model {closed.model.name!r} is in a singular pose (loops {loops}): its accelerations have no derivatives "
            "there. Take a pose beside it; the branches are told by `tangents`."
        )
    return solution.accelerations, solution.multipliers / closed.weights


def accelerated(closed: ClosedDynamics, system: singular.System, dr: Array) -> Array:
    """Changes of the accelerations with those of the residual, a column each: M da - Jᵀ dλ = -dr₁, J da = -dr₂."""
    n, rank = len(system.M), closed.study.rank
    U, s, Vt = np.linalg.svd(system.J)
    held, N = Vt[:rank].T, Vt[rank:].T
    da = held @ ((U[:, :rank].T @ (-dr[n:] / closed.weights[:, None])) / s[:rank, None])
    da += N @ np.linalg.solve(N.T @ system.M @ N, N.T @ (-dr[:n] - system.M @ da))
    return np.asarray(da, dtype=np.float64)


def multiplier_changes(
    closed: ClosedDynamics,
    state: tuple[Array, Array],
    held: tuple[Array, Array],
    changes: tuple[Array, Array, Array],
    d_a: Array,
) -> Array:
    """Changes dλ of the multipliers of all conditions that act: Jᵀ dλ = dr₁ with the multipliers as they are.

    Args:
        closed: the mechanism.
        state: q and v.
        held: accelerations and multipliers there.
        changes: of q, v and τ, a column for each.
        d_a: what becomes of the accelerations.
    """
    n, w = closed.model.nv, closed.weights
    d_q, d_v, d_tau = changes
    by_q, by_v = residual(closed).single(*state, *held)
    system = closed.system(*state, np.zeros(n))
    left = system.M @ d_a + by_q[:n] @ d_q + by_v[:n] @ d_v - d_tau
    U, s, Vt = np.linalg.svd(system.J, full_matrices=False)
    rank = closed.study.rank
    return np.asarray(U[:, :rank] @ ((Vt[:rank] @ left) / s[:rank, None]) / w[:, None], dtype=np.float64)


def residual(closed: ClosedDynamics) -> Kernel:
    """Derivatives of the residual with all conditions that act."""
    plan = Plan(closed.plans.rows, ())
    tag = closed_quantities.digest(closed.tree, closed.plans, plan)
    make = lambda: quantities.residual_derivatives(closed.tree, plan, f"residual_derivatives_{tag}")  # noqa: E731
    return closed.kernels.get("closed residual derivatives", make)
