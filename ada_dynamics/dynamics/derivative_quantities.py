# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward and inverse dynamics, and their products with vectors; all taken from graphs.

With K = [M Jᵀ; J 0], changes of the state change the accelerations by K [da; -dλ] = -dr: the residual r is
differentiated at a and λ, and the factors of K that gave these are used again. Along one change of the state this is a
sweep of the residual and one solution more. Backwards, with K y = [w; 0] for the symmetric K, wᵀ da = -yᵀ dr: one
solution more, and the gradient of yᵀ r.

That gradient changes with the state, with a and λ, and with y, for which K dy = -dK y: its derivative along the change
is second order, and one sweep and one solution more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ada_dynamics.algorithms import aba, crba, kkt
from ada_dynamics.algorithms import regressor as algorithm
from ada_dynamics.algorithms.articulated_factors import ArticulatedFactors
from ada_dynamics.algorithms.kinematics import position_rates, standing_still, transforms, velocity_gradient
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan
from ada_dynamics.algorithms.ldl import Factors, SymmetricMatrix
from ada_dynamics.algorithms.loop_derivatives import LoopDerivatives
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.algorithms.rnea_derivatives import BY_A, OF_STATE, VARIABLES, WIDEST, RneaDerivatives
from ada_dynamics.dynamics.derivative_columns import CHANGES, Entries, ResidualColumns, SolvedColumns
from ada_dynamics.dynamics.quantities import Outputs, Quantity, QuantityRow, Vector, quantity, reshape
from ada_dynamics.expr import Expr, Function, Traced, directional, extract, gradient, trace
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.expr.per_lane import per_lane
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.target import Target
from ada_dynamics.model.tree import WORLD, Tree, for_efforts
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero

Vectors = Mapping[str, Vector]
SHORT = 3  # branches of fewer velocities share a sweep
# Bodies that a velocity moves, on average: up to the first number sweeps over all bodies, for some velocities side by
# side, are faster than composite bodies, and above the second one slower.
SWEEPS_UP_TO, COMPOSITES_ABOVE = 3, 6
# The same number above which articulated bodies solve for columns faster than triangular factors of the mass matrix.
ARTICULATED_ABOVE = 18
# Without loops: accelerations from efforts by the articulated bodies themselves. Others factorise the mass matrix.
ARTICULATED = {"aba": aba.forward_dynamics, "lanes": lane_dynamics.forward_dynamics}


def widest() -> int:
    """Directions side by side: as many as the widest vectors of the processor have lanes, four at least."""
    return max(4, Target.host().lanes) if reason_for_fallback() is None else WIDEST


# --- equations and their solution -------------------------------------------------------------------------------------
class Equations(NamedTuple):
    """K [a; -λ] = [τ - h; -γ] of a mechanism, with K = [M Jᵀ; J 0], and how it is solved.

    Attributes:
        described: the mechanism.
        tree: the same, with base parameters where these serve, which may leave bodies without mass.
        plan: its constraints and their elimination order.
        tag: of the names of quantities; differs for any two ways to solve it.
        guards: of a solution, what must not be negative.
        algorithm: of forward dynamics, evaluated while tracing; without loops products of derivatives go through it.
    """

    described: Tree
    tree: Tree
    plan: Plan
    tag: str
    guards: Callable[[ConstrainedSolution], Sequence[Scalar]]
    algorithm: Callable[[], str] = lambda: "crba"

    @property
    def size(self) -> int:
        """Number of accelerations and multipliers."""
        return self.tree.nv + self.plan.constraint_count

    def factorised(self, given: Vectors) -> tuple[Solution, Factors]:
        """Accelerations and multipliers for q, v and τ, and the factors of K."""
        q, v, tau = given["q"], given["v"], given["tau"]
        closed, factors = kkt.solved(self.tree.nv, self.plan, kkt.system(self.tree, q, v, tau, self.plan))
        state = {"q": q, "v": v, "a": closed.accelerations}
        if self.plan.constraint_count:
            state["multipliers"] = closed.multipliers
        return Solution(state, self.guards(closed), factors.solve), factors

    def solve(self, given: Vectors) -> Solution:
        """The same by the algorithm."""
        forward = None if self.plan.constraint_count else ARTICULATED.get(self.algorithm())
        if forward is None:
            return self.factorised(given)[0]
        q, v, still = given["q"], given["v"], unloaded(self.tree)
        state = {"q": q, "v": v, "a": forward(self.tree, q, v, given["tau"])}
        return Solution(state, (), partial(forward, still, q, no_velocity(self.tree)))


