# SPDX-License-Identifier: Apache-2.0
"""Elimination plans of mechanisms with loops: constraints in use or their combinations, with orders and scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ada_dynamics.algorithms.closure import ConstraintRow, combined
from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import AWAY, ConstraintAnalysis, analyse, nontrivial_constraints
from ada_dynamics.constraints.closure import CLOSED, closed_near
from ada_dynamics.constraints.constraint_set import ConstraintSet, dense_rows, scalars
from ada_dynamics.constraints.elimination_orders import (
    Sample,
    Samples,
    TreeSearch,
    last_first,
    late,
    least_coupled,
    sample_of,
    sparsest,
)
from ada_dynamics.errors import ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.model import Model

# --- combinations -----------------------------------------------------------------------------------------------------
# Smallest det(J M⁻¹ Jᵀ) relative to that of new combinations: the error of a stage that violates the constraints grows
# with the inverse of its square root.
LEAST_DETERMINANT = 0.1


class ConstraintCombinations:
    """Number and layout of the combinations of each loop."""

    def __init__(self, rows: Mapping[str, Sequence[int]], counts: Mapping[str, int], units: Array) -> None:
        """Take the non-trivial constraints by loop, their `independent_counts`, and the weights of the constraints."""
        self.units = units
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        self._blocks = [
            (slice(int(a), int(b)), counts[name]) for name, a, b in zip(rows, ends[:-1], ends[1:], strict=True)
        ]
        self.by_loop = {name: counts[name] for name, own in rows.items() if counts[name] < len(own)}

    def matrix(self, W: Array) -> Array:
        """Weights of all constraints in all combinations, (combinations, m); unit rows for loops without redundancy.

        W is L⁻¹ Jᵀ of the weighted constraints, (nv, m); a leading axis is a batch of configurations.
        """
        n, m = W.shape[-2:]
        known = np.zeros((*W.shape[:-2], n, 0))
        total = np.zeros((*W.shape[:-2], sum(count for _, count in self._blocks), m))
        done = 0
        for block, count in self._blocks:
            own = W[..., block]
            left = own - known @ (known.swapaxes(-1, -2) @ own)
            U, s, Vt = np.linalg.svd(left, full_matrices=False)
            size = block.stop - block.start
            if count == size:
                total[..., done : done + count, block] = np.eye(size)
            else:
                strengths = np.maximum(s[..., :count, None], 1e-300) * self.units[block]
                total[..., done : done + count, block] = Vt[..., :count, :] / strengths
            known = np.concatenate([known, U[..., :count]], axis=-1)
            done += count
        return total

    def weights(self, matrix: Array) -> Array:
        """The weights in the order of a plan, without those of loops that need no combinations."""
        parts, done = [np.zeros((*matrix.shape[:-2], 0))], 0
        for block, count in self._blocks:
            if count < block.stop - block.start:
                own = matrix[..., done : done + count, block]
                parts.append(own.reshape(*own.shape[:-2], -1))
            done += count
        return np.concatenate(parts, axis=-1)


def independent_counts(rows: Mapping[str, Sequence[int]], whitened: Sequence[Array], rank: int) -> dict[str, int]:
    """Number of independent constraints that each loop adds to the loops before it.

    From the non-trivial constraints by loop, their W in sample configurations, and the rank of all of them.
    """
    found = np.zeros(len(rows), dtype=int)
    for W in whitened:
        s = np.linalg.svd(W, compute_uv=False)
        dependent = s[rank] if rank < len(s) else 0.0
        smallest = np.sqrt(s[rank - 1] * max(dependent, 1e-9 * s[rank - 1])) if rank else 0.0
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        ranks = [int(np.sum(np.linalg.svd(W[:, :end], compute_uv=False) > smallest)) if end else 0 for end in ends]
        found = np.maximum(found, np.diff(ranks))
    # a loop may have a lower rank in one sample and a later loop a higher one: the surplus is taken from the last loops
    surplus = int(found.sum()) - rank
    for i in range(len(found) - 1, -1, -1):
        taken = min(surplus, int(found[i]))
        found[i], surplus = found[i] - taken, surplus - taken
    return dict(zip(rows, found.tolist(), strict=True))


# --- plans ------------------------------------------------------------------------------------------------------------
RowsAt = Callable[[Array], list[ConstraintRow]]  # the constraints in use in a configuration or in a batch
LONG = 60  # velocities beyond which only the elimination along the tree is considered
SEARCHED = 300  # velocities up to which loops are closed and redundancy is resolved, at cubic cost


@dataclass(frozen=True)
class EliminationPlans:
    """Elimination plans by algorithm, with the scales of their pivots.

    Attributes:
        rows: the non-trivial constraints by loop, as indices into `Loop.rows`.
        nontrivial: the same as indices into the rows of the constraint set.
        independent: those in use by the candidates, as indices into `nontrivial`.
        candidates: by name of the algorithm ("kkt" or "aba") and of its order; empty if the mass matrix is singular
            although the mechanism is not (a massless link that only its loop supports).
        late: the plan whose pivots vanish only if its constraints are dependent.
        typical: diagonal of J M⁻¹ Jᵀ by constraint in use, the smallest in the sample configurations.
        inertias: diagonal of the mass matrix, the smallest in the sample configurations.
        determinant: of the whole system, each row divided by its `inertias` or `typical`: the median in the samples. An
            early order changes the pivots, but not their product.
        combined: for redundant loops, the candidates with combinations in place of the constraints in use, for
            integrators (see `ConstraintCombinations`).
        combined_typical: as `typical`, for `combined`.
    """

    rows: dict[str, tuple[int, ...]]
    nontrivial: tuple[int, ...]
    independent: tuple[int, ...]
    candidates: dict[str, Plan]
    late: Plan
    typical: tuple[float, ...]
    inertias: tuple[float, ...]
    determinant: float
    combined: dict[str, Plan]
    combined_typical: tuple[float, ...]

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> EliminationPlans:
        """The plans that `dataclasses.asdict` made plain data, which may have been stored as JSON."""
        whole = as_tuples(data)
        for name in ("candidates", "combined"):
            whole[name] = {key: Plan(**plan) for key, plan in whole[name].items()}
        whole["late"] = whole["candidates"].get("kkt late") or Plan(**whole["late"])
        return cls(**whole)

    @property
    def is_dense_only(self) -> bool:
        """True if only the rank-revealing solver can solve the constraints."""
        return not self.candidates

    def combinations(self, units: Array) -> ConstraintCombinations:
        """Combinations that follow the motion of redundant loops; `units` of the non-trivial constraints."""
        plan = next(iter(self.combined.values()))
        counts = {name: plan.combinations.get(name, len(own)) for name, own in plan.rows.items()}
        return ConstraintCombinations(self.rows, counts, units)


def as_tuples(data: Any) -> Any:
    """Plain data with tuples in place of lists."""
    if isinstance(data, dict):
        return {key: as_tuples(value) for key, value in data.items()}
    return tuple(map(as_tuples, data)) if isinstance(data, (list, tuple)) else data


def make_plans(analysis: ConstraintAnalysis) -> EliminationPlans:
    """Find the elimination plans in the sample configurations of an analysis."""
    constraints, nv = analysis.constraints, analysis.constraints.model.nv
    nontrivial = analysis.nontrivial or (0,)  # kernels of J have a row; that of a trivial constraint is zero
    rows, independent_rows = analysis.by_loop(nontrivial), analysis.by_loop(analysis.independent)
    independent = tuple(nontrivial.index(c) for c in sorted(analysis.independent))
    last = Plan(independent_rows, late(nv, len(independent)))
    masses = constraints.mass_matrices(analysis.configurations)
    if not all(_is_regular(M) for M in masses):
        return EliminationPlans(rows, nontrivial, independent, {}, last, (), (), 0.0, {}, ())
    jacobians = [constraints.jacobian(q)[list(nontrivial)] for q in analysis.configurations]
    samples = Samples(masses, [J[list(independent)] for J in jacobians])
    used = [nontrivial[c] for c in independent]
    candidates = _candidates(analysis, last, samples, lambda q: _equations(constraints, q, used))
    inertias = np.min([np.diag(M) for M in masses], axis=0)
    roots = np.sqrt(np.concatenate([inertias, samples.typical]))
    determinant = float(np.median(np.abs(np.linalg.det(samples.systems / np.outer(roots, roots)))))
    combined_plans, typical = _combined_plans(analysis, rows, masses, jacobians) if analysis.is_redundant else ({}, ())
    return EliminationPlans(
        rows,
        nontrivial,
        independent,
        candidates,
        last,
        tuple(samples.typical.tolist()),
        tuple(inertias.tolist()),
        determinant,
        combined_plans,
        typical,
    )


def _candidates(analysis: ConstraintAnalysis, last: Plan, samples: Samples, rows_at: RowsAt) -> dict[str, Plan]:
    """All orders in which the constraints, or combinations, of a plan can be eliminated."""
    constraints, model = analysis.constraints, analysis.constraints.model
    along: dict[str, Plan] = {}
    if not model.has_mimics:
        closed, general = np.array(analysis.configurations), _general_position(analysis)
        rows = rows_at(general)
        J = np.array(dense_rows(rows, model.nv), dtype=float).reshape(len(rows), model.nv)
        alone = Samples(constraints.mass_matrices([general]), [J])
        of_closed = Sample(closed, rows_at(closed), samples.diagonals.T)
        search = TreeSearch(constraints.tree, [of_closed, Sample(general, rows, alone.diagonals[0])])
        search.run(last_first)
        if not search.waiting:
            along["aba early"] = replace(last, order=tuple(search.order))
        if along and model.nv > LONG:
            return along  # joint-space matrices are too dense
    return {"kkt late": last, "kkt sparse": replace(last, order=sparsest(samples)), **along}


def _general_position(analysis: ConstraintAnalysis) -> Array:
    """Configuration in general position, which need not close the loops."""
    model, rng = analysis.constraints.model, np.random.default_rng(20120304)
    return np.asarray(model.integrate(analysis.configurations[0], AWAY * rng.normal(size=model.nv)))


def _combined_plans(
    analysis: ConstraintAnalysis, rows: dict[str, tuple[int, ...]], masses: Sequence[Array], jacobians: Sequence[Array]
) -> tuple[dict[str, Plan], tuple[float, ...]]:
    """Plans of all candidates with combinations, and the typical pivots of these."""
    constraints, nontrivial = analysis.constraints, list(analysis.nontrivial)
    units = constraints.weights[nontrivial]
    whitened = [
        np.linalg.solve(np.linalg.cholesky(M), (J / units[:, None]).T) for M, J in zip(masses, jacobians, strict=True)
    ]
    combinations = ConstraintCombinations(rows, independent_counts(rows, whitened, analysis.rank), units)
    samples = Samples(masses, [combinations.matrix(W) @ J for W, J in zip(whitened, jacobians, strict=True)])
    last = Plan(rows, late(constraints.model.nv, analysis.rank), combinations.by_loop)

    def rows_at(q: Array) -> list[ConstraintRow]:
        rows = _equations(constraints, q, nontrivial)
        W = np.array(constraints.whitened([*np.atleast_2d(q)]))
        several = combinations.matrix(W[..., nontrivial]).swapaxes(0, 1)
        of_rows = ((weights, np.flatnonzero(np.any(weights, axis=0))) for weights in several)
        used = ((scalars(weights[:, own] if q.ndim == 2 else weights[0, own]), own) for weights, own in of_rows)
        return [combined(weights, [rows[c] for c in own]) for weights, own in used]

    return _candidates(analysis, last, samples, rows_at), tuple(samples.typical.tolist())


def _is_regular(M: Array) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    scale = 1.0 / np.sqrt(np.diag(M))
    return bool(np.linalg.eigvalsh(M * np.outer(scale, scale))[0] > 1e-12)


# --- analysis of large mechanisms -------------------------------------------------------------------------------------
class RedundantConstraintsError(ModelError):
    """Non-trivial constraints depend on each other."""


@pause_garbage_collection()
def analyse_large(model: Model, q: Array | None) -> tuple[ConstraintAnalysis, EliminationPlans]:
    """Analysis and elimination plans of a large model near a closed configuration, its home by default.

    Raises:
        ModelError: the configuration does not close the loops, or non-trivial constraints depend on each other.
    """
    constraints = ConstraintSet(model)
    q = model.home() if q is None else q
    is_searched = model.nv <= SEARCHED
    q = closed_near(model, constraints, q) if is_searched else q
    error = float(np.max(np.abs(constraints.violation(q)), initial=0.0))
    if not is_searched and error > CLOSED * max(1.0, constraints.length):
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities, too many to search for a configuration that closes its "
            f"loops: give one as q0=... (this one has a closure error of {error:.3g}).",
            field="q0",
            value=error,
            allowed=CLOSED * max(1.0, constraints.length),
        )
    independent = nontrivial_constraints(constraints, q)
    trivial = tuple(sorted(set(range(len(constraints.rows))) - set(independent)))
    found = ConstraintAnalysis(constraints, (q,), len(independent), tuple(independent), trivial, ())
    rows = found.by_loop(found.independent)
    order, typical = _along_the_tree(found)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.independent)))
    candidates = {"aba long": plan}
    return found, EliminationPlans(dict(rows), found.independent, chosen, candidates, plan, typical, (), 0.0, {}, ())


def _along_the_tree(analysis: ConstraintAnalysis) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order by the fewest couplings, or with the last joints first; the typical pivots."""
    constraints, chosen = analysis.constraints, analysis.independent
    configurations = analysis.configurations[0], _general_position(analysis)
    samples = [sample_of(constraints.tree, q, _equations(constraints, q, chosen)) for q in configurations]
    for joints in (least_coupled, last_first):
        search = TreeSearch(constraints.tree, samples)
        search.run(joints)
        if not search.waiting:
            break
    if search.waiting:
        loop, _, kind = constraints.rows[chosen[min(search.waiting)]]
        raise RedundantConstraintsError(
            f"model {constraints.model.name!r}: in loop {loop!r}, the {kind} depends on other constraints in this "
            f"configuration. Redundant constraints are supported up to {SEARCHED} velocities; remove a loop.",
            loop=loop,
            field=str(kind),
        )
    return tuple(search.order), tuple(samples[0].typical.tolist())


def _equations(constraints: ConstraintSet, q: Array, chosen: Sequence[int]) -> list[ConstraintRow]:
    equations = constraints.equations(q)
    return [equations[c] for c in chosen]


def analysis_and_plans(model: Model, q: Array | None) -> tuple[ConstraintAnalysis, EliminationPlans]:
    """Analysis and elimination plans of a model; arguments are those of `analyse`."""
    if model.nv > LONG:
        try:
            return analyse_large(model, q)
        except RedundantConstraintsError:
            if model.nv > SEARCHED:
                raise
    found = analyse(model, q)
    return found, make_plans(found)
