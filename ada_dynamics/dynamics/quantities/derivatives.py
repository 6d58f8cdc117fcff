# SPDX-License-Identifier: Apache-2.0
"""Derivatives of quantities, all taken from their graphs."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms import crba, kkt
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.algorithms.residual import efforts_and_conditions
from ada_dynamics.algorithms.sparse_ldl import Factors, factorise, solve_factorised
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    position_rates,
    quantity,
    reshape,
    substitute,
)
from ada_dynamics.dynamics.quantities.equations import inverse
from ada_dynamics.expr import Expr, Function, Traced, directional, jvp, trace
from ada_dynamics.expr.function import Columns
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.scalar import Scalar, is_zero


def rate_of(of_position: Quantity, tree: Tree) -> Quantity:
    """Time derivative of a quantity of q alone, along v."""
    (result, shape), *_ = of_position.shapes.items()
    name = f"{of_position.name}_rate"
    inputs = {"q": tree.nq, "v": tree.nv}

    def traced() -> Function:
        inner = jvp(of_position.trace(), wrt=("q",))

        def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
            rates = position_rates(tree, q, v)
            flat = substitute(inner, {"q": q, "d_q": rates})
            return {result: reshape(flat[f"d_{result}"], shape)}

        return trace(name, inputs, body)

    return Quantity(name, inputs, {result: shape}, traced)


def inverse_derivatives(tree: Tree) -> Quantity:
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M of inverse dynamics, by differentiating its graph; q changes on the manifold."""
    short = for_efforts(tree)
    n = tree.nv

    def body(q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Outputs:
        tau, _ = efforts_and_conditions(short, q, v, a)
        dq, dv = _by_state(tree, tau, q, v)
        return {"dq": dq, "dv": dv, "du": crba.mass_matrix(short, q).dense()}

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return quantity("inverse_derivatives", tree, ("q", "v", "a"), shapes, body)


def residual_derivatives(tree: Tree, plan: Plan) -> Quantity:
    """∂r/∂q and ∂r/∂v of the residual of inverse dynamics with multipliers; q changes on the manifold."""
    n, rows = tree.nv, tree.nv + plan.conditions

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], multipliers: Sequence[Scalar] = ()
    ) -> Outputs:
        tau, conditions = efforts_and_conditions(tree, q, v, a, plan, multipliers)
        dq, dv = _by_state(tree, [*tau, *conditions], q, v)
        return {"dq": dq, "dv": dv}

    shapes: dict[str, tuple[int, ...]] = {"dq": (rows, n), "dv": (rows, n)}
    extra = {"multipliers": plan.conditions} if plan.conditions else {}
    return quantity("residual_derivatives", tree, ("q", "v", "a"), shapes, body, extra=extra)


def forward_derivatives(tree: Tree, plan: Plan | None = None) -> Quantity:
    """Derivatives of accelerations, and of the multipliers of loops below them, by q, v and τ.

    K [da; -dλ] = -dr, with the factors of K = [M Jᵀ; J 0] and the derivatives of the residual r at a and λ.

    Args:
        tree: the mechanism.
        plan: of its loops; None where it has none.
    """
    short = for_efforts(tree)
    n = tree.nv
    plan = plan or Plan({}, tuple(range(n - 1, -1, -1)))
    of_residual = residual_derivatives(short, plan)
    rows = n + plan.conditions

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Traced:
        matrix, right = kkt.system(short, q, v, tau, plan)
        factors = factorise(matrix, plan.order)
        solution = solve_factorised(factors, right)
        state = {"q": q, "v": v, "a": solution[:n]}
        if plan.conditions:
            state["multipliers"] = [-x for x in solution[n:]]
        flat = substitute(of_residual.trace(), state)
        solved = Solutions(factors, n)
        columns = [solved.columns(name, _negative(reshape(flat[name], (rows, n)))) for name in ("dq", "dv")]
        unit = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(rows)]
        return Traced({}, columns=[*columns, solved.columns("du", unit)])

    shapes: dict[str, tuple[int, ...]] = {"dq": (rows, n), "dv": (rows, n), "du": (rows, n)}
    name = "forward_derivatives"
    return quantity(name, tree, ("q", "v", "tau"), shapes, body, solves=True)


class Solutions:
    """Solutions of a factorised system for many right sides, as columns."""

    def __init__(self, factors: Factors, motions: int) -> None:
        """Args: the factors; number of accelerations, behind which the unknowns are minus the multipliers."""
        entries = [*factors.inverse, *(x for row in factors.rows for x in row.values())]
        self._shared = tuple(dict.fromkeys(x for x in entries if isinstance(x, Expr)))
        place = {x: k for k, x in enumerate(self._shared)}

        def body(shared: Sequence[Scalar], column: Sequence[Scalar]) -> Outputs:
            def own(x: Scalar) -> Scalar:
                return shared[place[x]] if isinstance(x, Expr) else x

            rows = [{i: own(x) for i, x in row.items()} for row in factors.rows]
            copy = Factors(factors.pivots, [own(x) for x in factors.inverse], rows, factors.order)
            x = solve_factorised(copy, column)
            return {"solution": [*x[:motions], *(-y for y in x[motions:])]}

        self._each = trace("solution", {"shared": max(len(self._shared), 1), "column": len(factors.inverse)}, body)

    def columns(self, output: str, rows: Sequence[Sequence[Scalar]]) -> Columns:
        """An output with the solution for each column."""
        return Columns(output, self._each, self._shared, tuple(map(tuple, rows)))


def _by_state(
    tree: Tree, values: Sequence[Scalar], q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Derivatives by q, along velocities, and by v: a row for each value."""
    n = tree.nv
    by_q = [_column(values, q, position_rates(tree, q, _unit(j, n))) for j in range(n)]
    by_v = [_column(values, v, _unit(j, n)) for j in range(n)]
    return _transposed(by_q), _transposed(by_v)


def _negative(rows: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    return [[-x for x in row] for row in rows]


def _column(values: Sequence[Scalar], variables: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
    return directional(values, {x: rate for x, rate in zip(variables, rates, strict=True) if not is_zero(rate)})


def _unit(j: int, n: int) -> list[float]:
    return [1.0 if i == j else 0.0 for i in range(n)]


def _transposed(columns: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


def inverse_along(tree: Tree) -> Quantity:
    """Derivative of inverse dynamics along one change d_q (a velocity: on the manifold) and d_v of the state."""
    efforts = inverse(tree, external=False)
    (result, shape), *_ = efforts.shapes.items()
    name = "inverse_along"
    inputs = {**efforts.inputs, "d_q": tree.nv, "d_v": tree.nv}

    def traced() -> Function:
        inner = jvp(efforts.trace(), wrt=("q", "v"))

        def body(**vectors: Sequence[Scalar]) -> Outputs:
            given = {**vectors, "d_q": position_rates(tree, vectors["q"], vectors["d_q"])}
            return {result: reshape(substitute(inner, given)[f"d_{result}"], shape)}

        return trace(name, inputs, body)

    return Quantity(name, inputs, {result: shape}, traced)