class Solution(NamedTuple):
    """A solution of the equations, and how to find others of the same matrix."""

    state: dict[str, Vector]  # q, v, a and the multipliers: arguments of the residual
    guards: Sequence[Scalar]
    again: Callable[[Vector], list[Scalar]]  # K⁻¹ of another right side


def open_equations(tree: Tree, algorithm: Callable[[], str] = lambda: "crba", tag: str = "") -> Equations:
    """Equations of a mechanism without loops."""
    plan = Plan({}, tuple(range(tree.nv - 1, -1, -1)))
    return Equations(tree, for_efforts(tree), plan, tag, lambda _: [], algorithm)


# --- of forward dynamics ----------------------------------------------------------------------------------------------
def _forward_sweeps(equations: Equations, given: Vectors) -> Traced:
    """∂a/∂q, ∂a/∂v and ∂a/∂τ, from sweeps over all bodies."""
    n, size = equations.tree.nv, equations.size
    solved, factors = equations.factorised(given)
    flat = substitute(residual_derivatives(equations.tree, equations.plan).trace(), solved.state)
    changes = SolvedColumns(n, factors)
    columns = [changes.given(name, reshape(flat[name], (size, n))) for name in ("dq", "dv")]
    efforts = [[-1.0 if i == j else 0.0 for j in range(n)] for i in range(size)]  # ∂r/∂τ
    return Traced({}, solved.guards, [*columns, changes.given("du", efforts)])


def _forward_composites(equations: Equations, given: Vectors) -> Traced:
    """The same from composite bodies; M, h and the constraint rows share terms with their derivatives."""
    tree, plan, n = equations.tree, equations.plan, equations.tree.nv
    q, v, tau = given["q"], given["v"], given["tau"]
    is_long = moving_pairs(tree) > ARTICULATED_ABOVE * n
    if is_long and not plan.rows and all(body.is_independent for body in tree.bodies):
        return _by_articulated_bodies(tree, q, v, tau)
    still = RneaDerivatives(tree, q, v, no_velocity(tree), widest(), (BY_A,))
    matrix = SymmetricMatrix(equations.size)
    right = [t - h for t, h in zip(tau, still.bias_efforts(), strict=True)]
    right += [-row.rate for loop in _loops(still, plan) for row in loop.rows]
    # J has more zeros in the axes of the bodies than in those of their branch
    rows = kkt.planned_rows(tree, transforms(tree, q), q, v, standing_still(tree), plan)
    for i, row in enumerate([*still.mass_matrix.lower_rows(), *(one.columns for one in rows)]):
        for j, x in row.items():
            matrix.add(i, j, x)
    closed, factors = kkt.solved(n, plan, (matrix, right))
    found, more = with_loops(still, plan, closed.accelerations, closed.multipliers)
    columns = ResidualColumns(found, factors, more)
    by_state = [one for name in OF_STATE for one in columns.solved(name)]
    return Traced({}, equations.guards(closed), [*by_state, *columns.by_efforts("du")])


def _by_articulated_bodies(tree: Tree, q: Vector, v: Vector, tau: Vector) -> Traced:
    """The same of long branches: each column is a pass inward and one outward."""
    residual = ResidualColumns(RneaDerivatives(tree, q, v, aba.forward_dynamics(tree, q, v, tau), widest=widest()))
    solved = SolvedColumns(tree.nv, ArticulatedFactors.of(tree, q))
    columns = [one for name in OF_STATE for one in (*residual.by(name, CHANGES), solved.of_changes(name))]
    return Traced({}, (), [*columns, *residual.of_efforts(CHANGES), solved.of_changes("du")])


def with_loops(
    still: RneaDerivatives, plan: Plan, a: Vector, multipliers: Vector
) -> tuple[RneaDerivatives, Mapping[str, Entries]]:
    """Derivatives of the residual with multipliers, and what changes of these forces and of J a + γ add to them."""
    n, left = still.tree.nv, iter(multipliers)
    loops, wrenches = _loops(still, plan), dict[int, Force]()
    forces = [[next(left) for _ in loop.rows] for loop in loops]
    for loop, own in zip(loops, forces, strict=True):
        for end, wrench in loop.wrenches(own).items():
            wrenches[end] = wrenches.get(end, NO_FORCE) + wrench
    found, first = still.accelerated(a, wrenches), n
    more: dict[str, dict[int, list[Scalar]]] = {name: {} for name in OF_STATE}
    for loop, own in zip(_loops(found, plan), forces, strict=True):
        for name, added in more.items():
            for group, on_ends, rates in loop.changes(name, own):
                rows = [(first + c, x) for c, x in enumerate(rates)]
                rows += [(i, -x) for end, wrench in on_ends.items() for i, x in found.efforts(end, wrench).items()]
                for i, x in rows:
                    row = added.setdefault(i, [ZERO] * n)
                    for lane, j in enumerate(group):
                        row[j] = row[j] + extract(x, lane)
        first += len(own)
    return found, more


