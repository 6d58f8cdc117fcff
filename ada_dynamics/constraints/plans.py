# SPDX-License-Identifier: Apache-2.0
"""Elimination plans of a model with loops: constraints in use and elimination order, for each compiled solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis
from ada_dynamics.constraints.combinations import ConstraintCombinations, independent_counts
from ada_dynamics.constraints.elimination import Samples, along_the_tree, late, sparsest
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD

LARGE = 60  # velocities beyond which only articulated bodies are considered


@dataclass(frozen=True)
class EliminationPlans:
    """Elimination plans by algorithm, with the scales of their pivots.

    Attributes:
        rows: the non-trivial constraints by loop, as indices into `closure.row_kinds`.
        nontrivial: the same as indices into the rows of the constraint set.
        independent: those in use by the candidates, as indices into `nontrivial`.
        candidates: by name of the algorithm ("kkt" or "aba") and of its order; empty if the mass matrix is singular
            although the mechanism is not (a massless link that only its loop supports).
        late: the plan whose pivots vanish only if its constraints are dependent.
        typical: diagonal of J M⁻¹ Jᵀ by constraint in use, the smallest in the sample configurations.
        inertias: diagonal of the mass matrix, the smallest in the sample configurations.
        determinant: of the whole system, each row divided by its `inertias` or `typical`: the median in the samples. An
            early order changes the pivots, but not their product.
        following: for redundant loops, the candidates with combinations in place of the constraints in use, for
            integrators (see `constraints.combinations`).
        following_typical: as `typical`, for `following`.
    """

    rows: dict[str, tuple[int, ...]]
    nontrivial: tuple[int, ...]
    independent: tuple[int, ...]
    candidates: dict[str, Plan]
    late: Plan
    typical: tuple[float, ...]
    inertias: tuple[float, ...]
    determinant: float
    following: dict[str, Plan]
    following_typical: tuple[float, ...]

    @property
    def is_dense_only(self) -> bool:
        """True if only the rank-revealing solver can solve the constraints."""
        return not self.candidates

    def combinations(self, units: Array) -> ConstraintCombinations:
        """Combinations that follow the motion of redundant loops; `units` of the non-trivial constraints."""
        plan = next(iter(self.following.values()))
        counts = {name: plan.combinations.get(name, len(own)) for name, own in plan.rows.items()}
        return ConstraintCombinations(self.rows, counts, units)


def make_plans(model: Model, analysis: ConstraintAnalysis) -> EliminationPlans:
    """Find the elimination plans in the sample configurations of an analysis."""
    constraints, nv = analysis.constraints, model.nv
    nontrivial = analysis.nontrivial
    rows, independent_rows = analysis.by_loop(nontrivial), analysis.by_loop(analysis.independent)
    independent = tuple(nontrivial.index(c) for c in sorted(analysis.independent))
    last = Plan(independent_rows, late(nv, len(independent)))
    masses = [constraints.mass_matrix(q) for q in analysis.configurations]
    if not all(_is_regular(M) for M in masses):
        return EliminationPlans(rows, nontrivial, independent, {}, last, (), (), 0.0, {}, ())
    jacobians = [constraints.jacobian(q)[list(nontrivial)] for q in analysis.configurations]
    samples = Samples(masses, [J[list(independent)] for J in jacobians])
    candidates = _candidates(model, last, samples.copy)
    inertias = np.min([np.diag(M) for M in masses], axis=0)
    determinant = samples.usual_determinant(np.concatenate([inertias, samples.typical]))
    is_redundant = analysis.is_redundant
    following, typical = _following(model, analysis, rows, masses, jacobians) if is_redundant else ({}, ())
    return EliminationPlans(
        rows,
        nontrivial,
        independent,
        candidates,
        last,
        tuple(samples.typical.tolist()),
        tuple(inertias.tolist()),
        determinant,
        following,
        typical,
    )


def _candidates(model: Model, last: Plan, samples: Callable[[], Samples]) -> dict[str, Plan]:
    """All orders in which the constraints, or combinations, of a plan can be eliminated."""
    candidates = {"kkt late": last, "kkt sparse": replace(last, order=sparsest(samples()))}
    if model.has_mimics:
        return candidates
    if model.nv > LARGE:
        candidates = {}  # joint-space matrices are too dense
    tree = model.tree
    ends = {loop.name: {loop.parent, loop.child} - {WORLD} for loop in tree.loops}
    touched = [ends[name] for name, own in last.rows.items() for _ in range(last.combinations.get(name, len(own)))]
    for name, early in (("aba early", True), ("aba late", False)):
        order = along_the_tree(tree, samples(), touched, early)
        if order is not None:
            candidates[name] = replace(last, order=order)
    return candidates


def _following(
    model: Model,
    analysis: ConstraintAnalysis,
    rows: dict[str, tuple[int, ...]],
    masses: Sequence[Array],
    jacobians: Sequence[Array],
) -> tuple[dict[str, Plan], tuple[float, ...]]:
    """EliminationPlans with combinations, and their typical pivots."""
    units = analysis.constraints.weights[list(analysis.nontrivial)]
    whitened = [
        np.linalg.solve(np.linalg.cholesky(M), (J / units[:, None]).T) for M, J in zip(masses, jacobians, strict=True)
    ]
    combinations = ConstraintCombinations(rows, independent_counts(rows, whitened, analysis.rank), units)
    combined = [combinations.matrix(W) @ J for W, J in zip(whitened, jacobians, strict=True)]
    samples = Samples(masses, combined)
    last = Plan(rows, late(model.nv, analysis.rank), combinations.by_loop)
    return _candidates(model, last, samples.copy), tuple(samples.typical.tolist())


def _is_regular(M: Array) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    scale = 1.0 / np.sqrt(np.diag(M))
    return bool(np.linalg.eigvalsh(M * np.outer(scale, scale))[0] > 1e-12)
