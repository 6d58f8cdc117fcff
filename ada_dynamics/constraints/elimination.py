# SPDX-License-Identifier: Apache-2.0
"""Elimination plans of mechanisms with loops: orders by pivots in samples, and combinations of constraints.

A multiplier may be eliminated early, before the joints around it, if its pivot does not vanish in general. That keeps
the matrix sparse: eliminated last, the multipliers of loops that share ancestors are all coupled.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Tree

EARLY_PIVOT = 1e-4  # smallest pivot of an early multiplier, relative to its diagonal entry of J M⁻¹ Jᵀ


class Samples:
    """The symmetric system [M Jᵀ; J 0] in sample configurations, reduced step by step."""

    def __init__(self, masses: Sequence[Array], jacobians: Sequence[Array]) -> None:
        """Args: mass matrix and J of the constraints in use, by sample."""
        count, self.nv = jacobians[0].shape
        self.size = self.nv + count
        self.systems: list[Array] = []
        self.whole: list[Array] = []  # diagonals of J M⁻¹ Jᵀ
        for M, J in zip(masses, jacobians, strict=True):
            self.whole.append(np.einsum("ij,ji->i", J, np.linalg.solve(M, J.T)))
            K = np.zeros((self.size, self.size))
            K[: self.nv, : self.nv], K[self.nv :, : self.nv], K[: self.nv, self.nv :] = M, J, J.T
            self.systems.append(K)
        self.pattern = np.any([K != 0.0 for K in self.systems], axis=0)

    def copy(self) -> Samples:
        """A copy to be reduced in another order."""
        other = copy.copy(self)
        other.systems, other.pattern = [K.copy() for K in self.systems], self.pattern.copy()
        return other

    @property
    def typical(self) -> Array:
        """Smallest diagonal entry of J M⁻¹ Jᵀ by constraint over the samples."""
        return np.asarray(np.min(self.whole, axis=0))

    def usual_determinant(self, scales: Array) -> float:
        """Median absolute determinant of the systems, rows and columns divided by the roots of the scales."""
        roots = np.sqrt(scales)
        return float(np.median([abs(np.linalg.det(K / np.outer(roots, roots))) for K in self.systems]))

    def can_eliminate(self, unknown: int) -> bool:
        """True for velocities, and for multipliers whose pivot is far from zero in all samples."""
        if unknown < self.nv:
            return True
        c = unknown - self.nv
        return all(
            -K[unknown, unknown] > EARLY_PIVOT * whole[c] for K, whole in zip(self.systems, self.whole, strict=True)
        )

    def best(self, unknowns: Sequence[int]) -> int:
        """The multiplier with the largest relative pivot."""

        def share(u: int) -> float:
            pairs = zip(self.systems, self.whole, strict=True)
            return min(float(-K[u, u] / whole[u - self.nv]) for K, whole in pairs)

        return max(unknowns, key=share)

    def eliminate(self, unknown: int) -> None:
        """Eliminate an unknown."""
        coupled = np.flatnonzero(self.pattern[unknown])
        coupled = coupled[coupled != unknown]
        block = coupled[:, None], coupled
        self.pattern[block] = True
        self.pattern[unknown] = self.pattern[:, unknown] = False
        for K in self.systems:
            K[block] -= np.outer(K[coupled, unknown], K[unknown, coupled]) / K[unknown, unknown]


def late(nv: int, constraints: int) -> tuple[int, ...]:
    """All velocities, leaves first, then the multipliers: pivots vanish in singular configurations only."""
    return (*range(nv - 1, -1, -1), *range(nv, nv + constraints))


def sparsest(samples: Samples) -> tuple[int, ...]:
    """Order by the fewest couplings; among equals multipliers first, then later velocities."""
    left = set(range(samples.size))
    order: list[int] = []
    while left:
        allowed = [u for u in left if samples.can_eliminate(u)] or [samples.best(sorted(left))]

        couplings = samples.pattern.sum(axis=1).tolist()

        def rank(u: int, couplings: list[int] = couplings) -> tuple[int, int, int]:
            is_velocity = u < samples.nv
            return couplings[u], int(is_velocity), -u if is_velocity else u

        chosen = min(allowed, key=rank)
        samples.eliminate(chosen)
        left.discard(chosen)
        order.append(chosen)
    return tuple(order)


def along_the_tree(tree: Tree, samples: Samples, touched: Sequence[set[int]], early: bool) -> tuple[int, ...] | None:
    """Order with leaf joints first, and each multiplier as soon as it acts on one body and its pivot is safe.

    Args:
        tree: the mechanism.
        samples: the system.
        touched: bodies that each constraint acts on at first.
        early: whether multipliers may be eliminated before all joints.

    Returns:
        The order; None if `early` leaves a multiplier without a safe pivot. Late orders always exist: the largest
        pivots come first, and vanish in singular configurations only.
    """
    touches = [set(bodies) for bodies in touched]
    waiting = {body.index: sum(1 for b in tree.bodies if b.parent == body.index) for body in tree.bodies}
    multipliers = set(range(len(touches)))
    order: list[int] = []
    last = WORLD
    while waiting or multipliers:
        candidates = sorted(multipliers) if early or not waiting else []
        ready = next((c for c in candidates if len(touches[c]) <= 1 and samples.can_eliminate(samples.nv + c)), None)
        if ready is not None:
            _spread(ready, touches, multipliers, samples)
            order.append(samples.nv + ready)
            continue
        if not waiting and early:
            return None
        if not waiting:
            best = samples.best([samples.nv + c for c in sorted(multipliers)])
            _spread(best - samples.nv, touches, multipliers, samples)
            order.append(best)
            continue
        body = tree.bodies[_next_joint(tree, waiting, touches, multipliers, last)]
        del waiting[body.index]
        for unknown in range(body.v.stop - 1, body.v.start - 1, -1):
            samples.eliminate(unknown)
            order.append(unknown)
        for bodies in touches:
            if body.index in bodies:
                bodies.discard(body.index)
                if body.parent != WORLD:
                    bodies.add(body.parent)
        if body.parent != WORLD:
            waiting[body.parent] -= 1
        last = body.index
    return tuple(order)


def _spread(c: int, touches: list[set[int]], multipliers: set[int], samples: Samples) -> None:
    """Eliminate a multiplier: the constraints coupled to it then act on its body, too."""
    row = samples.pattern[samples.nv + c]
    for d in multipliers:
        if d != c and row[samples.nv + d]:
            touches[d] |= touches[c]
    samples.eliminate(samples.nv + c)
    multipliers.discard(c)


def _next_joint(
    tree: Tree, waiting: dict[int, int], touches: Sequence[set[int]], multipliers: set[int], last: int
) -> int:
    """The leaf with the fewest constraints; among equals one that continues a branch, then the deepest."""

    def rank(i: int) -> tuple[int, int, int, int]:
        carried = sum(1 for c in multipliers if i in touches[c])
        goes_on = last != WORLD and tree.bodies[last].parent == i
        is_free_root = tree.bodies[i].joint.nv == 6
        return (99 if is_free_root else carried, 0 if goes_on else 1, -len(tree.ancestry(i)), -i)

    return min((i for i, children in waiting.items() if children == 0), key=rank)


# --- combinations -----------------------------------------------------------------------------------------------------
# Smallest det(J M⁻¹ Jᵀ) relative to that of new combinations: the error of a stage that violates the constraints grows
# with the inverse of its square root.
LEAST_DETERMINANT = 0.1


class ConstraintCombinations:
    """Number and layout of the combinations of each loop."""

    def __init__(self, rows: Mapping[str, Sequence[int]], counts: Mapping[str, int], units: Array) -> None:
        """Args.

        Args:
            rows: non-trivial constraints by loop.
            counts: number of independent constraints that each loop adds to the loops before it.
            units: weights of the constraints.
        """
        self.units = units
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        self._blocks = [
            (slice(int(a), int(b)), counts[name]) for name, a, b in zip(rows, ends[:-1], ends[1:], strict=True)
        ]
        self.by_loop = {name: counts[name] for name, own in rows.items() if counts[name] < len(own)}

    def matrix(self, W: Array) -> Array:
        """Weights of all constraints in all combinations, (combinations, m); unit rows for loops without redundancy.

        Args:
            W: L⁻¹ Jᵀ of the weighted constraints, one column each; a leading axis is a batch of configurations.
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

    Args:
        rows: non-trivial constraints by loop.
        whitened: W of these constraints in sample configurations.
        rank: of all of them.
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
LARGE = 60  # velocities beyond which only articulated bodies are considered


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
        following: for redundant loops, the candidates with combinations in place of the constraints in use, for
            integrators (see `ConstraintCombinations`).
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

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> EliminationPlans:
        """The plans that `dataclasses.asdict` made plain data, which may have been stored as JSON."""
        whole = as_tuples(data)
        for name in ("candidates", "following"):
            whole[name] = {key: Plan(**plan) for key, plan in whole[name].items()}
        whole["late"] = whole["candidates"].get("kkt late") or Plan(**whole["late"])
        return cls(**whole)

    @property
    def is_dense_only(self) -> bool:
        """True if only the rank-revealing solver can solve the constraints."""
        return not self.candidates

    def combinations(self, units: Array) -> ConstraintCombinations:
        """Combinations that follow the motion of redundant loops; `units` of the non-trivial constraints."""
        plan = next(iter(self.following.values()))
        counts = {name: plan.combinations.get(name, len(own)) for name, own in plan.rows.items()}
        return ConstraintCombinations(self.rows, counts, units)


def as_tuples(data: Any) -> Any:
    """Plain data with tuples in place of lists."""
    if isinstance(data, dict):
        return {key: as_tuples(value) for key, value in data.items()}
    return tuple(map(as_tuples, data)) if isinstance(data, (list, tuple)) else data


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
