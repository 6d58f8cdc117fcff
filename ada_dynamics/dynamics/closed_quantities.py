# SPDX-License-Identifier: Apache-2.0
"""Quantities of mechanisms with loops: accelerations and multipliers, constraints, efforts, tangent map, wrenches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from math import log
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import ada, closed_aba, closure, dca, effort_distribution, jacobians, kkt, lagrange, rnea
from ada_dynamics.algorithms.assembly import AssemblySolution
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.effort_distribution import Sharing
from ada_dynamics.algorithms.kinematics import at_rest, motions, position_rates, standing_still, transforms
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.constraints.analysis import ConstraintAnalysis
from ada_dynamics.constraints.constraint_set import ConstraintSet, carried_forces, dense_rows, loop_equations
from ada_dynamics.constraints.coordinates import SUSPICIOUS, MapOrder, velocities_of
from ada_dynamics.constraints.elimination import EliminationPlans
from ada_dynamics.constraints.elimination_orders import late
from ada_dynamics.dynamics.quantities import (
    Order,
    Outputs,
    Quantity,
    QuantityRow,
    Vector,
    body_wrenches,
    force_first,
    order_tag,
    position_guards,
    quantity,
    rate_of,
    tag_of,
)
from ada_dynamics.errors import ModelError
from ada_dynamics.expr import Traced, minimum
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.spatial.vector import ZERO, Scalar, product

SOLVERS: dict[str, Callable[..., ConstrainedSolution]] = {
    "kkt": kkt.forward_dynamics,
    "aba": closed_aba.forward_dynamics,
    "lagrange": partial(kkt.forward_dynamics, equations=lagrange.mass_and_rest),
}
ASSEMBLIES: dict[str, Callable[..., AssemblySolution]] = {"ada": ada.solve, "dca": dca.solve}

EARLY_THRESHOLD = 1e-6  # of a typical pivot; the error of an early order is 1e-13 at 1e-4
LATE_THRESHOLD = 1e-8  # corresponds to relative singular values of 1e-4
# Smallest determinant of independent constraints that represent redundant ones in all configurations: in a state with
# the violation δ the error is δ over the root of this.
FIXED_THRESHOLD = 1e-2
# Compliance of all constraints relative to the mean of J M⁻¹ Jᵀ: the error is 3 δ² over this in a state with the
# violation δ.
COMPLIANCE = 1e-6
# Largest change of the accelerations by the last refinement, relative to their size; the error is a thousandth of it.
LAST_CHANGE = 1e-9
SMALLEST_INERTIA = 1e-12
# Of a typical pivot. Smaller pivots are refused, and with them every singular configuration
# (`constraints.singular.SINGULAR`), where the efforts are those along a branch. At 1e-5 one of 35 such configurations
# of a Delta robot was accepted, at 1e-6 20 of them.
SMALLEST_SHARE = 1e-4
_REGULAR = 1e-6  # smallest eigenvalue of E + JᵀJ, in the usual sample pose
LEAST_PIVOT = 1e-2  # fraction of its typical size; smaller ones lose digits or belong to a singular configuration


# --- solvers ----------------------------------------------------------------------------------------------------------
class Solver(NamedTuple):
    """A solver of the equations of motion with constraints: its name, elimination plan, equations and guards.

    `guards` of a solution must not be negative. `correct(q, r)` is the smallest step by kinetic energy that changes the
    violation by -r; None for assembly. `weights` are those of the plan's combinations.
    """

    tag: str
    plan: Plan
    run: Callable[..., ConstrainedSolution]
    guards: Callable[[ConstrainedSolution], list[Scalar]]
    correct: Callable[[Vector, Vector], ConstrainedSolution] | None = None
    weights: Vector = ()


def elimination(tree: Tree, plans: EliminationPlans, name: str, smallest: float | None = None) -> Solver:
    """Solver by a candidate of the plans, such as "kkt sparse", by "late", or by Lagrange's equations in late order.

    `smallest` is the share of a typical pivot below which a state is refused; by default as small as rounding allows.
    """
    plan = plans.candidates.get(name, plans.late)
    threshold = smallest or (LATE_THRESHOLD if plan is plans.late else EARLY_THRESHOLD)

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        own: list[Scalar] = [p - threshold * typical for p, typical in zip(found.pivots, plans.typical, strict=True)]
        if plans.combined:
            own.append(_determinant_left(plans, found, plans.typical, FIXED_THRESHOLD * plans.determinant))
        return own + _inertia_guards(tree, plans, found)

    return _by_elimination(tree, name, "kkt" if name == "late" else name.split()[0], plan, guards)


def combined_elimination(tree: Tree, plans: EliminationPlans, name: str, chosen: Vector) -> Solver:
    """Solver with combinations of constraints that are updated: `chosen` are their weights and smallest determinant."""
    plan = plans.combined.get(name) or next(iter(plans.combined.values()))
    *weights, least = chosen

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        left = _determinant_left(plans, found, plans.combined_typical, least)
        return [left, *_inertia_guards(tree, plans, found)]

    algorithm = "aba" if name.startswith("aba") else "kkt"
    return _by_elimination(tree, f"combined_{name}", algorithm, plan, guards, weights)


def _by_elimination(
    tree: Tree,
    name: str,
    algorithm: str,
    plan: Plan,
    guards: Callable[[ConstrainedSolution], list[Scalar]],
    weights: Vector = (),
) -> Solver:
    # energies are written for rigid links as they are, and have no wrenches in them
    short, of_energies = for_efforts(tree), algorithm == "lagrange"

    def run(*state: Any, **added: Any) -> ConstrainedSolution:
        chosen = SOLVERS["kkt" if of_energies and len(state) > 3 else algorithm]
        return chosen(tree if of_energies else short, *state[:3], plan, *state[3:], weights=weights, **added)

    def correct(q: Vector, residuals: Vector) -> ConstrainedSolution:
        chosen, rest = SOLVERS["kkt" if of_energies else algorithm], no_velocity(tree)
        return chosen(unloaded(short), q, rest, rest, plan, rates=residuals, weights=weights)

    return Solver(name.replace(" ", "_"), plan, run, guards, correct, weights)


def all_constraints(tree: Tree, plans: EliminationPlans, compliance: Sequence[float], usual: Sequence[float]) -> Solver:
    """Solver with all non-trivial constraints, dependent ones too, by their compliance and `usual_pivots`."""
    plan = Plan(plans.rows, late(tree.nv, len(plans.nontrivial)))
    short = for_efforts(tree)

    def run(q: Any, v: Any, tau: Any, *external: Any) -> ConstrainedSolution:
        return kkt.solved_with_compliance(tree.nv, plan, kkt.system(short, q, v, tau, plan, *external), compliance)

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        pivots = scaled_product(found.pivots, usual) - FIXED_THRESHOLD
        return [pivots, _converged(found), *_inertia_guards(tree, plans, found)]

    return Solver(f"all_{tag_of(compliance, usual)}", plan, run, guards)


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
        return ConstrainedSolution(found.accelerations, found.multipliers, found.pivots, [])

    def guards(found: ConstrainedSolution) -> list[Scalar]:
        least = FIXED_THRESHOLD if plans.combined else LATE_THRESHOLD
        return [scaled_product(found.pivots, typical) - least] if typical else []

    return Solver(f"{algorithm}{order_tag(order)}", plan, run, guards)


def digest(tree: Tree, plans: EliminationPlans, plan: Plan) -> str:
    """Key of a plan, which is found on numbers; kernels of different plans differ."""
    scales = (plans.combined_typical,) if plan.combinations else (plans.typical, plans.determinant)
    return tag_of(plan, scales, bool(plans.combined), [loop.is_turned for loop in tree.loops])


def scaled_product(pivots: Iterable[Scalar], scales: Iterable[float]) -> Scalar:
    """Product of the pivots by their typical sizes."""
    return reduce(mul, (pivot * (1.0 / scale) for pivot, scale in zip(pivots, scales, strict=True)), 1.0)


def _converged(found: ConstrainedSolution) -> Scalar:
    """Not negative if the refinements of compliant constraints have converged."""
    change, size = (sum((x * x for x in values), ZERO) for values in (found.last_change, found.accelerations))
    return LAST_CHANGE**2 * size - change


def _determinant_left(
    plans: EliminationPlans, closed: ConstrainedSolution, typical: Sequence[float], least: Scalar
) -> Scalar:
    """Not negative if the determinant of the system, scaled as in `EliminationPlans`, is at least `least`."""
    right = least
    for inverse, scale in zip(closed.inverse_inertias, plans.inertias, strict=True):
        right = right * (inverse * scale)
    return scaled_product(closed.pivots, typical) - right


def _inertia_guards(tree: Tree, plans: EliminationPlans, closed: ConstrainedSolution) -> list[Scalar]:
    if not plans.inertias or not has_singular_inertias(tree):  # unknown for very long mechanisms
        return []
    return _reciprocal_guards(closed.inverse_inertias, plans.inertias, SMALLEST_INERTIA)


def _reciprocal_guards(inverses: Sequence[Scalar], scales: Sequence[float], smallest: float) -> list[Scalar]:
    """Guards of pivots, given as reciprocals: each is positive, and at least a share of its typical size."""
    pairs = zip(inverses, scales, strict=True)
    return [guard for inverse, scale in pairs for guard in (inverse, 1.0 / (smallest * scale) - inverse)]


def forward(tree: Tree, plans: EliminationPlans, solver: Solver, external: bool, multipliers: bool = False) -> Quantity:
    """Accelerations, guarded by the pivots, and optionally the multipliers in use."""
    count = solver.plan.constraint_count if multipliers else 0

    def body(q: Vector, v: Vector, tau: Vector, wrenches: Vector | None = None) -> Traced:
        given = () if wrenches is None else (body_wrenches(tree, wrenches),)
        closed = solver.run(q, v, tau, *given)
        outputs: dict[str, Vector] = {"a": closed.accelerations}
        if count:
            outputs["multipliers"] = closed.multipliers
        return Traced(outputs, solver.guards(closed))

    shapes: dict[str, tuple[int, ...]] = {"a": (tree.nv,), **({"multipliers": (count,)} if count else {})}
    inputs = ("q", "v", "tau", "wrenches") if external else ("q", "v", "tau")
    tag = f"{solver.tag}{'_external' * external}{'_multipliers' * multipliers}"
    return quantity(f"closed_{tag}_{digest(tree, plans, solver.plan)}", tree, inputs, shapes, body)


# --- constraints and the whole system, for solvers on numbers ---------------------------------------------------------
def _terms(constraints: ConstraintSet, plans: EliminationPlans, q: Vector, v: Vector) -> tuple[Any, ...]:
    rows = constraints.equations(q, v, plans.rows)
    return dense_rows(rows, constraints.tree.nv), [row.rate for row in rows]


def _system(
    constraints: ConstraintSet, plans: EliminationPlans, q: Vector, v: Vector, tau: Vector, wrenches: Vector
) -> tuple[Any, ...]:
    tree = constraints.tree
    h = rnea.inverse_dynamics(tree, q, v, None, body_wrenches(tree, wrenches))
    r = [t - b for t, b in zip(tau, h, strict=True)]
    return mass_matrix(tree, q).dense(), r, *_terms(constraints, plans, q, v)


def _term_rates(constraints: ConstraintSet, plans: EliminationPlans, q: Vector, v: Vector) -> tuple[Any, ...]:
    shapes = CONSTRAINTS["constraint_rates"].shapes_of(constraints.tree, {"nontrivial": len(plans.nontrivial)})
    terms = _terms(constraints, plans, q, v)
    return tuple(rate_of(x, shape, constraints.tree, q, v) for x, shape in zip(terms, shapes.values(), strict=True))


_TERMS: dict[str, tuple[int | str, ...]] = {"J": ("nontrivial", "nv"), "rate": ("nontrivial",)}
CONSTRAINTS: dict[str, QuantityRow] = {
    # M, τ - h, and J, γ of the non-trivial constraints
    "loop_system": QuantityRow(("q", "v", "tau", "wrenches"), {"M": ("nv", "nv"), "r": ("nv",), **_TERMS}, _system),
    # J and γ of these
    "constraint_terms": QuantityRow(("q", "v"), _TERMS, _terms),
    # rates of J and γ while q moves with v and v itself is constant: J̇ and (∂γ/∂q) v
    "constraint_rates": QuantityRow(("q", "v"), _TERMS, _term_rates),
    # violation of all constraints
    "constraint_violation": QuantityRow(("q",), {"gap": ("rows",)}, lambda constraints, _, q: constraints.errors(q)),
}
"""Quantities of the constraints by name: results = equation(constraints, plans, *inputs)."""


def of_constraints(name: str, constraints: ConstraintSet, plans: EliminationPlans) -> Quantity:
    """A quantity of CONSTRAINTS."""
    row, tree = CONSTRAINTS[name], constraints.tree
    shapes = row.shapes_of(tree, {"rows": len(constraints.rows), "nontrivial": len(plans.nontrivial)})

    def body(**given: Vector) -> Outputs:
        found = row.equation(constraints, plans, *(given[key] for key in row.inputs))
        return dict(zip(shapes, found if len(shapes) > 1 else (found,), strict=True))

    return quantity(f"{name}_{digest(tree, plans, plans.late)}", tree, row.inputs, shapes, body)


def projected(tree: Tree, solver: Solver, q: Vector, v: Vector) -> Traced:
    """One step towards the state on the loops that is nearest by kinetic energy (see `constraints.singular`).

    Position: q - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁻¹ gap, velocity: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁻¹ J v, both with the factors of forward
    dynamics.
    """
    plan, correct = solver.plan, solver.correct
    if correct is None:
        raise ModelError(f"{solver.tag} does not close gaps; eliminations do")
    X = transforms(tree, q)
    gaps = plan.in_use(tree, solver.weights, lambda loop, own: closure.closure_error(tree, X, loop, own), product)
    of_position, of_velocity = correct(q, gaps), correct(q, speeds(tree, solver, q, v))
    moved = position_rates(tree, q, of_position.accelerations)
    kept = [a + b for a, b in zip(v, of_velocity.accelerations, strict=True)]
    outputs = {"position": [a + b for a, b in zip(q, moved, strict=True)], "velocity": kept}
    return Traced(outputs, solver.guards(of_position))


def speeds(tree: Tree, solver: Solver, q: Vector, v: Vector) -> list[Scalar]:
    """J v: rate of each constraint in use."""
    X, rest = transforms(tree, q), no_velocity(tree)
    rows = planned_rows(tree, X, q, rest, standing_still(tree), solver.plan, solver.weights)
    return [sum((row.columns.get(k, 0.0) * x for k, x in enumerate(v)), ZERO) for row in rows]


# --- efforts of the motors, and the tangent map -----------------------------------------------------------------------
def shared_inverse(
    analysis: ConstraintAnalysis,
    plans: EliminationPlans,
    external: bool,
    by_all: bool = False,
    smallest: float = SMALLEST_SHARE,
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

    def body(q: Vector, v: Vector, a: Vector, wrenches: Vector | None = None) -> Traced:
        acting = None if wrenches is None else body_wrenches(tree, wrenches)
        tau, found = effort_distribution.solve(tree, q, rnea.inverse_dynamics(short, q, v, a, acting), sharing)
        guards = _reciprocal_guards(found.inverse_inertias, typical[:nv], smallest)
        if is_redundant:  # single pivots of dependent constraints are arbitrary
            guards.append(scaled_product(found.pivots, typical[nv:]) - FIXED_THRESHOLD)
            guards += [_converged(found)] if by_all else []
        else:
            guards += [
                pivot * (1.0 / scale) - smallest for pivot, scale in zip(found.pivots, typical[nv:], strict=True)
            ]
        return Traced({"tau": tau}, guards)

    inputs = ("q", "v", "a", "wrenches") if external else ("q", "v", "a")
    name = f"inverse_shared_{tag_of(sharing, typical, smallest)}{'_external' * external}"
    return quantity(name, tree, inputs, {"tau": (nv,)}, body)


def _sharing(analysis: ConstraintAnalysis, plans: EliminationPlans, by_all: bool) -> Sharing | None:
    """Sharing of the efforts among the motors; None if they do not drive all motions that the loops allow."""
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
    return Sharing(plan, tuple(units.tolist()), motors, (COMPLIANCE,) * len(chosen) if by_all else ())


def tangent_map(tree: Tree, order: MapOrder, units: Sequence[float]) -> Quantity:
    """T of v = T y, guarded by the pivots and by its size, which grows without bound where y does not determine v.

    Velocities are divided by their units for the size.
    """

    def body(q: Vector) -> Traced:
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

    def body(q: Vector, v: Vector) -> Traced:
        found = of_position.body(q=q)
        least = reduce(minimum, found.guards[len(position_guards(tree, q)) :], 1.0)
        T = found.outputs["T"]
        return Traced({"T": T, "rate": rate_of(T, shape, tree, q, v), "least": [least]}, found.guards)

    shapes = {"T": shape, "rate": shape, "least": (1,)}
    return quantity(f"{of_position.name}_rate_least", tree, ("q", "v"), shapes, body)


# --- wrenches ---------------------------------------------------------------------------------------------------------
def joint_wrenches(tree: Tree, links: Sequence[str], rows: Mapping[str, tuple[int, ...]], external: bool) -> Quantity:
    """Wrench of every joint on its child, tree joints first, then loop joints.

    See `carried_forces`; the multipliers of the rows in use, by loop, are an argument of the quantity.
    """
    count = sum(len(r) for r in rows.values())
    loops = [loop.name for loop in tree.loops for _ in rows[loop.name]]

    def body(**given: Vector) -> Outputs:
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
