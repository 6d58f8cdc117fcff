# SPDX-License-Identifier: Apache-2.0
"""Quantities of mechanisms with loops: accelerations and multipliers, constraints, efforts, tangent map, wrenches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from math import log
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import ada, closed_aba, closure, dca, effort_distribution, jacobians, kkt, lagrange, rnea
from ada_dynamics.algorithms.assembly import Solution
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.effort_distribution import Sharing
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.kinematics import (
    at_rest,
    motions,
    standing_still,
    transforms,
)
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.constraints.analysis import ConstraintAnalysis
from ada_dynamics.constraints.constraint_set import ConstraintSet, carried_forces, dense_rows, loop_equations
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.constraints.elimination import EliminationPlans, late
from ada_dynamics.constraints.tangent_map import SUSPICIOUS, MapOrder
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    body_wrenches,
    force_first,
    position_guards,
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
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.spatial.vector import ZERO, Scalar

SOLVERS: dict[str, Callable[..., ConstrainedSolution]] = {
    "kkt": kkt.forward_dynamics,
    "aba": closed_aba.forward_dynamics,
    "lagrange": partial(kkt.forward_dynamics, equations=lagrange.mass_and_rest),
}
ASSEMBLIES: dict[str, Callable[..., Solution]] = {"ada": ada.solve, "dca": dca.solve}

EARLY_THRESHOLD = 1e-6  # of a typical pivot; the error of an early order is 1e-13 at 1e-4
LATE_THRESHOLD = 1e-8  # corresponds to relative singular values of 1e-4
# Smallest determinant of independent constraints that represent redundant ones in all configurations: in a state with
# the violation δ the error is δ over the root of this.
FIXED_THRESHOLD = 1e-2
# Compliance of all constraints relative to the mean of J M⁻¹ Jᵀ: the error is 1e-12 where the smallest singular value
# squared is a hundredth of that mean, and 3 δ² over this in a state with the violation δ.
SOFTNESS = 1e-6
SMALLEST_INERTIA = 1e-12
# Of a typical pivot. Smaller pivots are refused, and with them every singular configuration
# (`constraints.singular.SINGULAR`), where the efforts are those along a branch. At 1e-5 one of 35 such configurations
# of a Delta robot was accepted, at 1e-6 20 of them.
SMALLEST_SHARE = 1e-4
_REGULAR = 1e-6  # smallest eigenvalue of E + JᵀJ, in the usual sample pose
LEAST_PIVOT = 1e-2  # fraction of its typical size; smaller ones lose digits or belong to a singular configuration


class Solver(NamedTuple):
    """A solver of the equations of motion with constraints: its name, elimination plan, equations and guards.

    `guards` of a solution must not be negative. `correct(q, r)` is the smallest step by kinetic energy that changes the
    violation by -r; None for assembly. `weights` are those of the plan's combinations.
    """

    tag: str
    plan: Plan
    run: Callable[..., ConstrainedSolution]
    guards: Callable[[ConstrainedSolution], list[Scalar]]
    correct: Callable[[Sequence[Scalar], Sequence[Scalar]], ConstrainedSolution] | None = None
    weights: Sequence[Scalar] = ()


def elimination(tree: Tree, plans: EliminationPlans, name: str, smallest: float | None = None) -> Solver:
    """Solver by a candidate of the plans, such as "kkt sparse", by "late", or by Lagrange's equations in late order.

    `smallest` is the share of a typical pivot below which a state is refused; by default as small as rounding allows.
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
    """Solver with combinations of constraints that are updated: `chosen` are their weights and smallest determinant."""
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