def _loops(found: RneaDerivatives, plan: Plan) -> list[LoopDerivatives]:
    rows = [(loop, plan.rows.get(loop.name)) for loop in found.tree.loops]
    return [LoopDerivatives(found, loop, own) for loop, own in rows if own]


def _forward_jvp(equations: Equations, given: Vectors) -> Traced:
    """Change of a with a change d_q (a velocity: on the manifold), d_v and d_tau of the arguments."""
    solved = equations.solve(given)
    return Traced({"d_a": _change(equations, solved, given)["a"]}, solved.guards)


def _forward_vjp(equations: Equations, given: Vectors) -> Traced:
    """Gradient of wᵀ a by q (per velocity: on the manifold), v and τ, with w as it is."""
    solved = equations.solve(given)
    y = solved.again(_with_zeros(equations, given["w"]))
    of_residual = substitute(_residual_gradient(equations), {**solved.state, "y": y})
    return Traced(_by_arguments(equations, of_residual, y), solved.guards)


def _forward_hvp(equations: Equations, given: Vectors) -> Traced:
    """Change of that gradient with a change d_q, d_v and d_tau of the arguments, w as it is."""
    solved = equations.solve(given)
    y = solved.again(_with_zeros(equations, given["w"]))
    turned = substitute(_matrix_along(equations), {"q": given["q"], "d_q": given["d_q"], "y": y})["product"]
    d_y = [-x for x in solved.again(turned)]
    moving = {"q": given["d_q"], "v": given["d_v"], **_change(equations, solved, given), "y": d_y}
    state = {**solved.state, "y": y, **{f"d_{name}": x for name, x in moving.items()}}
    found = _by_arguments(equations, substitute(_gradient_along(equations), state), d_y)
    return Traced(found, solved.guards)


def _change(equations: Equations, solved: Solution, given: Vectors) -> dict[str, Vector]:
    """Changes of a and λ with those of q, v and τ."""
    n, moving = equations.tree.nv, {"d_q": given["d_q"], "d_v": given["d_v"]}
    residual = substitute(_residual_along(equations), {**solved.state, **moving})["residual"]
    right = [u - x for x, u in zip(residual, _with_zeros(equations, given["d_tau"]), strict=True)]
    found = solved.again(right)
    return {"a": found[:n], **({"multipliers": [-x for x in found[n:]]} if equations.plan.constraint_count else {})}


def _with_zeros(equations: Equations, efforts: Vector) -> list[Scalar]:
    return [*efforts, *[ZERO] * equations.plan.constraint_count]


def _by_arguments(equations: Equations, by: Vectors, y: Vector) -> Outputs:
    """Gradient of forward dynamics, from that of the residual."""
    by_q, by_v = ([-x for x in by[name]] for name in ("by_q", "by_v"))
    return {"by_q": by_q, "by_v": by_v, "by_tau": y[: equations.tree.nv]}


