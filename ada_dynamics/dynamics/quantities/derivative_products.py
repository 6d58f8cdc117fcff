# SPDX-License-Identifier: Apache-2.0
"""Products of the derivatives of the dynamics with vectors, first and second, without the matrices.

Along a change of the state, K [da; -dλ] = -(∂r/∂q dq + ∂r/∂v dv - dτ): a sweep of the residual and one solution more.
Backwards, with K y = [w; 0] for the symmetric K, wᵀ da = -yᵀ dr: one solution more, and the gradient of yᵀ r.

That gradient changes with the state, with a and λ, and with y, for which K dy = -dK y: its derivative along the change
is second order, and one sweep and one solution more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ada_dynamics.algorithms import aba
from ada_dynamics.algorithms.kkt import residual
from ada_dynamics.algorithms.ldl import solve_factorised
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.dynamics.quantities.base import Outputs, Quantity, position_rates, quantity, substitute
from ada_dynamics.dynamics.quantities.derivatives import Equations
from ada_dynamics.expr import Expr, Function, Traced, directional, gradient, trace
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import ZERO, Scalar

Vectors = Mapping[str, Sequence[Scalar]]
# Without loops: accelerations from efforts by the articulated bodies themselves. Others factorise the mass matrix.
ARTICULATED = {"aba": aba.forward_dynamics, "lanes": lane_dynamics.forward_dynamics}


class Solution(NamedTuple):
    """A solution of the equations, and how to find others of the same matrix."""

    state: dict[str, Sequence[Scalar]]  # q, v, a and the multipliers: arguments of the residual
    guards: Sequence[Scalar]
    again: Callable[[Sequence[Scalar]], list[Scalar]]  # K⁻¹ of another right side


# --- of forward dynamics --------------------------------------------------------------------------------------------
def forward_along(equations: Equations) -> Quantity:
    """Change of a with a change d_q (a velocity: on the manifold), d_v and d_tau of the arguments."""

    def body(**given: Sequence[Scalar]) -> Traced:
        solved = _solve(equations, given)
        return Traced({"d_a": _change(equations, solved, given)["a"]}, solved.guards)

    return equations.quantity(
        f"forward_along{equations.way}", {"d_a": (equations.tree.nv,)}, body, ("d_q", "d_v", "d_tau")
    )


def forward_gradient(equations: Equations) -> Quantity:
    """Gradient of wᵀ a by q (per velocity: on the manifold), v and τ, with w as it is."""

    def body(**given: Sequence[Scalar]) -> Traced:
        solved = _solve(equations, given)
        y = solved.again(_with_zeros(equations, given["w"]))
        of_residual = substitute(_residual_gradient(equations), {**solved.state, "y": y})
        return Traced(_by_arguments(equations, of_residual, y), solved.guards)

    return equations.quantity(f"forward_gradient{equations.way}", _gradients(equations), body, ("w",))


def forward_gradient_along(equations: Equations) -> Quantity:
    """Change of that gradient with a change d_q, d_v and d_tau of the arguments, w as it is."""

    def body(**given: Sequence[Scalar]) -> Traced:
        solved = _solve(equations, given)
        return Traced(gradient_changes(equations, solved, given), solved.guards)

    return equations.quantity(
        f"forward_gradient_along{equations.way}", _gradients(equations), body, ("w", "d_q", "d_v", "d_tau")
    )


def gradient_changes(equations: Equations, solved: Solution, given: Vectors) -> Outputs:
    """`forward_gradient_along` of a solution that is there, of expressions or of numbers."""
    y = solved.again(_with_zeros(equations, given["w"]))
    turned = substitute(_matrix_along(equations), {"q": given["q"], "d_q": given["d_q"], "y": y})["product"]
    d_y = [-x for x in solved.again(turned)]
    moving = {"q": given["d_q"], "v": given["d_v"], **_change(equations, solved, given), "y": d_y}
    state = {**solved.state, "y": y, **{f"d_{name}": x for name, x in moving.items()}}
    return _by_arguments(equations, substitute(_gradient_along(equations), state), d_y)


def _solve(equations: Equations, given: Vectors) -> Solution:
    q, v, tau = given["q"], given["v"], given["tau"]
    forward = None if equations.plan.constraint_count else ARTICULATED.get(equations.algorithm())
    if forward is None:
        solved = equations.solve(q, v, tau)
        return Solution(solved.state, solved.guards, partial(solve_factorised, solved.factors))
    still, rest = unloaded(equations.tree), no_velocity(equations.tree)
    return Solution({"q": q, "v": v, "a": forward(equations.tree, q, v, tau)}, (), partial(forward, still, q, rest))


def _change(equations: Equations, solved: Solution, given: Vectors) -> dict[str, Sequence[Scalar]]:
    """Changes of a and λ with those of q, v and τ."""
    n, moving = equations.tree.nv, {"d_q": given["d_q"], "d_v": given["d_v"]}
    residual = substitute(_residual_along(equations), {**solved.state, **moving})["residual"]
    right = [u - x for x, u in zip(residual, _with_zeros(equations, given["d_tau"]), strict=True)]
    found = solved.again(right)
    return {"a": found[:n], **({"multipliers": [-x for x in found[n:]]} if equations.plan.constraint_count else {})}


def _with_zeros(equations: Equations, efforts: Sequence[Scalar]) -> list[Scalar]:
    return [*efforts, *[ZERO] * equations.plan.constraint_count]


def _by_arguments(equations: Equations, by: Vectors, y: Sequence[Scalar]) -> Outputs:
    """Of forward dynamics, from those of the residual."""
    by_q, by_v = ([-x for x in by[name]] for name in ("by_q", "by_v"))
    return {"by_q": by_q, "by_v": by_v, "by_tau": y[: equations.tree.nv]}


def _gradients(equations: Equations, third: str = "by_tau") -> dict[str, tuple[int, ...]]:
    return dict.fromkeys(("by_q", "by_v", third), (equations.tree.nv,))


# --- of inverse dynamics, without loops -----------------------------------------------------------------------------
def inverse_change(equations: Equations) -> Quantity:
    """Change of τ with a change d_q (a velocity: on the manifold), d_v and d_a of the arguments."""

    def body(**given: Sequence[Scalar]) -> Outputs:
        return {"d_tau": substitute(_residual_along(equations, ("q", "v", "a")), given)["residual"]}

    return _of_inverse(equations, "inverse_change", {"d_tau": (equations.tree.nv,)}, body, ("d_q", "d_v", "d_a"))


def inverse_gradient(equations: Equations) -> Quantity:
    """Gradient of wᵀ τ by q (per velocity: on the manifold), v and a, with w as it is."""

    def body(w: Sequence[Scalar], **given: Sequence[Scalar]) -> Outputs:
        return substitute(_residual_gradient(equations), {**given, "y": w})

    return _of_inverse(equations, "inverse_gradient", _gradients(equations, "by_a"), body, ("w",))


def inverse_gradient_along(equations: Equations) -> Quantity:
    """Change of that gradient with a change d_q, d_v and d_a of the arguments, w as it is."""

    def body(w: Sequence[Scalar], **given: Sequence[Scalar]) -> Outputs:
        return substitute(_gradient_along(equations), {**given, "y": w, "d_y": no_velocity(equations.tree)})

    shapes = _gradients(equations, "by_a")
    return _of_inverse(equations, "inverse_gradient_along", shapes, body, ("w", "d_q", "d_v", "d_a"))


def _of_inverse(
    equations: Equations,
    name: str,
    shapes: dict[str, tuple[int, ...]],
    body: Callable[..., Outputs],
    extra: Sequence[str],
) -> Quantity:
    sizes = dict.fromkeys(extra, equations.tree.nv)
    return quantity(f"{name}{equations.way}", equations.described, ("q", "v", "a"), shapes, body, extra=sizes)


# --- of the residual ------------------------------------------------------------------------------------------------
def _residual_along(equations: Equations, moving: Sequence[str] = ("q", "v")) -> Function:
    """Change of the residual with some of its arguments."""

    def body(**given: Sequence[Scalar]) -> Outputs:
        return {"residual": directional(_residual(equations, given), _seeds(equations.tree, given, moving))}

    changes = {f"d_{name}": equations.tree.nv for name in moving}
    return trace("residual_along", {**_inputs(equations), **changes}, body)


def _matrix_along(equations: Equations) -> Function:
    """dK y, with the change of K with q: at rest and without weight K y is the residual of y's accelerations."""
    tree, n = equations.tree, equations.tree.nv
    still = equations._replace(tree=unloaded(tree))

    def body(q: Sequence[Scalar], d_q: Sequence[Scalar], y: Sequence[Scalar]) -> Outputs:
        state = {"q": q, "v": no_velocity(tree), "a": y[:n], "multipliers": [-x for x in y[n:]]}
        return {"product": directional(_residual(still, state), _seeds(tree, {"q": q, "d_q": d_q}, ("q",)))}

    return trace("matrix_along", {"q": tree.nq, "d_q": n, "y": equations.size}, body)


