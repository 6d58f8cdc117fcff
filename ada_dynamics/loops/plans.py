# SPDX-License-Identifier: Apache-2.0
"""Plans of elimination for a model's loops: for the fast kernel, and one that only true singularities stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.loops.orders import Samples, along_the_tree, late, sparsest
from ada_dynamics.loops.study import Study
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD

Array = NDArray[np.float64]

# Of the diagonal of J M⁻¹ Jᵀ. What n passes leave of the error along a singular value σ is (ε/(σ²+ε))ⁿ: 1e-9 for the
# smallest σ that is left to the kernels, 1e-4. The multipliers that only press parts against each other have a noise of
# 1e-16/ε, which is taken out of joint wrenches and does nothing to accelerations.
COMPLIANCE = 1e-11
PASSES = 3
LARGE = 60  # velocities beyond which only articulated bodies are looked at


@dataclass(frozen=True)
class Plans:
    """How a model's loops can be closed, by algorithm.

    Attributes:
        conditions: the ones in use, as indices into the study's.
        candidates: by name of the algorithm ("kkt" or "aba") and of its order; empty where the mass matrix is
            singular although the mechanism is not (a massless link that only its loop holds).
        late: the one whose pivots vanish nowhere but where the mechanism is singular.
        typical: J M⁻¹ Jᵀ's diagonal by condition, the smallest in the sample poses.
        inertias: the mass matrix's diagonal, likewise.
        determinant: of the whole system, each row divided by its `inertias` or `typical`: the smallest in the sample
            poses. An early order changes the pivots, but not their product.
    """

    conditions: tuple[int, ...]
    candidates: dict[str, Plan]
    late: Plan
    typical: tuple[float, ...]
    inertias: tuple[float, ...]
    determinant: float

    @property
    def is_dense_only(self) -> bool:
        """Whether nothing but a dense solution on numbers can close the loops."""
        return not self.candidates


def make_plans(model: Model, study: Study) -> Plans:
    """Find the orders."""
    numbers, nv = study.numbers, model.nv
    conditions = tuple(sorted((*study.used, *study.spare)))
    rows = study.rows(conditions)
    regular = all(_is_regular(numbers.mass_matrix(q)) for q in study.poses)
    if not regular:
        return Plans(conditions, {}, Plan(rows, late(nv, len(conditions))), (), (), 0.0)
    diagonal = Samples(numbers, study.poses, conditions, np.zeros(len(conditions))).typical
    epsilon = COMPLIANCE * diagonal if study.is_redundant else np.zeros(len(conditions))
    compliance = tuple(epsilon.tolist()) if study.is_redundant else ()
    passes = PASSES if study.is_redundant else 1

    def plan(order: tuple[int, ...]) -> Plan:
        return Plan(rows, order, compliance, passes)

    def samples() -> Samples:
        return Samples(numbers, study.poses, conditions, epsilon)

    last = plan(late(nv, len(conditions)))
    candidates = {"kkt late": last, "kkt sparse": plan(sparsest(samples()))}
    if nv > LARGE and not model.has_mimics:
        candidates = {}  # joint-space matrices are too dense there
    if not model.has_mimics:
        tree = numbers.tree
        ends = {loop.name: {loop.parent, loop.child} - {WORLD} for loop in tree.loops}
        touched = [ends[study.numbers.conditions[c][0]] for c in conditions]
        for name, early in (("aba early", True), ("aba late", False)):
            order = along_the_tree(tree, samples(), touched, early)
            if order is not None:
                candidates[name] = plan(order)
    inertias = np.min([np.diag(numbers.mass_matrix(q)) for q in study.poses], axis=0)
    determinant = samples().smallest_determinant(np.concatenate([inertias, diagonal]))
    return Plans(conditions, candidates, last, tuple(diagonal.tolist()), tuple(inertias.tolist()), determinant)


def _is_regular(M: Array) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    scale = 1.0 / np.sqrt(np.diag(M))
    return bool(np.linalg.eigvalsh(M * np.outer(scale, scale))[0] > 1e-12)