# --- of inverse dynamics, without loops -------------------------------------------------------------------------------
def _inverse_sweeps(equations: Equations, given: Vectors) -> Traced:
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M, from sweeps over all bodies; q changes on the manifold."""
    q, v = given["q"], given["v"]
    dq, dv = _by_state(equations.described, kkt.residual(equations.tree, q, v, given["a"])[0], q, v)
    return Traced({"dq": dq, "dv": dv, "du": crba.mass_matrix(equations.tree, q).dense()})


def _inverse_composites(equations: Equations, given: Vectors) -> Traced:
    """The same from composite bodies."""
    columns = ResidualColumns(RneaDerivatives(equations.tree, given["q"], given["v"], given["a"], widest=widest()))
    return Traced({}, (), [one for name in VARIABLES for one in columns.by(name, name)])


def _inverse_jvp(equations: Equations, given: Vectors) -> Outputs:
    """Change of τ with a change d_q (a velocity: on the manifold), d_v and d_a of the arguments."""
    return {"d_tau": substitute(_residual_along(equations, ("q", "v", "a")), given)["residual"]}


def _inverse_vjp(equations: Equations, given: Vectors) -> Outputs:
    """Gradient of wᵀ τ by q (per velocity: on the manifold), v and a, with w as it is."""
    return substitute(_residual_gradient(equations), {**given, "y": given["w"]})


def _inverse_hvp(equations: Equations, given: Vectors) -> Outputs:
    """Change of that gradient with a change d_q, d_v and d_a of the arguments, w as it is."""
    return substitute(_gradient_along(equations), {**given, "y": given["w"], "d_y": no_velocity(equations.tree)})


_OF_FORWARD, _OF_INVERSE = ("q", "v", "tau"), ("q", "v", "a")
_MATRICES = dict.fromkeys(("dq", "dv", "du"), ("nv", "nv"))
_CHANGED_STATE = ("d_q", "d_v")
DERIVATIVES: dict[str, QuantityRow] = {
    "forward_derivatives": QuantityRow(_OF_FORWARD, _MATRICES, _forward_sweeps),
    "forward_jvp": QuantityRow((*_OF_FORWARD, *_CHANGED_STATE, "d_tau"), {"d_a": ("nv",)}, _forward_jvp),
    "forward_vjp": QuantityRow((*_OF_FORWARD, "w"), dict.fromkeys(("by_q", "by_v", "by_tau"), ("nv",)), _forward_vjp),
    "forward_hvp": QuantityRow(
        (*_OF_FORWARD, "w", *_CHANGED_STATE, "d_tau"), dict.fromkeys(("by_q", "by_v", "by_tau"), ("nv",)), _forward_hvp
    ),
    "inverse_derivatives": QuantityRow(_OF_INVERSE, _MATRICES, _inverse_sweeps),
    "inverse_jvp": QuantityRow((*_OF_INVERSE, *_CHANGED_STATE, "d_a"), {"d_tau": ("nv",)}, _inverse_jvp),
    "inverse_vjp": QuantityRow((*_OF_INVERSE, "w"), dict.fromkeys(("by_q", "by_v", "by_a"), ("nv",)), _inverse_vjp),
    "inverse_hvp": QuantityRow(
        (*_OF_INVERSE, "w", *_CHANGED_STATE, "d_a"), dict.fromkeys(("by_q", "by_v", "by_a"), ("nv",)), _inverse_hvp
    ),
}
"""Derivatives by name, as the methods of `Dynamics`: results = equation(equations, arguments by name)."""

COMPOSITES = {"forward_derivatives": _forward_composites, "inverse_derivatives": _inverse_composites}
"""Equations from composite bodies for some of these, which are faster for deep trees."""


def of_equations(equations: Equations, name: str) -> Quantity:
    """A quantity of DERIVATIVES, traced in the form of fewer nodes where neither is always faster."""
    row, tree = DERIVATIVES[name], equations.described
    extra = dict.fromkeys(row.inputs[3:], tree.nv)
    solves = "tau" in row.inputs and not equations.plan.rows
    forms, depth = [row.equation], moving_pairs(equations.tree) / tree.nv
    if name in COMPOSITES and depth > SWEEPS_UP_TO:
        forms = [COMPOSITES[name]] if depth > COMPOSITES_ABOVE else [row.equation, COMPOSITES[name]]

    def of_form(form: Callable[..., Outputs | Traced]) -> Quantity:
        def body(**given: Vector) -> Outputs | Traced:
            return form(equations, given)

        return quantity(f"{name}{equations.tag}", tree, row.inputs[:3], row.shapes_of(tree), body, solves, extra)

    found = [of_form(form) for form in forms]
    return replace(found[0], trace=lambda: min((one.trace() for one in found), key=lambda one: len(one.nodes())))


# --- of the residual --------------------------------------------------------------------------------------------------
def residual_derivatives(tree: Tree, plan: Plan, name: str = "residual_derivatives") -> Quantity:
    """∂r/∂q and ∂r/∂v of the residual of inverse dynamics with multipliers; q changes on the manifold."""
    n, rows = tree.nv, tree.nv + plan.constraint_count

    def body(q: Vector, v: Vector, a: Vector, multipliers: Vector = ()) -> Outputs:
        tau, conditions = kkt.residual(tree, q, v, a, plan, multipliers)
        dq, dv = _by_state(tree, [*tau, *conditions], q, v)
        return {"dq": dq, "dv": dv}

    shapes: dict[str, tuple[int, ...]] = {"dq": (rows, n), "dv": (rows, n)}
    extra = {"multipliers": plan.constraint_count} if plan.constraint_count else {}
    return quantity(name, tree, ("q", "v", "a"), shapes, body, extra=extra)


def _residual_along(equations: Equations, moving: Sequence[str] = ("q", "v")) -> Function:
    """Change of the residual with some of its arguments."""

    def body(**given: Vector) -> Outputs:
        return {"residual": directional(_residual(equations, given), _seeds(equations.tree, given, moving))}

    changes = {f"d_{name}": equations.tree.nv for name in moving}
    return trace("residual_along", {**_inputs(equations), **changes}, body)


def _matrix_along(equations: Equations) -> Function:
    """dK y, with the change of K with q: at rest and without weight K y is the residual of y's accelerations."""
    tree, n = equations.tree, equations.tree.nv
    still = equations._replace(tree=unloaded(tree))

    def body(q: Vector, d_q: Vector, y: Vector) -> Outputs:
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

    def body(**given: Vector) -> Outputs:
        found, seeds = _gradient(equations, given), _seeds(equations.tree, given, tuple(inputs))
        return {name: directional(values, seeds) for name, values in found.items()}

    return trace("gradient_along", {**inputs, **moving}, body)


