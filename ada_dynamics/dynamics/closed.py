# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a mechanism with loops: its kernels and the solvers of its constraints."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.constraints.analysis import (
    ConstraintAnalysis,
    UniqueComponents,
    analyse_turned,
    joints_with_wrenches,
    unique_at,
    unique_in_all,
    unique_in_general,
)
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.coordinates import motor_efforts
from ada_dynamics.constraints.elimination import (
    LEAST_DETERMINANT,
    SEARCHED,
    EliminationPlans,
    analysis_and_plans,
    as_tuples,
    make_plans,
)
from ada_dynamics.constraints.singular import along_branch, directions
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.dynamics.closed_quantities import of_constraints
from ada_dynamics.dynamics.kernel_store import KernelStore, run
from ada_dynamics.dynamics.loop_warnings import OF_FORWARD, OF_INVERSE, OF_STATE, warn_singular
from ada_dynamics.dynamics.quantities import Quantity, with_margin
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.jit import GuardError, Kernel
from ada_dynamics.jit.cache import ObjectCache, digest, source_hash
from ada_dynamics.model.tree import Tree

# Number of velocities beyond which the late order, which eliminates all multipliers last, is too dense to be the
# cheapest; it is not traced if there is another one.
LATE_UP_TO = 9
# Share of its cost that a plan may save, compared with the cheapest plan, by the axes of the other sides of the loop
# joints. With it the cheapest plan of all is found for the mechanisms of the catalogue and the published legged robots.
TURNED_SAVES = 0.1
UNASSEMBLED = ("guess", "axis")  # fields of errors of loops that do not close from the neutral configuration
AT_ONCE = 1024  # states of a batch whose matrices are in memory at the same time
_ROUNDING = 1e-16
_BEHIND = 1e-3  # distance from a singular configuration behind it [rad, m]
LATE, ALL = "late", "all constraints"  # the robust orders
FAST, ROBUST, RANK_REVEALING = TIERS = "fast", "robust", "rank-revealing"


class ConstraintSolution(NamedTuple):
    """Accelerations and multipliers of the non-trivial constraints, in one state or in a batch of states."""

    acceleration: Array
    multipliers: Array
    tier: str  # of the solver, the slowest one of a batch
    decompositions: dict[int, singular.SvdSolution]  # of the rank-revealing solver, by state