def _residual_gradient(equations: Equations) -> Function:
    """Gradient of yᵀ r by q, v and a."""
    inputs = {**_inputs(equations), "y": equations.size}
    return trace("residual_gradient", inputs, lambda **given: _gradient(equations, given))


def _gradient_along(equations: Equations) -> Function:
    """Change of that gradient with everything that it depends on."""
    inputs = {**_inputs(equations), "y": equations.size}
    moving = {f"d_{name}": equations.tree.nv if name == "q" else size for name, size in inputs.items()}

    def body(**given: Sequence[Scalar]) -> Outputs:
        found, seeds = _gradient(equations, given), _seeds(equations.tree, given, tuple(inputs))
        return {name: directional(values, seeds) for name, values in found.items()}

    return trace("gradient_along", {**inputs, **moving}, body)


def _gradient(equations: Equations, given: Vectors) -> dict[str, list[Scalar]]:
    tree, q = equations.tree, given["q"]
    power = sum((y * r for y, r in zip(given["y"], _residual(equations, given), strict=True)), ZERO)
    slopes = gradient(power, [*q, *given["v"], *given["a"]])
    units = ([1.0 if i == j else 0.0 for i in range(tree.nv)] for j in range(tree.nv))
    by_q = [
        sum((rate * slope for rate, slope in zip(position_rates(tree, q, unit), slopes, strict=False)), ZERO)
        for unit in units
    ]
    return {"by_q": by_q, "by_v": list(slopes[len(q) : len(q) + tree.nv]), "by_a": list(slopes[len(q) + tree.nv :])}


def _seeds(tree: Tree, given: Vectors, moving: Sequence[str]) -> dict[Expr, Scalar]:
    """Rates of variables, "d_<name>" each; d_q is a velocity."""
    seeds: dict[Expr, Scalar] = {}
    for name in moving:
        rates = position_rates(tree, given["q"], given["d_q"]) if name == "q" else given[f"d_{name}"]
        seeds.update(zip(given[name], rates, strict=True))
    return seeds


def _inputs(equations: Equations) -> dict[str, int]:
    tree, conditions = equations.tree, equations.plan.constraint_count
    sizes = {"q": tree.nq, "v": tree.nv, "a": tree.nv}
    return {**sizes, "multipliers": conditions} if conditions else sizes


def _residual(equations: Equations, given: Vectors) -> list[Scalar]:
    tree = equations.tree
    q, v, a, multipliers = (given.get(name, ()) for name in ("q", "v", "a", "multipliers"))
    if not equations.plan.constraint_count and equations.algorithm() == "lanes":
        return lane_dynamics.inverse_dynamics(tree, q, v, a)
    efforts, conditions = residual(tree, q, v, a, equations.plan, multipliers)
    return [*efforts, *conditions]