def _gradient(equations: Equations, given: Vectors) -> dict[str, list[Scalar]]:
    tree, q = equations.tree, given["q"]
    power = sum((y * r for y, r in zip(given["y"], _residual(equations, given), strict=True)), ZERO)
    slopes = gradient(power, [*q, *given["v"], *given["a"]])
    by_q = velocity_gradient(tree, q, slopes[: len(q)])
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
    efforts, conditions = kkt.residual(tree, q, v, a, equations.plan, multipliers)
    return [*efforts, *conditions]


def _by_state(tree: Tree, values: Vector, q: Vector, v: Vector) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Derivatives by q, along velocities, and by v: a row for each value.

    Directions of one branch have nearly all their work in common, and are the lanes of one sweep.
    """
    n = tree.nv
    dq: list[list[Scalar]] = [[0.0] * n for _ in values]
    dv: list[list[Scalar]] = [[0.0] * n for _ in values]
    for group in side_by_side(tree):
        unit: list[Scalar] = [0.0] * n
        for lane, j in enumerate(group):
            unit[j] = per_lane([float(k == lane) for k in range(len(group))])
        for result, variables, rates in ((dq, q, position_rates(tree, q, unit)), (dv, v, unit)):
            seeds = {x: rate for x, rate in zip(variables, rates, strict=True) if not is_zero(rate)}
            for row, tangent in zip(result, directional(values, seeds), strict=True):
                for lane, j in enumerate(group):
                    row[j] = extract(tangent, lane)
    return dq, dv


def moving_pairs(tree: Tree) -> int:
    """Pairs of a body and a velocity that moves it: what derivatives grow with."""
    moving: list[int] = []
    for body in tree.bodies:
        moving.append(body.v.stop - body.v.start + (0 if body.parent == WORLD else moving[body.parent]))
    return sum(moving)


def side_by_side(tree: Tree) -> list[list[int]]:
    """Velocities in groups of consecutive ones, at most `widest` each, such that those of a group move nearly the same.

    A body joins the group of its parent where it is the only child; short branches are taken in where they fit.
    """
    children = Counter(body.parent for body in tree.bodies)
    branches: list[list[int]] = [[]]
    known: set[int] = set()  # joints that mimic others have no velocities of their own
    for body in tree.bodies:
        own = [j for j in range(body.v.start, body.v.stop) if j not in known]
        known.update(own)
        if body.parent == body.index - 1 and children[body.parent] == 1 and _follow(branches[-1], own):
            branches[-1] += own
        elif own:
            branches.append(own)
    groups: list[list[int]] = [[]]
    for branch in branches:
        if _follow(groups[-1], branch) and (len(groups[-1]) <= SHORT or len(branch) < SHORT):
            groups[-1] += branch
        else:
            groups.append(list(branch))
    return [group for group in groups if group]


def _follow(group: Sequence[int], more: Sequence[int]) -> bool:
    """True if a group can go on with these."""
    return bool(group and more) and group[-1] + 1 == more[0] and len(group) + len(more) <= widest()


# --- of other quantities ----------------------------------------------------------------------------------------------
def regressor(tree: Tree, links: Sequence[str]) -> Quantity:
    """Y of τ = Y π."""

    def body(q: Vector, v: Vector, a: Vector) -> Outputs:
        return {"Y": algorithm.regressor(tree, links, q, v, a)}

    columns = len(algorithm.parameters(tree, links))
    return quantity("regressor", tree, ("q", "v", "a"), {"Y": (tree.nv, columns)}, body)
