# SPDX-License-Identifier: Apache-2.0
"""Derivatives of quantities, all taken from their graphs."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms import crba, rnea
from ada_dynamics.algorithms.sparse_ldl import factorise, solve_factorised
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    position_rates,
    quantity,
    reshape,
    substitute,
)
from ada_dynamics.dynamics.quantities.equations import inverse
from ada_dynamics.expr import Function, directional, jvp, trace
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
        tau = rnea.inverse_dynamics(short, q, v, a)
        by_q = [_column(tau, q, position_rates(tree, q, _unit(j, n))) for j in range(n)]
        by_v = [_column(tau, v, _unit(j, n)) for j in range(n)]
        return {"dq": _transposed(by_q), "dv": _transposed(by_v), "du": crba.mass_matrix(short, q).dense()}

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return quantity("inverse_derivatives", tree, ("q", "v", "a"), shapes, body)


def forward_derivatives(tree: Tree) -> Quantity:
    """∂a/∂q = -M⁻¹ ∂τ/∂q, ∂a/∂v = -M⁻¹ ∂τ/∂v and ∂a/∂τ = M⁻¹, with the derivatives of inverse dynamics at a."""
    short = for_efforts(tree)
    n = tree.nv
    of_inverse = inverse_derivatives(tree)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Outputs:
        factors = factorise(crba.mass_matrix(short, q))
        bias = rnea.inverse_dynamics(short, q, v, None)
        a = solve_factorised(factors, [t - h for t, h in zip(tau, bias, strict=True)])
        flat = substitute(of_inverse.trace(), {"q": q, "v": v, "a": a})
        result = {}
        for name in ("dq", "dv"):
            rows = reshape(flat[name], (n, n))
            columns = [solve_factorised(factors, [-rows[i][j] for i in range(n)]) for j in range(n)]
            result[name] = _transposed(columns)
        result["du"] = _transposed([solve_factorised(factors, _unit(j, n)) for j in range(n)])
        return result

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return quantity("forward_derivatives", tree, ("q", "v", "tau"), shapes, body, solves=True)


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
