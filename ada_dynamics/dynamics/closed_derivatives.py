# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics with loops, by the first tier that can: fast, robust, or on numbers.

In singular configurations accelerations do not depend smoothly on the state and have no derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.jit import Kernel

Changes = tuple[Array, Array, Array]  # of the accelerations, by q, v and τ

SPARSE = "kkt sparse"  # the candidate with the least fill, which all right sides go through
LATE = "late"  # the robust one


def equations(closed: ClosedDynamics, candidate: str = SPARSE) -> quantities.Equations:
    """The equations of motion in the order of a candidate."""
    solver = closed_quantities.elimination(closed.tree, closed.plans, candidate)
    return quantities.closed_equations(closed.tree, closed.plans, solver)


def rescue(of_state: Callable[..., Any], inputs: Sequence[Array], is_batch: bool) -> Any:
    """Results of `of_state`, an array or a tuple of them, where some state stopped the fast tier.

    Raises:
        SingularConfigurationError: a state is singular; the message gives its index and the loops.
    """
    if not is_batch:
        return of_state(*map(np.ascontiguousarray, inputs))
    found = []
    for i, state in enumerate(zip(*inputs, strict=True)):
        try:
            found.append(of_state(*map(np.ascontiguousarray, state)))
        except SingularConfigurationError as problem:
            raise SingularConfigurationError(f"state {i}: {problem}", loop=problem.loop, field=f"q[{i}]") from None
    return tuple(map(np.array, zip(*found, strict=True))) if isinstance(found[0], tuple) else np.array(found)


def matrices(closed: ClosedDynamics, q: Array, v: Array, tau: Array) -> Changes:
    """Derivatives of the accelerations of a state."""
    found = _by_elimination(closed, "derivatives", quantities.forward_derivatives, q, v, tau)
    if found is None:
        return on_numbers(closed, q, v, tau)
    dq, dv, du = found
    return dq, dv, du


def second_products(closed: ClosedDynamics, q: Array, v: Array, tau: Array, *more: Array) -> tuple[Array, ...]:
    """Changes of the gradient of wᵀ a with a change of a state: of w, d_q, d_v and d_tau."""
    found = _by_elimination(closed, "forward_hvp", quantities.forward_gradient_along, q, v, tau, *more)
    return second_on_numbers(closed, q, v, tau, *more) if found is None else tuple(found)


def _by_elimination(
    closed: ClosedDynamics, name: str, make: Callable[[quantities.Equations], quantities.Quantity], *state: Array
) -> Any:
    """A quantity of the equations by the fast order or by the robust one; None where neither serves."""
    for candidate in () if closed.plans.is_dense_only else (SPARSE, LATE):
        made = partial(make, equations(closed, candidate))
        found, status = closed.kernels.get(f"{name} {candidate}", made).single_status(*state)
        if not status:
            return found
    return None


def on_numbers(closed: ClosedDynamics, q: Array, v: Array, tau: Array) -> Changes:
    """Derivatives by singular values of the constraint Jacobian."""
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
        SingularConfigurationError: they do not.
    """
    solution = singular.solve(system, closed.analysis.rank, v, rates)
    if solution.is_singular:
        loops = ", ".join(sorted(closed.lost_names(solution)))
        raise SingularConfigurationError(
            f"model {closed.model.name!r} is in a singular configuration (loops {loops}), where its accelerations have "
            "no derivatives. Use a configuration nearby; `branch_directions` returns the tangents of the branches.",
            loop=loops,
            field="q",
        )
    return solution.accelerations, solution.multipliers / closed.weights


def accelerated(closed: ClosedDynamics, system: singular.System, dr: Array) -> Array:
    """Changes of the accelerations with those of the residual, a column each: M da - Jᵀ dλ = -dr₁, J da = -dr₂."""
    n, rank = len(system.M), closed.analysis.rank
    U, s, Vt = np.linalg.svd(system.J)
    held, N = Vt[:rank].T, Vt[rank:].T
    da = held @ ((U[:, :rank].T @ (-dr[n:] / closed.weights[:, None])) / s[:rank, None])
    da += N @ np.linalg.solve(N.T @ system.M @ N, N.T @ (-dr[:n] - system.M @ da))
    return np.asarray(da, dtype=np.float64)


def second_on_numbers(closed: ClosedDynamics, q: Array, v: Array, tau: Array, *more: Array) -> tuple[Array, ...]:
    """`second_products` by a dense solution."""
    system, w = closed.system(q, v, tau), closed.weights
    a, multipliers = regular(closed, system, v, lambda: closed.rates(q, v))
    if closed.analysis.is_redundant:
        raise InputError(
            f"loops of model {closed.model.name!r} are redundant, and the constraints selected as independent "
            "are dependent in this configuration; second derivatives are undefined. Use a configuration nearby.",
            loop=", ".join(closed.model.loop_names),
            field="q",
        )
    J = system.J * w[:, None]
    K = np.block([[system.M, J.T], [J, np.zeros((len(w), len(w)))]])

    def again(right: Sequence[Any]) -> list[Any]:
        solution: list[Any] = np.linalg.solve(K, np.array(right)).tolist()
        return solution

    given = {name: values.tolist() for name, values in zip(("w", "d_q", "d_v", "d_tau"), more, strict=True)}
    state = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist(), "multipliers": multipliers.tolist()}
    all_that_act = quantities.Equations(closed.tree, closed.tree, Plan(closed.plans.rows, ()), "", lambda _: [])
    changes = quantities.gradient_changes(all_that_act, quantities.Solution(state, (), again), {**state, **given})
    return tuple(map(np.array, changes.values()))


def multiplier_changes(
    closed: ClosedDynamics,
    state: tuple[Array, Array],
    held: tuple[Array, Array],
    changes: tuple[Array, Array, Array],
    d_a: Array,
) -> Array:
    """Changes dλ of the multipliers of the non-trivial constraints: Jᵀ dλ = dr₁ at constant multipliers.

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
    rank = closed.analysis.rank
    return np.asarray(U[:, :rank] @ ((Vt[:rank] @ left) / s[:rank, None]) / w[:, None], dtype=np.float64)


def residual(closed: ClosedDynamics) -> Kernel:
    """Derivatives of the residual with all non-trivial constraints."""
    plan = Plan(closed.plans.rows, ())
    tag = closed_quantities.digest(closed.tree, closed.plans, plan)
    make = lambda: quantities.residual_derivatives(closed.tree, plan, f"residual_derivatives_{tag}")  # noqa: E731
    return closed.kernels.get("closed residual derivatives", make)
