# SPDX-License-Identifier: Apache-2.0
"""Quantities of mechanisms with loops: accelerations with multipliers, the whole system, its rates, joint wrenches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from math import log
from typing import Any, NamedTuple

from ada_dynamics.algorithms import ada, closed_aba, closure, dca, kkt, lagrange, rnea
from ada_dynamics.algorithms.assembly import Solution
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.kinematics import (
    at_rest,
    inward_sums,
    motions,
    standing_still,
    transforms,
    world_and_bodies,
)
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.constraints.elimination import EliminationPlans, late
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    body_wrenches,
    force_first,
    position_rates,
    quantity,
    reshape,
    substitute,
    tag_of,
)
from ada_dynamics.dynamics.quantities.equations import Order, order_tag
from ada_dynamics.errors import ModelError
from ada_dynamics.expr import Function, Traced, jvp, minimum, trace
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, Scalar

SOLVERS: dict[str, Callable[..., ConstrainedSolution]] = {
    "kkt": kkt.forward_dynamics,
    "aba": closed_aba.forward_dynamics,
    "lagrange": partial(kkt.forward_dynamics, equations=lagrange.mass_and_rest),
}
ASSEMBLIES: dict[str, Callable[..., Solution]] = {"ada": ada.solve, "dca": dca.solve}

EARLY_THRESHOLD = 1e-6  # of a typical pivot: an early order loses 1e-13 at 1e-4
LATE_THRESHOLD = 1e-8  # relative singular values of 1e-4 and more are left to it
# Of the conditions that stand for redundant ones, fixed for all poses: where a state leaves the loops by δ, as rounded
# numbers do, the error is δ over the root of this.
FIXED_THRESHOLD = 1e-2
# How far all conditions give way, of J M⁻¹ Jᵀ's mean: the error is 1e-12 where the smallest singular value squared is a
# hundredth of that, and 3 δ² over this off the loops by δ.
SOFTNESS = 1e-6
SMALLEST_INERTIA = 1e-12


class Solver(NamedTuple):
    """A way to close loops: its name, the plan that it follows, what it computes, and what must not be negative.

    `correct(q, r)` is the smallest step by kinetic energy that changes the conditions by -r; none by assembly.
    `weights` are those of the plan's combinations.
    """

    tag: str
    plan: Plan
    run: Callable[..., ConstrainedSolution]
    guards: Callable[[ConstrainedSolution], list[Scalar]]
    correct: Callable[[Sequence[Scalar], Sequence[Scalar]], ConstrainedSolution] | None = None
    weights: Sequence[Scalar] = ()


def elimination(tree: Tree, plans: EliminationPlans, name: str, smallest: float | None = None) -> Solver:
    """By a candidate of the plans, such as "kkt sparse", or by "late"; by Lagrange's equations in that order, too.

    `smallest` is the pivot, of a typical one, below which the guards stop it; by default as far as digits allow.
    """
    algorithm = "kkt" if name == "late" else name.split()[0]
    plan = plans.candidates.get(name, plans.late)
    threshold = smallest or (LATE_THRESHOLD if plan is plans.late else EARLY_THRESHOLD)
    short = for_efforts(tree)

    def run(*state: Any, **added: Any) -> ConstrainedSolution:
        # energies are written for rigid links as they are, and have no wrenches in them
        chosen = SOLVERS["kkt" if algorithm == "lagrange" and len(state) > 3 else algorithm]
        return chosen(tree if algorithm == "lagrange" else short, *state[:3], plan, *state[3:], **added)

    def correct(q: Sequence[Scalar], residuals: Sequence[Scalar]) -> ConstrainedSolution:
        rest: list[Scalar] = [0.0] * tree.nv
        chosen = SOLVERS["kkt" if algorithm == "lagrange" else algorithm]
        return chosen(unloaded(short), q, rest, rest, plan, rates=residuals)

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        return _pivot_guards(tree, plans, found, threshold)

    return Solver(name.replace(" ", "_"), plan, run, guards, correct)


def following(tree: Tree, plans: EliminationPlans, name: str, chosen: Sequence[Scalar]) -> Solver:
    """By combinations that follow the motion: their weights, and what must be left of the product of all pivots."""
    plan = plans.following.get(name) or next(iter(plans.following.values()))
    *weights, least = chosen
    solve, short = SOLVERS["aba" if name.startswith("aba") else "kkt"], for_efforts(tree)

    def run(*state: Any, **added: Any) -> ConstrainedSolution:
        return solve(short, *state[:3], plan, *state[3:], weights=weights, **added)

    def correct(q: Sequence[Scalar], residuals: Sequence[Scalar]) -> ConstrainedSolution:
        rest: list[Scalar] = [0.0] * tree.nv
        still = unloaded(short)
        return solve(still, q, rest, rest, plan, rates=residuals, weights=weights)

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        left = _determinant_left(plans, found, plans.following_typical, least)
        return [left, *_inertia_guards(tree, plans, found)]

    return Solver(f"following_{name.replace(' ', '_')}", plan, run, guards, correct, weights)


def all_conditions(tree: Tree, plans: EliminationPlans, softness: Sequence[float], usual: Sequence[float]) -> Solver:
    """By all conditions that act, dependent ones too.

    Args:
        tree: the mechanism.
        plans: its plans.
        softness: how far each condition gives way.
        usual: pivots in the sample poses, by condition.
    """
    plan = Plan(plans.rows, late(tree.nv, len(plans.nontrivial)))
    short = for_efforts(tree)

    def run(q: Any, v: Any, tau: Any, *external: Any) -> ConstrainedSolution:
        return kkt.softened(tree.nv, plan, kkt.system(short, q, v, tau, plan, *external), softness)

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        left: Scalar = 1.0
        for pivot, scale in zip(found.pivots, usual, strict=True):
            left = left * (pivot * (1.0 / scale))
        return [left - FIXED_THRESHOLD, *_inertia_guards(tree, plans, found)]

    return Solver(f"all_{tag_of(softness, usual)}", plan, run, guards)


def usual_pivots(samples: Sequence[Sequence[float]]) -> list[float]:
    """Those of the sample pose in which their product is neither the largest nor the smallest."""
    ordered = sorted(samples, key=lambda pivots: sum(log(max(pivot, 1e-300)) for pivot in pivots))
    return [float(pivot) for pivot in ordered[len(ordered) // 2]]


def assembly(tree: Tree, plans: EliminationPlans, algorithm: str, order: Order, typical: Sequence[float]) -> Solver:
    """By assembly; `typical` are its pivots, the smallest ones of each in the sample poses."""
    plan = plans.late

    def run(*state: Any) -> ConstrainedSolution:
        given = (*state, *([None] if len(state) == 3 else []))
        found = ASSEMBLIES[algorithm](tree, *given, order, plan.rows)
        return ConstrainedSolution(
            found.accelerations, found.multipliers, [p for ps in found.pivots.values() for p in ps], []
        )

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        left: Scalar = 1.0
        for pivot, scale in zip(found.pivots, typical, strict=True):
            left = left * (pivot * (1.0 / scale))
        return [left - (FIXED_THRESHOLD if plans.following else LATE_THRESHOLD)] if typical else []

    return Solver(f"{algorithm}{order_tag(order)}", plan, run, guards)


def forward(
    tree: Tree, plans: EliminationPlans, solver: Solver, external: bool, multipliers: bool = False, judged: bool = False
) -> Quantity:
    """Accelerations, guarded by the pivots; with the multipliers in use if wanted.

    Judged, the guards' smallest value is an output instead: of a batch it tells the states that need another way.
    """
    plan = solver.plan

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Traced:
        given = () if wrenches is None else (body_wrenches(tree, wrenches),)
        closed = solver.run(q, v, tau, *given)
        outputs: dict[str, Sequence[Scalar]] = {"a": closed.accelerations}
        if multipliers and plan.conditions:
            outputs["multipliers"] = closed.multipliers
        if judged:
            outputs["margin"] = [reduce(minimum, solver.guards(closed), 1.0)]
            return Traced(outputs)
        return Traced(outputs, solver.guards(closed))

    shapes: dict[str, tuple[int, ...]] = {"a": (tree.nv,)}
    if multipliers and plan.conditions:
        shapes["multipliers"] = (plan.conditions,)
    if judged:
        shapes["margin"] = (1,)
    inputs = ("q", "v", "tau", "wrenches") if external else ("q", "v", "tau")
    wanted = {"external": external, "multipliers": multipliers, "judged": judged}
    tag = "_".join([solver.tag, *(word for word, is_wanted in wanted.items() if is_wanted)])
    return quantity(f"closed_{tag}_{digest(tree, plans, plan)}", tree, inputs, shapes, body)


def digest(tree: Tree, plans: EliminationPlans, plan: Plan) -> str:
    """A plan is found on numbers; another one is another kernel."""
    sides = [loop.is_turned for loop in tree.loops]
    scales = (plans.following_typical,) if plan.combinations else (plans.typical, plans.determinant)
    return tag_of(plan, scales, bool(plans.following), sides)


def _pivot_guards(tree: Tree, plans: EliminationPlans, closed: ConstrainedSolution, threshold: float) -> list[Scalar]:
    guards: list[Scalar] = [p - threshold * typical for p, typical in zip(closed.pivots, plans.typical, strict=True)]
    if plans.following:
        guards.append(_determinant_left(plans, closed, plans.typical, FIXED_THRESHOLD * plans.determinant))
    return guards + _inertia_guards(tree, plans, closed)


def _determinant_left(
    plans: EliminationPlans, closed: ConstrainedSolution, typical: Sequence[float], least: Scalar
) -> Scalar:
    """Not negative if the determinant of the system, scaled as in `EliminationPlans`, is at least `least`."""
    left: Scalar = 1.0
    for pivot, scale in zip(closed.pivots, typical, strict=True):
        left = left * (pivot * (1.0 / scale))
    right = least
    for inverse, scale in zip(closed.inverse_inertias, plans.inertias, strict=True):
        right = right * (inverse * scale)
    return left - right


def _inertia_guards(tree: Tree, plans: EliminationPlans, closed: ConstrainedSolution) -> list[Scalar]:
    guards: list[Scalar] = []
    if plans.inertias and has_singular_inertias(tree):  # of very long mechanisms none are known
        for inverse, typical in zip(closed.inverse_inertias, plans.inertias, strict=True):
            guards += [inverse, 1.0 / (SMALLEST_INERTIA * typical) - inverse]
    return guards


# --- the system, for the tiers that work on numbers -----------------------------------------------------------------
def system(tree: Tree, plans: EliminationPlans) -> Quantity:
    """M, τ - h, and J, γ of the conditions that act."""
    rows = plans.rows
    count = len(plans.nontrivial)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar]) -> Outputs:
        h = rnea.inverse_dynamics(tree, q, v, None, body_wrenches(tree, wrenches))
        J, rate = _conditions(tree, rows, q, v)
        return {
            "M": mass_matrix(tree, q).dense(),
            "r": [t - b for t, b in zip(tau, h, strict=True)],
            "J": J,
            "rate": rate,
        }

    n = tree.nv
    shapes: dict[str, tuple[int, ...]] = {"M": (n, n), "r": (n,), "J": (count, n), "rate": (count,)}
    name = f"loop_system_{digest(tree, plans, plans.late)}"
    return quantity(name, tree, ("q", "v", "tau", "wrenches"), shapes, body)


def _conditions(
    tree: Tree, rows: Mapping[str, tuple[int, ...]], q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    X = transforms(tree, q)
    moving = world_and_bodies(tree, X, q, v, gravity=False)
    found = [r for loop in tree.loops for r in closure.loop_rows(tree, X, q, v, moving, loop, rows[loop.name])]
    return [[row.columns.get(k, 0.0) for k in range(tree.nv)] for row in found], [row.rate for row in found]


def conditions(tree: Tree, plans: EliminationPlans) -> Quantity:
    """J and γ of the conditions that act."""
    rows, count = plans.rows, len(plans.nontrivial)

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
        J, rate = _conditions(tree, rows, q, v)
        return {"J": J, "rate": rate}

    shapes: dict[str, tuple[int, ...]] = {"J": (count, tree.nv), "rate": (count,)}
    return quantity(f"loop_conditions_{digest(tree, plans, plans.late)}", tree, ("q", "v"), shapes, body)


def condition_rates(tree: Tree, plans: EliminationPlans) -> Quantity:
    """Rates of J and of γ while q moves with v and v itself stays: J̇ and (∂γ/∂q) v."""
    of_state = conditions(tree, plans)
    name = f"{of_state.name}_rates"
    inputs = {"q": tree.nq, "v": tree.nv}

    def traced() -> Function:
        inner = jvp(of_state.trace(), wrt=("q",))

        def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
            flat = substitute(inner, {"q": q, "v": v, "d_q": position_rates(tree, q, v)})
            return {key: reshape(flat[f"d_{key}"], shape) for key, shape in of_state.shapes.items()}

        return trace(name, inputs, body)

    return Quantity(name, inputs, of_state.shapes, traced)


def projected(tree: Tree, solver: Solver, q: Sequence[Scalar], v: Sequence[Scalar]) -> Traced:
    """One step towards the state on the loops that is nearest by kinetic energy (see `constraints.projection`).

    Position: q - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁻¹ gap, velocity: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁻¹ J v, both with the factors of forward
    dynamics.
    """
    plan, correct = solver.plan, solver.correct
    if correct is None:
        raise ModelError(f"{solver.tag} does not close gaps; eliminations do")
    X = transforms(tree, q)
    gaps = plan.in_use(tree, solver.weights, lambda loop, own: closure.closure_error(tree, X, loop, own), _weighted_sum)
    of_position, of_velocity = correct(q, gaps), correct(q, speeds(tree, solver, q, v))
    moved = position_rates(tree, q, of_position.accelerations)
    kept = [a + b for a, b in zip(v, of_velocity.accelerations, strict=True)]
    outputs = {"position": [a + b for a, b in zip(q, moved, strict=True)], "velocity": kept}
    return Traced(outputs, solver.guards(of_position))


def speeds(tree: Tree, solver: Solver, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """J v: the rate of each condition in use."""
    X, rest = transforms(tree, q), no_velocity(tree)
    rows = planned_rows(tree, X, q, rest, standing_still(tree), solver.plan, solver.weights)
    return [sum((row.columns.get(k, 0.0) * x for k, x in enumerate(v)), ZERO) for row in rows]


def _weighted_sum(weights: Sequence[Scalar], items: Sequence[Scalar]) -> Scalar:
    return sum((w * x for w, x in zip(weights, items, strict=True)), ZERO)


def gap(tree: Tree) -> Quantity:
    """Gap of every condition of every loop."""
    count = sum(len(closure.row_kinds(loop)) for loop in tree.loops)

    def body(q: Sequence[Scalar]) -> Outputs:
        X = transforms(tree, q)
        return {"gap": [g for loop in tree.loops for g in closure.closure_error(tree, X, loop)]}

    name = "loop_gap" + ("_turned" if any(loop.is_turned for loop in tree.loops) else "")
    return quantity(name, tree, ("q",), {"gap": (count,)}, body)


def closing(tree: Tree) -> Quantity:
    """Newton's terms to close a pose: gap and J of every condition, and which loops are the right way round."""
    rows = {loop.name: tuple(range(len(closure.row_kinds(loop)))) for loop in tree.loops}
    count = sum(map(len, rows.values()))

    def body(q: Sequence[Scalar]) -> Outputs:
        X = transforms(tree, q)
        return {
            "gap": [g for loop in tree.loops for g in closure.closure_error(tree, X, loop)],
            "J": _conditions(tree, rows, q, no_velocity(tree))[0],
            "agreement": [closure.agreement(tree, X, loop) for loop in tree.loops],
        }

    shapes: dict[str, tuple[int, ...]] = {"gap": (count,), "J": (count, tree.nv), "agreement": (len(tree.loops),)}
    return quantity("loop_closing", tree, ("q",), shapes, body)