def all_constraints(tree: Tree, plans: EliminationPlans, softness: Sequence[float], usual: Sequence[float]) -> Solver:
    """Solver with all non-trivial constraints, dependent ones too.

    Args:
        tree: the mechanism.
        plans: its plans.
        softness: compliance of each constraint.
        usual: pivots in the sample configurations, by constraint.
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
    """Pivots of the sample configuration with the median product of pivots."""
    ordered = sorted(samples, key=lambda pivots: sum(log(max(pivot, 1e-300)) for pivot in pivots))
    return [float(pivot) for pivot in ordered[len(ordered) // 2]]


def assembly(tree: Tree, plans: EliminationPlans, algorithm: str, order: Order, typical: Sequence[float]) -> Solver:
    """Solver by assembly; `typical` are its pivots, the smallest of each in the sample configurations."""
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
    """Accelerations, guarded by the pivots, and optionally the multipliers in use.

    Judged, the smallest guard is an output instead; it shows which states of a batch need another solver.
    """
    plan = solver.plan

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Traced:
        given = () if wrenches is None else (body_wrenches(tree, wrenches),)
        closed = solver.run(q, v, tau, *given)
        outputs: dict[str, Sequence[Scalar]] = {"a": closed.accelerations}
        if multipliers and plan.constraint_count:
            outputs["multipliers"] = closed.multipliers
        if judged:
            outputs["margin"] = [reduce(minimum, solver.guards(closed), 1.0)]
            return Traced(outputs)
        return Traced(outputs, solver.guards(closed))

    shapes: dict[str, tuple[int, ...]] = {"a": (tree.nv,)}
    if multipliers and plan.constraint_count:
        shapes["multipliers"] = (plan.constraint_count,)
    if judged:
        shapes["margin"] = (1,)
    inputs = ("q", "v", "tau", "wrenches") if external else ("q", "v", "tau")
    wanted = {"external": external, "multipliers": multipliers, "judged": judged}
    tag = "_".join([solver.tag, *(word for word, is_wanted in wanted.items() if is_wanted)])
    return quantity(f"closed_{tag}_{digest(tree, plans, plan)}", tree, inputs, shapes, body)


def digest(tree: Tree, plans: EliminationPlans, plan: Plan) -> str:
    """Key of a plan, which is found on numbers; kernels of different plans differ."""
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
    if plans.inertias and has_singular_inertias(tree):  # unknown for very long mechanisms
        for inverse, typical in zip(closed.inverse_inertias, plans.inertias, strict=True):
            guards += [inverse, 1.0 / (SMALLEST_INERTIA * typical) - inverse]
    return guards


# --- constraints and the whole system, for solvers on numbers ---------------------------------------------------------
def system(constraints: ConstraintSet, plans: EliminationPlans) -> Quantity:
    """M, τ - h, and J, γ of the non-trivial constraints."""
    tree, (count, n) = constraints.tree, (len(plans.nontrivial), constraints.tree.nv)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar]) -> Outputs:
        h = rnea.inverse_dynamics(tree, q, v, None, body_wrenches(tree, wrenches))
        r = [t - b for t, b in zip(tau, h, strict=True)]
        return {"M": mass_matrix(tree, q).dense(), "r": r, **_terms(constraints, plans, q, v)}

    shapes: dict[str, tuple[int, ...]] = {"M": (n, n), "r": (n,), "J": (count, n), "rate": (count,)}
    name = f"loop_system_{digest(tree, plans, plans.late)}"
    return quantity(name, tree, ("q", "v", "tau", "wrenches"), shapes, body)


def _terms(constraints: ConstraintSet, plans: EliminationPlans, q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
    rows = constraints.equations(q, v, plans.rows)
    return {"J": dense_rows(rows, constraints.tree.nv), "rate": [row.rate for row in rows]}


def constraint_terms(constraints: ConstraintSet, plans: EliminationPlans) -> Quantity:
    """J and γ of the non-trivial constraints."""
    tree, count = constraints.tree, len(plans.nontrivial)
    shapes: dict[str, tuple[int, ...]] = {"J": (count, tree.nv), "rate": (count,)}
    name = f"constraint_terms_{digest(tree, plans, plans.late)}"
    return quantity(name, tree, ("q", "v"), shapes, lambda q, v: _terms(constraints, plans, q, v))


def constraint_rates(constraints: ConstraintSet, plans: EliminationPlans) -> Quantity:
    """Rates of J and of γ while q moves with v and v itself is constant: J̇ and (∂γ/∂q) v."""
    tree, of_state = constraints.tree, constraint_terms(constraints, plans)
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
    """J v: rate of each constraint in use."""
    X, rest = transforms(tree, q), no_velocity(tree)
    rows = planned_rows(tree, X, q, rest, standing_still(tree), solver.plan, solver.weights)
    return [sum((row.columns.get(k, 0.0) * x for k, x in enumerate(v)), ZERO) for row in rows]


def _weighted_sum(weights: Sequence[Scalar], items: Sequence[Scalar]) -> Scalar:
    return sum((w * x for w, x in zip(weights, items, strict=True)), ZERO)


def violation(constraints: ConstraintSet) -> Quantity:
    """Violation of every constraint of every loop."""
    name = "loop_violation" + ("_turned" if any(loop.is_turned for loop in constraints.tree.loops) else "")
    shapes: dict[str, tuple[int, ...]] = {"gap": (len(constraints.rows),)}
    return quantity(name, constraints.tree, ("q",), shapes, lambda q: {"gap": constraints.violation(q)})


def closing(constraints: ConstraintSet) -> Quantity:
    """Violation and J of every constraint, and a negative number for each loop with an opposite axis or frame."""
    tree, count = constraints.tree, len(constraints.rows)

    def body(q: Sequence[Scalar]) -> Outputs:
        X = transforms(tree, q)
        agreement = [closure.agreement(tree, X, loop) for loop in tree.loops]
        return {"gap": constraints.violation(q), "J": constraints.jacobian(q), "agreement": agreement}

    shapes: dict[str, tuple[int, ...]] = {"gap": (count,), "J": (count, tree.nv), "agreement": (len(tree.loops),)}
    return quantity("loop_closing", tree, ("q",), shapes, body)


# --- efforts of the motors, and the tangent map -----------------------------------------------------------------------
def shared_inverse(
    analysis: ConstraintAnalysis,
    plans: EliminationPlans,
    external: bool,
    by_all: bool = False,
    smallest: float = SMALLEST_SHARE,
    judged: bool = False,
) -> Quantity | None:
    """Least efforts of the motors from q, v and a; None where only the rank-revealing solver applies.

    The efforts of the tree, distributed among the motors by the constraints in use or, of redundant loops on devices,
    by all that are not trivial.

    Args:
        analysis: of the mechanism.
        plans: its elimination plans.
        external: whether wrenches act on links.
        by_all: by all non-trivial constraints, dependent ones too.
        smallest: the pivot, of a typical one, below which a state is refused.
        judged: return the smallest guard as an output, and refuse no state.
    """
    sharing = None if plans.is_dense_only else _sharing(analysis, plans, by_all)
    if sharing is None:
        return None
    tree, nv = analysis.constraints.tree, analysis.constraints.model.nv
    samples = [effort_distribution.solve(tree, q.tolist(), [0.0] * nv, sharing)[1] for q in analysis.configurations]
    # pivots of the velocities, then those of the constraints
    usual = np.array([[*(1.0 / x for x in found.inverse_inertias), *found.pivots] for found in samples], dtype=float)
    is_redundant = analysis.is_redundant
    typical = usual_pivots(usual.tolist()) if is_redundant else np.median(usual, axis=0).tolist()
    if min(typical) <= 0.0:
        return None
    short = for_efforts(tree)

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Traced:
        acting = None if wrenches is None else body_wrenches(tree, wrenches)
        wanted = rnea.inverse_dynamics(short, q, v, a, acting)
        tau, found = effort_distribution.solve(tree, q, wanted, sharing)
        guards = _effort_guards(found, typical, smallest, is_redundant)
        if judged:
            return Traced({"tau": tau, "margin": [reduce(minimum, guards, 1.0)]})
        return Traced({"tau": tau}, guards)

    inputs = ("q", "v", "a", "wrenches") if external else ("q", "v", "a")
    shapes: dict[str, tuple[int, ...]] = {"tau": (nv,)}
    if judged:
        shapes["margin"] = (1,)
    name = f"inverse_shared_{tag_of(sharing, typical, smallest)}{'_external' * external}{'_judged' * judged}"
    return quantity(name, tree, inputs, shapes, body)


def _sharing(analysis: ConstraintAnalysis, plans: EliminationPlans, by_all: bool) -> Sharing | None:
    """None if the motors do not drive all motions that the loops allow."""
    constraints, model = analysis.constraints, analysis.constraints.model
    nv, chosen = model.nv, range(len(plans.nontrivial)) if by_all else plans.independent
    rows = [plans.nontrivial[c] for c in chosen]
    units = constraints.weights[rows] * constraints.length
    samples = [constraints.jacobian(q)[rows] / units[:, None] for q in analysis.configurations]
    motors = tuple(velocities_of(model, [name for name in model.actuated if name != model.floating_joint]))
    E = np.diag(np.isin(np.arange(nv), motors).astype(float))
    blocks = [E + J.T @ J for J in samples]
    if np.median([np.linalg.eigvalsh(block)[0] for block in blocks]) < _REGULAR:
        return None
    # early multipliers would save half of the operations, and lose four digits more where E + JᵀJ is nearly singular
    plan = Plan(plans.rows if by_all else plans.late.rows, late(nv, len(chosen)))
    return Sharing(plan, tuple(units.tolist()), motors, (SOFTNESS,) * len(chosen) if by_all else ())


def _effort_guards(
    found: ConstrainedSolution, typical: Sequence[float], smallest: float, is_redundant: bool
) -> list[Scalar]:
    n = len(found.inverse_inertias)
    guards: list[Scalar] = []
    for inverse, scale in zip(found.inverse_inertias, typical[:n], strict=True):
        guards += [inverse, 1.0 / (smallest * scale) - inverse]
    shares = [pivot * (1.0 / scale) for pivot, scale in zip(found.pivots, typical[n:], strict=True)]
    if is_redundant:  # single pivots of dependent constraints are arbitrary
        return [*guards, reduce(mul, shares, 1.0) - FIXED_THRESHOLD]
    return [*guards, *(share - smallest for share in shares)]


def tangent_map(tree: Tree, order: MapOrder, units: Sequence[float]) -> Quantity:
    """T of v = T y, guarded by the pivots and by its size, which grows without bound where y does not determine v.

    Args:
        tree: the mechanism.
        order: of elimination.
        units: of the velocities, for the size.
    """

    def body(q: Sequence[Scalar]) -> Traced:
        found = [row.columns for row in loop_equations(tree, q, chosen=order.rows)]
        T, pivots = jacobians.tangent_map(found, order.pivots, order.chosen)
        guards = [
            (p * p) * (1.0 / typical**2) - LEAST_PIVOT**2 for p, typical in zip(pivots, order.typical, strict=True)
        ]
        size: Scalar = ZERO
        for k, row in T.items():
            for column, x in row.items():
                size = size + (x * x) * (units[order.chosen[column]] / units[k]) ** 2
        whole = [[T[k].get(column, 0.0) for column in range(len(order.chosen))] for k in range(tree.nv)]
        return Traced({"T": whole}, [*guards, SUSPICIOUS**-2 - size])

    name = f"tangent_map_{tag_of(order, tuple(units))}"
    return quantity(name, tree, ("q",), {"T": (tree.nv, len(order.chosen))}, body)


def tangent_map_rate(of_position: Quantity, tree: Tree) -> Quantity:
    """T and its time derivative along v, guarded alike; the least square of a pivot by its typical size, up to 1."""
    shape = of_position.shapes["T"]

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Traced:
        assert of_position.body is not None
        found = of_position.body(q=q)
        changes = substitute(jvp(of_position.trace(), wrt=("q",)), {"q": q, "d_q": position_rates(tree, q, v)})
        least = reduce(minimum, found.guards[len(position_guards(tree, q)) :], 1.0)
        outputs = {"T": found.outputs["T"], "rate": reshape(changes["d_T"], shape), "least": [least]}
        return Traced(outputs, found.guards)

    shapes = {"T": shape, "rate": shape, "least": (1,)}
    return quantity(f"{of_position.name}_rate_least", tree, ("q", "v"), shapes, body)


# --- wrenches ---------------------------------------------------------------------------------------------------------
def joint_wrenches(tree: Tree, links: Sequence[str], rows: Mapping[str, tuple[int, ...]], external: bool) -> Quantity:
    """Wrench of every joint on its child, tree joints first, then loop joints.

    A tree joint's is about the origin of its child link, in that link's axes; a loop joint's likewise at and in its
    child-side frame.

    Args:
        tree: one body per link, so that fixed joints have their own.
        links: the link of each body.
        rows: constraints in use by loop; their multipliers are an argument.
        external: whether wrenches act on links.
    """
    count = sum(len(r) for r in rows.values())
    loops = [loop.name for loop in tree.loops for _ in rows[loop.name]]

    def body(**given: Sequence[Scalar]) -> Outputs:
        q, v, a = given["q"], given["v"], given["a"]
        X = transforms(tree, q)
        moving = motions(tree, X, q, v, a, at_rest(-tree.gravity))
        own = [rnea.needed_force(b.inertia, m) for b, m in zip(tree.bodies, moving, strict=True)]
        for i, wrench in (body_wrenches(tree, given["wrenches"]) if external else {}).items():
            own[i] = own[i] - wrench
        equations = loop_equations(tree, q, chosen=rows)
        found = carried_forces(tree, links, X, loops, equations, given["multipliers"] if count else (), own)
        return {"wrench": [force_first(f) for f in found]}

    inputs = ["q", "v", "a"] + (["wrenches"] if external else [])
    shapes: dict[str, tuple[int, ...]] = {"wrench": (len(tree.bodies) + len(tree.loops), 6)}
    sides = [loop.is_turned for loop in tree.loops]
    name = f"joint_wrenches_{tag_of(sorted(rows.items()), sides)}" + ("_external" if external else "")
    return quantity(name, tree, inputs, shapes, body, extra={"multipliers": count} if count else {})
