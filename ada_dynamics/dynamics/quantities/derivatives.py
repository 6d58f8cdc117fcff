# SPDX-License-Identifier: Apache-2.0
"""Derivatives of quantities, all taken from their graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ada_dynamics.algorithms import crba, kkt
from ada_dynamics.algorithms import regressor as algorithm
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan
from ada_dynamics.algorithms.kinematics import inward_sums, transforms
from ada_dynamics.algorithms.kkt import residual
from ada_dynamics.algorithms.ldl import Factors, solve_factorised
from ada_dynamics.algorithms.rnea import gather_efforts
from ada_dynamics.constraints.elimination import EliminationPlans
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    body_wrenches,
    position_rates,
    quantity,
    reshape,
    substitute,
)
from ada_dynamics.dynamics.quantities.closed import Solver, digest
from ada_dynamics.dynamics.quantities.equations import inverse
from ada_dynamics.expr import Expr, Function, Traced, directional, extract, jvp, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns
from ada_dynamics.expr.per_lane import per_lane
from ada_dynamics.model.tree import WORLD, Tree, for_efforts
from ada_dynamics.spatial.vector import Scalar, is_zero

WIDEST = 8  # directions side by side, as many as the widest vectors have lanes
SHORT = 3  # branches of fewer velocities share a sweep

_ZERO: Scalar = 0.0


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
        tau, _ = residual(short, q, v, a)
        dq, dv = _by_state(tree, tau, q, v)
        return {"dq": dq, "dv": dv, "du": crba.mass_matrix(short, q).dense()}

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return quantity("inverse_derivatives", tree, ("q", "v", "a"), shapes, body)


def residual_derivatives(tree: Tree, plan: Plan, name: str = "residual_derivatives") -> Quantity:
    """∂r/∂q and ∂r/∂v of the residual of inverse dynamics with multipliers; q changes on the manifold."""
    n, rows = tree.nv, tree.nv + plan.constraint_count

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], multipliers: Sequence[Scalar] = ()
    ) -> Outputs:
        tau, conditions = residual(tree, q, v, a, plan, multipliers)
        dq, dv = _by_state(tree, [*tau, *conditions], q, v)
        return {"dq": dq, "dv": dv}

    shapes: dict[str, tuple[int, ...]] = {"dq": (rows, n), "dv": (rows, n)}
    extra = {"multipliers": plan.constraint_count} if plan.constraint_count else {}
    return quantity(name, tree, ("q", "v", "a"), shapes, body, extra=extra)


def pulled(tree: Tree) -> Quantity:
    """External wrenches on all bodies as efforts Jᵀ f of the joints, and how these change with q on the manifold."""
    n = tree.nv

    def body(q: Sequence[Scalar], wrenches: Sequence[Scalar]) -> Outputs:
        forces = body_wrenches(tree, wrenches)
        inwards = inward_sums(tree, transforms(tree, q), [forces[body.index] for body in tree.bodies])
        efforts = gather_efforts(tree, q, inwards)
        unit = [[float(i == j) for i in range(n)] for j in range(n)]
        moving = [dict(zip(q, position_rates(tree, q, e), strict=True)) for e in unit]
        columns = [directional(efforts, rates) for rates in moving]
        return {"efforts": efforts, "dq": [list(row) for row in zip(*columns, strict=True)]}

    shapes: dict[str, tuple[int, ...]] = {"efforts": (n,), "dq": (n, n)}
    return quantity("pulled", tree, ("q", "wrenches"), shapes, body)


class Equations(NamedTuple):
    """K [a; -λ] = [τ - h; -γ] of a mechanism, with K = [M Jᵀ; J 0], and how it is solved.

    Attributes:
        described: the mechanism.
        tree: the same, with base parameters where these serve, which may leave bodies without mass.
        plan: its constraints and their elimination order.
        tag: of the names of quantities; differs for any two ways to solve it.
        guards: of a solution, what must not be negative.
        algorithm: of forward dynamics, asked for while tracing; without loops products of derivatives go through it.
        way: of the names of these products, which differ by algorithm.
    """

    described: Tree
    tree: Tree
    plan: Plan
    tag: str
    guards: Callable[[ConstrainedSolution], Sequence[Scalar]]
    algorithm: Callable[[], str] = lambda: "crba"
    way: str = ""

    @property
    def size(self) -> int:
        """Number of accelerations and multipliers."""
        return self.tree.nv + self.plan.constraint_count

    def solve(self, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Solved:
        """Accelerations and multipliers, where they are to be differentiated."""
        closed, factors = kkt.solved(self.tree.nv, self.plan, kkt.system(self.tree, q, v, tau, self.plan))
        state = {"q": q, "v": v, "a": closed.accelerations}
        if self.plan.constraint_count:
            state["multipliers"] = closed.multipliers
        return Solved(factors, state, self.guards(closed))

    def quantity(
        self, name: str, shapes: dict[str, tuple[int, ...]], body: Callable[..., Traced], extra: Sequence[str] = ()
    ) -> Quantity:
        """A quantity of q, v, τ, and of more vectors of that length."""
        sizes = dict.fromkeys(extra, self.tree.nv)
        solves = not self.plan.rows
        return quantity(f"{name}{self.tag}", self.described, ("q", "v", "tau"), shapes, body, solves, extra=sizes)


class Solved(NamedTuple):
    """A solution of the equations."""

    factors: Factors
    state: dict[str, Sequence[Scalar]]  # q, v, a and the multipliers: arguments of the residual
    guards: Sequence[Scalar]


def open_equations(tree: Tree, algorithm: Callable[[], str] = lambda: "crba", way: str = "") -> Equations:
    """Of a mechanism without loops."""
    plan = Plan({}, tuple(range(tree.nv - 1, -1, -1)))
    return Equations(tree, for_efforts(tree), plan, "", lambda _: [], algorithm, way)


def closed_equations(tree: Tree, plans: EliminationPlans, solver: Solver) -> Equations:
    """Of a mechanism with loops."""
    tag = f"_closed_{solver.tag}_{digest(tree, plans, solver.plan)}"
    return Equations(tree, for_efforts(tree), solver.plan, tag, solver.guards)


def forward_derivatives(equations: Equations) -> Quantity:
    """∂a/∂q, ∂a/∂v and ∂a/∂τ.

    K [da; -dλ] = -dr, with the factors of K and the derivatives of the residual r at a and λ.
    """
    n, size = equations.tree.nv, equations.size
    of_residual = residual_derivatives(equations.tree, equations.plan)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Traced:
        solved = equations.solve(q, v, tau)
        flat = substitute(of_residual.trace(), solved.state)
        changes = Changes(solved.factors, n)
        columns = [changes.columns(name, reshape(flat[name], (size, n))) for name in ("dq", "dv")]
        efforts = [[-1.0 if i == j else 0.0 for j in range(n)] for i in range(size)]  # ∂r/∂τ
        return Traced({}, solved.guards, [*columns, changes.columns("du", efforts)])

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return equations.quantity("forward_derivatives", shapes, body)


def regressor(tree: Tree, links: Sequence[str]) -> Quantity:
    """Y of τ = Y π."""

    def body(q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Outputs:
        return {"Y": algorithm.regressor(tree, links, q, v, a)}

    columns = len(algorithm.parameters(tree, links))
    return quantity("regressor", tree, ("q", "v", "a"), {"Y": (tree.nv, columns)}, body)


class Changes:
    """Changes of a with many changes of the residual, a column each: [da; -dλ] = -K⁻¹ dr."""

    def __init__(self, factors: Factors, motions: int) -> None:
        """Args: the factors; number of accelerations, which are the first unknowns."""
        entries = [*factors.inverse, *(x for row in factors.rows for x in row.values())]
        self._shared = tuple(dict.fromkeys(x for x in entries if isinstance(x, Expr)))
        place = {x: k for k, x in enumerate(self._shared)}

        def body(shared: Sequence[Scalar], column: Sequence[Scalar]) -> Outputs:
            def own(x: Scalar) -> Scalar:
                return shared[place[x]] if isinstance(x, Expr) else x

            rows = [{i: own(x) for i, x in row.items()} for row in factors.rows]
            copy = Factors(factors.pivots, [own(x) for x in factors.inverse], rows, factors.order)
            x = solve_factorised(copy, column)
            return {"solution": [-y for y in x[:motions]]}

        self._each = trace("solution", {SHARED: max(len(self._shared), 1), COLUMN: len(factors.inverse)}, body)

    def columns(self, output: str, rows: Sequence[Sequence[Scalar]]) -> Columns:
        """An output with the changes for each column of dr."""
        return Columns(output, self._each, self._shared, tuple(map(tuple, rows)))


def _by_state(
    tree: Tree, values: Sequence[Scalar], q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Derivatives by q, along velocities, and by v: a row for each value.

    Directions of one branch have nearly all their work in common, and are the lanes of one sweep.
    """
    n = tree.nv
    dq = [[_ZERO] * n for _ in values]
    dv = [[_ZERO] * n for _ in values]
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
    """Velocities in groups of consecutive ones, at most WIDEST each, such that those of a group move nearly the same.

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
    return bool(group and more) and group[-1] + 1 == more[0] and len(group) + len(more) <= WIDEST


def inverse_along(tree: Tree) -> Quantity:
    """Derivative of inverse dynamics along one change d_q (a velocity: on the manifold) and d_v of the state."""
    return along(inverse(tree, external=False), tree, ("q", "v"))


def along(of: Quantity, tree: Tree, moving: Sequence[str]) -> Quantity:
    """Derivative of a quantity along one change of some arguments, "d_<name>" each; d_q is a velocity."""
    (result, shape), *_ = of.shapes.items()
    name = f"{of.name}_along"
    inputs = {**of.inputs, **{f"d_{one}": tree.nv if one == "q" else of.inputs[one] for one in moving}}

    def traced() -> Function:
        inner = jvp(of.trace(), wrt=moving)

        def body(**vectors: Sequence[Scalar]) -> Outputs:
            given = {**vectors, "d_q": position_rates(tree, vectors["q"], vectors["d_q"])}
            return {result: reshape(substitute(inner, given)[f"d_{result}"], shape)}

        return trace(name, inputs, body)

    return Quantity(name, inputs, {result: shape}, traced)