class ClosedDynamics:
    """Kernels and constraint solvers of a model with loops."""

    def __init__(self, kernels: KernelStore, q0: Array | None, solver: str) -> None:
        """Take the kernels of a model, a configuration in its assembly mode or None, and the solver of `Dynamics`."""
        self.solver = solver
        self.kernels = kernels
        self.model = kernels.model
        self.q0 = q0
        self._inverse: dict[bool, Quantity | None] = {}
        self._traced: dict[str, expr.Function] = {}  # the cheapest, until it is compiled

    @cached_property
    @pause_garbage_collection()
    def _planned(self) -> tuple[ConstraintAnalysis, EliminationPlans, str]:
        """Analysis, plans, and the plan with the shortest code, from the cache on disk if possible: they take 0.1 s."""
        store, q0 = ObjectCache.default(), None if self.q0 is None else self.q0.tolist()
        is_dense = self.solver == RANK_REVEALING
        key = digest("loops", self.kernels.fingerprint, repr((q0, is_dense)), source_hash(), np.__version__)
        entry = store.load(key)
        if entry is not None:
            _, stored = entry
            name, turned, samples, *facts = as_tuples(stored["analysis"])
            found = ConstraintAnalysis(ConstraintSet(self.model, turned), tuple(map(np.array, samples)), *facts)
            return found, EliminationPlans.of_data(stored["plans"]), name
        try:
            found, plans = analysis_and_plans(self.model, self.q0)
        except ModelError as problem:
            if self.q0 is not None or problem.field not in UNASSEMBLED:
                raise
            message = f"{problem} Give one that closes the loops: Dynamics(model, q0=q), Simulation(model, q)."
            raise ModelError(message, loop=problem.loop, field="q0", value=problem.value) from None
        dense = replace(plans, candidates={})
        try:
            found, plans, name = self._cheapest(found, dense if is_dense else plans)
        except InputError as problem:
            if problem.field != "guard":
                raise
            plans, name = dense, "late"  # a constant pivot is too small: constraints nearly depend on each other
        facts = [name, found.constraints.is_turned, [q.tolist() for q in found.configurations]]
        facts += [found.rank, found.independent, found.trivial, found.redundant]
        store.store(key, b"", {"analysis": facts, "plans": asdict(plans)})
        return found, plans, name

    def _cheapest(
        self, analysis: ConstraintAnalysis, plans: EliminationPlans
    ) -> tuple[ConstraintAnalysis, EliminationPlans, str]:
        """Return analysis and plans with the axes of the cheaper sides of the loop joints, and the cheapest plan."""
        if len(plans.candidates) <= 1:
            return analysis, plans, next(iter(plans.candidates), "late")

        def traced(found: ConstraintAnalysis, of: EliminationPlans, names: Iterable[str]) -> dict[str, expr.Function]:
            tree = found.constraints.tree
            solvers = {name: closed_quantities.elimination(tree, of, name) for name in names}
            return {name: closed_quantities.forward(tree, of, one, False).trace() for name, one in solvers.items()}

        names = [name for name in plans.candidates if name != "kkt late" or self.model.nv <= LATE_UP_TO]
        functions, others = traced(analysis, plans, names), dict[str, expr.Function]()
        costs = self.kernels.costs(functions)
        name = min(names, key=costs.__getitem__)
        near = [other for other in names if costs[other] <= (1.0 + TURNED_SAVES) * costs[name]]
        turned = analyse_turned(analysis)
        # with redundant constraints the multipliers of least norm are those of the child sides
        if not analysis.is_redundant and any(loop.is_turned for loop in turned.constraints.tree.loops):
            turned_plans = make_plans(turned)
            others = traced(turned, turned_plans, [x for x in near if x in turned_plans.candidates])
            other_costs = self.kernels.costs(others)
            best = min(other_costs, key=other_costs.__getitem__, default=name)
            if other_costs.get(best, inf) < costs[name]:
                analysis, plans, name, functions, others = turned, turned_plans, best, others, functions
        self._traced[name] = functions.pop(name)
        for unused in (*functions.values(), *others.values()):
            unused.graph.table.clear()  # and with it the cycles of references
        return analysis, plans, name

    @property
    def analysis(self) -> ConstraintAnalysis:
        """Analysis of the loop constraints."""
        return self._planned[0]

    @property
    def plans(self) -> EliminationPlans:
        """Elimination plans; without candidates if the rank-revealing solver was chosen."""
        return self._planned[1]

    @property
    def cheapest(self) -> str:
        """The plan with the shortest code."""
        return self._planned[2]

    @property
    def tree(self) -> Tree:
        """The mechanism, its loop joints from the sides that give the shorter code."""
        return self.analysis.constraints.tree

    def refuse_locked(self) -> None:
        """Raise if the mobility is zero: the mechanism is a structure, most often by mistake."""
        if self.analysis.mobility == 0 and self.analysis.rank:
            names = ", ".join(map(repr, self.model.loop_names))
            raise ModelError(
                f"model {self.model.name!r} is locked: its loops ({names}) hold all of its {self.model.nv} velocities. "
                "Check the types and axes of these joints with `ada info`; forces of structures are had from "
                "joint_wrenches.",
                loop=", ".join(self.model.loop_names),
                field="mobility",
                value=0,
            )

    @cached_property
    def unique(self) -> UniqueComponents:
        """Components of the joint wrenches that are unique in general; for very large models none is determined."""
        if self.model.nv > SEARCHED:
            return {name: np.zeros(6, dtype=bool) for name in joints_with_wrenches(self.model)}
        return unique_in_general(self.analysis)

    # --- kernels ------------------------------------------------------------------------------------------------
    def quantity(self, name: str, external: bool, multipliers: bool) -> Quantity:
        """Forward dynamics by a candidate of the plans, by "late" or "lagrange", or by assembly ("ada" or "dca")."""
        tree, plans = self.tree, self.plans
        if name == ALL:
            solver = closed_quantities.all_constraints(tree, plans, *self._compliance)
        elif name in closed_quantities.ASSEMBLIES:
            samples = self._pivots_of(closed_quantities.assembly(tree, plans, name, self.kernels.order, ()))
            typical = np.min(samples, axis=0).tolist()
            solver = closed_quantities.assembly(tree, plans, name, self.kernels.order, typical)
        else:
            solver = closed_quantities.elimination(tree, plans, name)
        return closed_quantities.forward(tree, plans, solver, external, multipliers)

    def robust(self, name: str) -> str | None:
        """Robust elimination order to use after a candidate; None if it is the same order."""
        if self.analysis.is_redundant:
            return ALL
        return None if self.plans.candidates.get(name) is self.plans.late else LATE

    @cached_property
    def _compliance(self) -> tuple[list[float], list[float]]:
        """Compliance of each constraint for `closed_quantities.all_constraints`, and the usual pivots."""
        chosen = list(self.plans.nontrivial)
        whitened = [W[:, chosen] for W in self.analysis.constraints.whitened(self.analysis.configurations)]
        squares = [np.sum(W**2, axis=0) for W in whitened]
        compliance = (closed_quantities.COMPLIANCE * np.mean(squares) * self.weights**2).tolist()
        solver = closed_quantities.all_constraints(self.tree, self.plans, compliance, ())
        return compliance, closed_quantities.usual_pivots(self._pivots_of(solver))

    def _pivots_of(self, solver: closed_quantities.Solver) -> list[list[float]]:
        """Pivots in the sample configurations."""
        rest = [0.0] * self.model.nv
        return [[float(p) for p in solver.run(q.tolist(), rest, rest).pivots] for q in self.analysis.configurations]

    def kernel(self, name: str, external: bool, multipliers: bool) -> Kernel:
        """Kernel of `quantity`."""

        def make() -> Quantity:
            made = self.quantity(name, external, multipliers)
            traced = None if external or multipliers else self._traced.pop(name, None)
            return made if traced is None else replace(made, trace=lambda: traced)

        return self.kernels.get(f"closed {name} {external} {multipliers}", make)

    def constraint_kernel(self, name: str, quick: bool = False) -> Kernel:
        """Kernel of a quantity of `closed_quantities.CONSTRAINTS`."""
        return self.kernels.get(name, lambda: of_constraints(name, self.analysis.constraints, self.plans), quick=quick)

    def _with_margin(
        self, name: str, make: Callable[[], Quantity], inputs: Sequence[Array]
    ) -> tuple[list[Array], NDArray[np.bool_]]:
        """Results of a quantity for a batch, and flags of the states that it does not reject."""
        kernel = self.kernels.get(f"{name} with_margin", lambda: with_margin(make()))
        (*results, margin), _ = kernel.batch_status(*inputs)
        return results, np.isfinite(results[0]).all(axis=1) & (margin[:, 0] >= 0.0)

    def system(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> singular.LoopSystem:
        """Equations of motion with weighted constraints, in one state or in each state of a batch."""
        if wrenches is None:
            wrenches = np.zeros((*q.shape[:-1], 6 * len(self.tree.bodies)))
        (M, r, J, rate), _ = run(self.constraint_kernel("loop_system", quick=True), q, v, tau, wrenches)
        w = self.weights
        return singular.LoopSystem(M, r, J / w[:, None], rate / w)

    @cached_property
    def weights(self) -> Array:
        """Weights of the non-trivial constraints: 1 for positions, 1 over the characteristic length for angles."""
        return np.asarray(self.analysis.constraints.weights[list(self.plans.nontrivial)], dtype=np.float64)

    def rates(self, q: Array, v: Array) -> singular.Rates:
        """Derivatives of the constraints along v.

        γ is a quadratic form of v, so that ∂γ/∂v comes exactly from γ(v + e), γ(v) and γ(e).
        """
        w, n = self.weights, len(v)
        (J, by_q), _ = self.constraint_kernel("constraint_rates").single_status(q, v)
        unit = np.eye(n)
        states = np.concatenate([v[None, :], unit, v + unit])
        gamma = self._gamma(np.tile(q, (len(states), 1)), states)
        return singular.Rates(J / w[:, None], by_q / w, (gamma[n + 1 :] - gamma[1 : n + 1] - gamma[0]).T)

    def _gamma(self, q: Array, v: Array) -> Array:
        (_, gamma), _ = run(self.constraint_kernel("constraint_terms"), q, v)
        return np.asarray(gamma / self.weights, dtype=np.float64)

    # --- solvers ------------------------------------------------------------------------------------------------
    def solve(self, name: str, *state: Array) -> ConstraintSolution:
        """Accelerations and multipliers, for each state by the first solver that stops at no small pivot.

        Elimination is compiled: the fast one follows the order of a candidate, the robust one an order whose pivots
        vanish in singular configurations only. Then the constraint Jacobian is decomposed by singular values.

        Args:
            name: of the candidate.
            state: q, v, τ and the wrenches on all bodies, if there are any; one state or a batch.
        """
        if state[0].ndim == 2:
            return self._solve_rows(name, *state)
        for order, tier in self._elimination_orders(name).items():
            kernel = self.kernel(order, len(state) > 3, multipliers=True)
            found, status = kernel.single_status(*state)
            if not status:
                return ConstraintSolution(*self._with_unused_multipliers(order, found), tier, {})
        at = self._decomposed(*state)
        return ConstraintSolution(at.accelerations, at.multipliers / self.weights, self._last_tier([at]), {0: at})

    def _solve_rows(self, name: str, *state: Array) -> ConstraintSolution:
        """`solve` for a batch, whose states may stop different solvers."""
        a, multipliers = np.empty_like(state[1]), np.zeros((len(state[1]), len(self.plans.nontrivial)))
        left, decompositions = np.arange(len(a)), {}
        for order, tier in self._elimination_orders(name).items():
            make = lambda order=order: self.quantity(order, len(state) > 3, multipliers=True)  # noqa: E731
            results, is_solved = self._with_margin(f"closed {order} {len(state) > 3}", make, [x[left] for x in state])
            a[left], multipliers[left] = self._with_unused_multipliers(order, results)
            left = left[~is_solved]
            if not left.size:
                return ConstraintSolution(a, multipliers, tier, {})
        for i in left.tolist():
            found = self._decomposed(*(np.ascontiguousarray(x[i]) for x in state))
            a[i], multipliers[i], decompositions[i] = found.accelerations, found.multipliers / self.weights, found
        return ConstraintSolution(a, multipliers, self._last_tier(decompositions.values()), decompositions)

    def solve_by_least_norm(self, name: str, *state: Array) -> tuple[ConstraintSolution, UniqueComponents]:
        """`solve` with multipliers of minimum norm, and the components of the joint wrenches that are unique."""
        found, flags = self.solve(name, *state), self.unique
        for i, at in found.decompositions.items():
            if at.is_singular:
                q, v = (np.atleast_2d(x)[i] for x in state[:2])
                flags = unique_in_all([flags, *self._unique_near(q, v, at)])
        if self.analysis.is_redundant:
            (J, _), _ = run(self.constraint_kernel("constraint_terms"), *state[:2])
            U = np.linalg.svd(J / self.weights[:, None], full_matrices=True)[0][..., : self.analysis.rank]
            along = np.einsum("...cr,...c->...r", U, found.multipliers * self.weights)
            found = found._replace(multipliers=np.einsum("...cr,...r->...c", U, along) / self.weights)
        return found, flags

    def _unique_near(self, q: Array, v: Array, at: singular.SvdSolution) -> list[UniqueComponents]:
        """Unique components in a singular configuration and, if the mechanism moves, just behind it.

        There the infinite forces of lost constraints have arms that are not zero; their moments are finite.
        """
        rank, places = self.analysis.rank - at.lost_rank, [q]
        if at.lost_rank and not at.is_at_rest:
            places.append(self.model.integrate(q, _BEHIND * v / np.max(np.abs(v))))
        return [unique_at(self.analysis.constraints, place, rank) for place in places]

    def _last_tier(self, found: Iterable[singular.SvdSolution]) -> str:
        """Tier of the rank-revealing solver, which in regular configurations counts as robust."""
        return RANK_REVEALING if self.plans.is_dense_only or any(at.is_singular for at in found) else ROBUST

    def _with_unused_multipliers(self, order: str, found: Any) -> tuple[Array, Array]:
        """Accelerations and multipliers of all non-trivial constraints (unused ones are 0) from a kernel's results."""
        a, *held = found if isinstance(found, (tuple, list)) else (found,)
        if held and (order == ALL or not self.analysis.is_redundant):
            return a, held[0]
        whole = np.zeros((*a.shape[:-1], len(self.plans.nontrivial)))
        if held:
            whole[..., list(self.plans.independent)] = held[0]
        return a, whole

    def _elimination_orders(self, name: str) -> dict[str, str]:
        """Elimination orders as they are tried, beginning with `name`, and their tiers."""
        if self.plans.is_dense_only:
            return {}
        orders, robust = {} if name in (LATE, ALL) else {name: FAST}, self.robust(name)
        return orders if robust is None else {**orders, robust: orders.get(robust, ROBUST)}

    def _decomposed(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> singular.SvdSolution:
        """Rank-revealing solution of one state, with a warning in singular configurations."""
        _, found = self.solution(q, v, tau, wrenches)
        if found.is_singular:
            self._warn(found, q, OF_FORWARD)
        return found

    def solution(
        self, q: Array, v: Array, tau: Array | None = None, wrenches: Array | None = None
    ) -> tuple[singular.LoopSystem, singular.SvdSolution]:
        """The system, by default without efforts, and its rank-revealing solution."""
        system = self.system(q, v, np.zeros(self.model.nv) if tau is None else tau, wrenches)
        violation = float(np.max(np.abs(self.weighted_violation(q)), initial=0.0)) / self.analysis.constraints.length
        return system, singular.solve(system, self.analysis.rank, v, lambda w: self.rates(q, w), violation)

    def combination_weights(self, poses: Array) -> Array:
        """Weights of constraint combinations for configurations, one row each, and their smallest determinant.

        In a singular configuration no determinant is large enough.
        """
        rest = np.zeros((len(poses), self.model.nv))
        system = self.system(np.ascontiguousarray(poses), rest, rest)
        if not all(np.isfinite(part).all() for part in system):  # the motion has diverged
            return np.full((len(poses), next(iter(self.plans.combined.values())).weights + 1), np.inf)
        at, combinations = singular.whitened(system), self.plans.combinations(self.weights)
        matrix = combinations.matrix(at.W)
        held = at.W @ (matrix * self.weights).swapaxes(-1, -2) / np.sqrt(self.plans.combined_typical)
        scaled = system.M / np.sqrt(np.multiply.outer(self.plans.inertias, self.plans.inertias))
        least = LEAST_DETERMINANT * np.linalg.det(held.swapaxes(-1, -2) @ held) * np.linalg.det(scaled)
        least[at.sigma(self.analysis.rank) < singular.SINGULAR] = np.inf
        return np.concatenate([combinations.weights(matrix), least[:, None]], axis=1)

    def _warn(self, solution: singular.SvdSolution, q: Array, what: str) -> None:
        tangents = self.tangents(q) if solution.is_at_rest else None
        warn_singular(self.model, self.lost_names(solution), what, solution, tangents)

    def tangents(self, q: Array) -> list[Array]:
        """Tangents of the branches through a singular configuration: directions in which motion can start."""
        system, solution = self.solution(q, np.zeros(self.model.nv))
        return singular.branch_directions(system, solution.lost, lambda v: self._gamma(q, v))

    def lost_names(self, solution: singular.SvdSolution) -> set[str]:
        """Loops whose constraints lose rank."""
        shares = np.max(np.abs(solution.lost), axis=0, initial=0.0)
        taking_part = [c for c, share in zip(self.plans.nontrivial, shares, strict=True) if share > 0.1]
        return {self.analysis.constraints.rows[c][0] for c in taking_part}

    # --- inverse dynamics ---------------------------------------------------------------------------------------
    def inverse_quantity(self, external: bool) -> Quantity | None:
        """Inverse dynamics as one quantity; None if the motors do not drive all motions."""
        if external not in self._inverse:
            self._inverse[external] = closed_quantities.shared_inverse(self.analysis, self.plans, external)
        return self._inverse[external]

    def inverse_rows(self, inputs: Sequence[Array]) -> tuple[Array, NDArray[np.intp]]:
        """Efforts of a batch by that quantity, and the rows that it refuses."""
        made = self.inverse_quantity(len(inputs) > 3)
        assert made is not None
        (tau,), is_valid = self._with_margin(f"closed inverse {len(inputs) > 3}", lambda: made, inputs)
        return tau, np.flatnonzero(~is_valid)

    def efforts(self, q: Array, v: Array, wanted: Array, a: Array) -> Array:
        """Least-norm efforts of the motors that are equivalent to efforts of all joints of the tree, state by state.

        In a singular configuration they act along the branch on which the mechanism moves; at rest along all directions
        of motion if the motors can, otherwise along the branch of the acceleration a, or one that they can move along.
        """
        if q.ndim == 2:
            return np.array([self.efforts(*row) for row in zip(q, v, wanted, a, strict=True)]).reshape(wanted.shape)
        q, v, a = np.ascontiguousarray(q), np.ascontiguousarray(v), np.ascontiguousarray(a)
        system, solution = self.solution(q, v)
        rank = self.analysis.rank
        if solution.is_singular:
            self._warn(solution, q, OF_INVERSE)
        # near a singular configuration the null space of J is exact to the violation / σ², the branch's tangent to σ
        least = np.cbrt(max(_ROUNDING, float(np.max(np.abs(self.weighted_violation(q)), initial=0.0))))
        if not solution.is_singular or (solution.sigma > least and not solution.is_at_rest):
            return motor_efforts(self.model, directions(system.J, rank), wanted)

        def along(w: Array) -> Array | None:
            return along_branch(system.J, rank, solution, w, lambda x: self.rates(q, x))

        of_velocity = along(v)
        if of_velocity is not None:
            return motor_efforts(self.model, of_velocity, wanted)
        of_acceleration = along(a)
        branches = [of_acceleration]
        if of_acceleration is None and solution.is_at_rest:
            branches = [along(w) for w in self.tangents(q)]
        bases = [directions(system.J, rank - solution.lost_rank), *(N for N in branches if N is not None)]
        for N in bases[:-1]:  # the first one whose motions the motors can drive
            with contextlib.suppress(InputError):
                return motor_efforts(self.model, N, wanted)
        return motor_efforts(self.model, bases[-1], wanted)

    # --- projection ---------------------------------------------------------------------------------------------
    def project_to_constraints(self, q: Array, v: Array, steps: int = 8) -> tuple[Array, Array]:
        """Nearest states on the constraint manifold by kinetic energy; see `constraints.singular`."""
        if q.ndim == 1:
            at, speed = self.project_to_constraints(q[None], v[None], steps)
            return at[0], speed[0]
        found = [self._projected(q[i : i + AT_ONCE], v[i : i + AT_ONCE], steps) for i in range(0, len(q), AT_ONCE)]
        return np.concatenate([q[:0], *(at for at, _ in found)]), np.concatenate([v[:0], *(u for _, u in found)])

    def _projected(self, q: Array, v: Array, steps: int) -> tuple[Array, Array]:
        q, off = np.array(q), np.arange(len(q))
        smallest = singular.CLOSED * self.analysis.constraints.length
        for _ in range(steps):
            gap = self.weighted_violation(q[off])
            is_open = ~(np.max(np.abs(gap), axis=1, initial=0.0) < smallest)
            off, gap = off[is_open], gap[is_open]
            if not len(off):
                break
            q[off] = self.model.integrate(q[off], singular.correction(self._metric(q[off]), gap))
        return q, singular.admissible_velocity(self._metric(q), v)

    def _metric(self, q: Array) -> singular.Whitened:
        rest = np.zeros((len(q), self.model.nv))
        system = self.system(q, rest, rest)
        try:
            return singular.metric(system.M, system.J, self.analysis.rank)
        except np.linalg.LinAlgError:
            raise GuardError(
                f"model {self.model.name!r}: nothing resists some motion that its loops allow in this position, so no "
                "state is the nearest one by kinetic energy. Give the links that move inertia, or their joints an "
                "armature."
            ) from None

    def warn_if_singular(self, q: Array, v: Array) -> None:
        """Warn if a state, or some state of a batch, is singular."""
        if not q.size or not self.analysis.rank:
            return
        poses, speeds = np.atleast_2d(q), np.atleast_2d(v)
        for first in range(0, len(poses), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            rest = np.zeros_like(speeds[some])
            for i in first + singular.possibly_singular(self.system(poses[some], rest, rest), self.analysis.rank):
                _, solution = self.solution(poses[i], speeds[i])
                if solution.is_singular:
                    self._warn(solution, poses[i], OF_STATE)

    def weighted_violation(self, q: Array) -> Array:
        """Weighted violation of the non-trivial constraints [m]."""
        return np.asarray(self.violation(q)[..., list(self.plans.nontrivial)] / self.weights, dtype=np.float64)

    def violation(self, q: Array) -> Array:
        """Violation of all constraints [m, rad], row by row for a batch."""
        whole, _ = run(self.constraint_kernel("constraint_violation"), q)
        return np.asarray(whole, dtype=np.float64)
