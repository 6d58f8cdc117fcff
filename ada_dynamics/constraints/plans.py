# SPDX-License-Identifier: Apache-2.0
"""Plans of elimination for a model's loops: for the fast kernel, and one that only true singularities stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import Study
from ada_dynamics.constraints.combinations import Combinations, independent_counts
from ada_dynamics.constraints.elimination import Samples, along_the_tree, late, sparsest
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD

LARGE = 60  # velocities beyond which only articulated bodies are looked at


@dataclass(frozen=True)
class Plans:
    """How a model's loops can be closed, by algorithm.

    Attributes:
        rows: the conditions that act, by loop, as indices into `closure.row_kinds`.
        conditions: the same ones, as indices into the study's.
        used: those of them that the candidates hold, as indices into `conditions`.
        candidates: by name of the algorithm ("kkt" or "aba") and of its order; empty where the mass matrix is
            singular although the mechanism is not (a massless link that only its loop holds).
        late: the one whose pivots vanish nowhere but where its conditions are dependent.
        typical: J M⁻¹ Jᵀ's diagonal by condition used, the smallest in the sample poses.
        inertias: the mass matrix's diagonal, likewise.
        determinant: of the whole system, each row divided by its `inertias` or `typical`: the usual one in the sample
            poses. An early order changes the pivots, but not their product.
        following: of redundant loops, the candidates with combinations in place of the conditions used, for motions
            (see `constraints.combinations`).
        following_typical: as `typical`, of these.
    """

    rows: dict[str, tuple[int, ...]]
    conditions: tuple[int, ...]
    used: tuple[int, ...]
    candidates: dict[str, Plan]
    late: Plan
    typical: tuple[float, ...]
    inertias: tuple[float, ...]
    determinant: float
    following: dict[str, Plan]
    following_typical: tuple[float, ...]

    @property
    def is_dense_only(self) -> bool:
        """True if nothing but a dense solution on numbers can close the loops."""
        return not self.candidates

    def combinations(self, units: Array) -> Combinations:
        """That follow the motion of redundant loops; `units` of the conditions in use."""
        plan = next(iter(self.following.values()))
        counts = {name: plan.combinations.get(name, len(own)) for name, own in plan.rows.items()}
        return Combinations(self.rows, counts, units)


def make_plans(model: Model, study: Study) -> Plans:
    """Find the orders."""
    numbers, nv = study.numbers, model.nv
    conditions = tuple(sorted((*study.used, *study.spare)))
    rows, used_rows = study.rows(conditions), study.rows(study.used)
    used = tuple(conditions.index(c) for c in sorted(study.used))
    last = Plan(used_rows, late(nv, len(used)))
    masses = [numbers.mass_matrix(q) for q in study.poses]
    if not all(_is_regular(M) for M in masses):
        return Plans(rows, conditions, used, {}, last, (), (), 0.0, {}, ())
    acting = [numbers.jacobian(q)[list(conditions)] for q in study.poses]
    holding = Samples(masses, [J[list(used)] for J in acting])
    candidates = _candidates(model, last, holding.copy)
    inertias = np.min([np.diag(M) for M in masses], axis=0)
    determinant = holding.usual_determinant(np.concatenate([inertias, holding.typical]))
    following, typical = _following(model, study, rows, masses, acting) if study.is_redundant else ({}, ())
    return Plans(
        rows,
        conditions,
        used,
        candidates,
        last,
        tuple(holding.typical.tolist()),
        tuple(inertias.tolist()),
        determinant,
        following,
        typical,
    )


def _candidates(model: Model, last: Plan, samples: Callable[[], Samples]) -> dict[str, Plan]:
    """All orders in which the conditions, or combinations, of a plan can be eliminated."""
    candidates = {"kkt late": last, "kkt sparse": replace(last, order=sparsest(samples()))}
    if model.has_mimics:
        return candidates
    if model.nv > LARGE:
        candidates = {}  # joint-space matrices are too dense there
    tree = model.tree
    ends = {loop.name: {loop.parent, loop.child} - {WORLD} for loop in tree.loops}
    touched = [ends[name] for name, own in last.rows.items() for _ in range(last.combinations.get(name, len(own)))]
    for name, early in (("aba early", True), ("aba late", False)):
        order = along_the_tree(tree, samples(), touched, early)
        if order is not None:
            candidates[name] = replace(last, order=order)
    return candidates


def _following(
    model: Model, study: Study, rows: dict[str, tuple[int, ...]], masses: Sequence[Array], jacobians: Sequence[Array]
) -> tuple[dict[str, Plan], tuple[float, ...]]:
    """Plans with combinations, and their typical pivots."""
    units = study.numbers.weights[sorted((*study.used, *study.spare))]
    whitened = [
        np.linalg.solve(np.linalg.cholesky(M), (J / units[:, None]).T) for M, J in zip(masses, jacobians, strict=True)
    ]
    combinations = Combinations(rows, independent_counts(rows, whitened, study.rank), units)
    combined = [combinations.matrix(W) @ J for W, J in zip(whitened, jacobians, strict=True)]
    samples = Samples(masses, combined)
    last = Plan(rows, late(model.nv, study.rank), combinations.by_loop)
    return _candidates(model, last, samples.copy), tuple(samples.typical.tolist())


def _is_regular(M: Array) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    scale = 1.0 / np.sqrt(np.diag(M))
    return bool(np.linalg.eigvalsh(M * np.outer(scale, scale))[0] > 1e-12)
