# SPDX-License-Identifier: Apache-2.0
"""Products of the derivatives of forward dynamics with vectors, without the matrices.

Along a change of the state, da = -[1 0] K⁻¹ (∂r/∂q dq + ∂r/∂v dv - dτ): a sweep of the residual and one solution more.
Backwards, with y = K⁻¹ [w; 0] for the symmetric K, wᵀ da = -yᵀ dr: one solution more, and the gradient of yᵀ r.
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.residual import efforts_and_conditions
from ada_dynamics.algorithms.sparse_ldl import solve_factorised
from ada_dynamics.dynamics.quantities.base import Outputs, Quantity, position_rates, substitute
from ada_dynamics.dynamics.quantities.derivatives import Equations
from ada_dynamics.expr import Function, Traced, directional, gradient, trace
from ada_dynamics.spatial.scalar import ZERO, Scalar


def forward_along(equations: Equations) -> Quantity:
    """Change of a with a change d_q (a velocity: on the manifold), d_v and d_tau of the arguments."""
    n = equations.tree.nv
    along = _residual_along(equations)

    def body(**given: Sequence[Scalar]) -> Traced:
        solved = equations.solve(given["q"], given["v"], given["tau"])
        changes = substitute(along, {**solved.state, "d_q": given["d_q"], "d_v": given["d_v"]})["residual"]
        right = [x - u for x, u in zip(changes[:n], given["d_tau"], strict=True)] + changes[n:]
        return Traced({"d_a": [-x for x in solve_factorised(solved.factors, right)[:n]]}, solved.guards)

    return equations.quantity("forward_along", {"d_a": (n,)}, body, ("d_q", "d_v", "d_tau"))


def forward_gradient(equations: Equations) -> Quantity:
    """Gradient of wᵀ a by q (per velocity: on the manifold), v and τ, with w as it is."""
    n, conditions = equations.tree.nv, equations.plan.conditions
    against = _residual_gradient(equations)

    def body(**given: Sequence[Scalar]) -> Traced:
        solved = equations.solve(given["q"], given["v"], given["tau"])
        y = solve_factorised(solved.factors, [*given["w"], *[ZERO] * conditions])
        by = substitute(against, {**solved.state, "y": y})
        by_q, by_v = ([-x for x in by[name]] for name in ("by_q", "by_v"))
        return Traced({"by_q": by_q, "by_v": by_v, "by_tau": y[:n]}, solved.guards)

    shapes: dict[str, tuple[int, ...]] = {"by_q": (n,), "by_v": (n,), "by_tau": (n,)}
    return equations.quantity("forward_gradient", shapes, body, ("w",))


def _residual_along(equations: Equations) -> Function:
    tree, n = equations.tree, equations.tree.nv

    def body(**given: Sequence[Scalar]) -> Outputs:
        values = _residual(equations, given)
        q, v = given["q"], given["v"]
        rates = [*position_rates(tree, q, given["d_q"]), *given["d_v"]]
        return {"residual": directional(values, dict(zip([*q, *v], rates, strict=True)))}

    return trace("residual_along", {**_inputs(equations), "d_q": n, "d_v": n}, body)


def _residual_gradient(equations: Equations) -> Function:
    tree, n = equations.tree, equations.tree.nv

    def body(**given: Sequence[Scalar]) -> Outputs:
        product = sum((y * r for y, r in zip(given["y"], _residual(equations, given), strict=True)), ZERO)
        q, v = given["q"], given["v"]
        slopes = gradient(product, [*q, *v])
        unit = [[1.0 if i == j else 0.0 for i in range(n)] for j in range(n)]
        by_q = [
            sum((rate * slope for rate, slope in zip(position_rates(tree, q, e), slopes, strict=False)), ZERO)
            for e in unit
        ]
        return {"by_q": by_q, "by_v": slopes[len(q) :]}

    return trace("residual_gradient", {**_inputs(equations), "y": equations.size}, body)


def _inputs(equations: Equations) -> dict[str, int]:
    tree, conditions = equations.tree, equations.plan.conditions
    sizes = {"q": tree.nq, "v": tree.nv, "a": tree.nv}
    return {**sizes, "multipliers": conditions} if conditions else sizes


def _residual(equations: Equations, given: dict[str, Sequence[Scalar]]) -> list[Scalar]:
    q, v, a, multipliers = (given.get(name, ()) for name in ("q", "v", "a", "multipliers"))
    efforts, conditions = efforts_and_conditions(equations.tree, q, v, a, equations.plan, multipliers)
    return [*efforts, *conditions]