# --- wrenches --------------------------------------------------------------------------------------------------------
def joint_wrenches(tree: Tree, links: Sequence[str], rows: Mapping[str, tuple[int, ...]], external: bool) -> Quantity:
    """Wrench of every joint on its child, tree joints first, then loop joints.

    A tree joint's is about the origin of its child link, in that link's axes; a loop joint's likewise at and in its
    child-side frame.

    Args:
        tree: one body per link, so that fixed joints have their own.
        links: the link of each body.
        rows: conditions in use by loop; their multipliers are an argument.
        external: whether wrenches act on links.
    """
    count = sum(len(r) for r in rows.values())

    def body(**given: Sequence[Scalar]) -> Outputs:
        q, v, a = given["q"], given["v"], given["a"]
        X = transforms(tree, q)
        moving = motions(tree, X, q, v, a, at_rest(-tree.gravity))
        own = [rnea.needed_force(b.inertia, m) for b, m in zip(tree.bodies, moving, strict=True)]
        for i, wrench in (body_wrenches(tree, given["wrenches"]) if external else {}).items():
            own[i] = own[i] - wrench
        closing = _closing_wrenches(tree, X, q, rows, given["multipliers"] if count else (), own)
        carried = inward_sums(tree, X, own)
        at_links = [tree.frames[link].pose.to_child(f) for link, f in zip(links, carried, strict=True)]
        return {"wrench": [force_first(f) for f in (*at_links, *closing)]}

    inputs = ["q", "v", "a"] + (["wrenches"] if external else [])
    shapes: dict[str, tuple[int, ...]] = {"wrench": (len(tree.bodies) + len(tree.loops), 6)}
    sides = [loop.is_turned for loop in tree.loops]
    name = f"joint_wrenches_{tag_of(sorted(rows.items()), sides)}" + ("_external" if external else "")
    return quantity(name, tree, inputs, shapes, body, extra={"multipliers": count} if count else {})


def _closing_wrenches(
    tree: Tree,
    X: Sequence[Transform],
    q: Sequence[Scalar],
    rows: Mapping[str, tuple[int, ...]],
    multipliers: Sequence[Scalar],
    needed: list[Force],
) -> list[Force]:
    """Wrenches of the loop joints, which also are taken off what their two bodies need from the tree."""
    rest, still = no_velocity(tree), standing_still(tree)
    left = iter(multipliers)
    result = []
    for loop in tree.loops:
        total = NO_FORCE
        for row in closure.loop_rows(tree, X, q, rest, still, loop, rows[loop.name]):
            x = next(left)
            total = total + x * row.own
            for i, wrench in row.wrenches.items():
                needed[i] = needed[i] - x * wrench
        result.append(loop.turn.to_parent(total))
    return result
