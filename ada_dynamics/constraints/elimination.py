# SPDX-License-Identifier: Apache-2.0
"""Elimination plans of mechanisms with loops: orders by pivots in samples, and combinations of constraints.

A multiplier may be eliminated early, before the joints around it, if its pivot does not vanish in general. That keeps
the matrix sparse: eliminated last, the multipliers of loops that share ancestors are all coupled.

Orders are found by one numerical elimination: on the joint-space matrix, or along the tree, from the leaves inward. The
latter takes linear time and memory and is the only one for mechanisms with hundreds of joints, where singular values
and joint-space matrices would take the cube and the square of the number of joints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from ada_dynamics.algorithms.aba import articulated_bodies, eliminate_joint
from ada_dynamics.algorithms.closed_aba import Sweep
from ada_dynamics.algorithms.closure import ConstraintRow, combined
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import AWAY, ConstraintAnalysis, analyse, nontrivial_constraints
from ada_dynamics.constraints.closure import CLOSED, closed_near
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.errors import ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force

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


# --- along the tree ---------------------------------------------------------------------------------------------------
RowsAt = Callable[[Array], Sequence[ConstraintRow]]

# Number of constraints on one body beyond which they are eliminated early. A waiting constraint costs a wrench (6
# numbers) and is coupled to all others that wait; a pair of coupled bodies costs 36 numbers. One closed loop has up to
# 6 constraints that wait until its two ends meet.
CROWDED = 8


class TreeSearch:
    """Elimination along the tree in several sample configurations at once.

    A constraint is eliminated as soon as it acts on one body and its pivot has not cancelled. If more than `CROWDED`
    constraints act on one body, as along two rails with rungs, they are eliminated earlier: that couples the bodies on
    which they act, but the work stays linear in the number of joints.

    Attributes:
        order: of the unknowns eliminated so far.
        waiting: constraints that are not eliminated; in the end those that depend on others in the samples.
        typical: the pivot of each constraint by sample, if it were the only one.
    """

    def __init__(self, tree: Tree, samples: Sequence[Array], rows_at: RowsAt) -> None:
        """Begin with no unknown eliminated.

        Args:
            tree: the mechanism.
            samples: configurations in which no pivot may vanish. The first closes the loops; the last is in general
                position, and its couplings are those of the symbolic system.
            rows_at: returns the constraints in use in a configuration.
        """
        self.tree = tree
        rows = [rows_at(q) for q in samples]
        self.sweeps = [_sweep(tree, q, own) for q, own in zip(samples, rows, strict=True)]
        self.general = self.sweeps[-1]
        count = len(self.general.touched)
        self.order: list[int] = []
        self.waiting = set(range(count))
        self.typical = np.array([_pivots_alone(tree, q, own) for q, own in zip(samples, rows, strict=True)])

    def run(self, joints: Callable[[TreeSearch], Iterable[Body]]) -> None:
        """Eliminate joints in an order that may depend on the couplings."""
        for body in joints(self):
            felt = sorted(self.general.columns[body.index])
            for sweep in self.sweeps:
                sweep.eliminate_joint_of(body, [0.0] * body.joint.nv)
            self.order.extend(range(body.v.stop - 1, body.v.start - 1, -1))
            for c in felt:
                bodies = self.general.touched[c]
                if len(bodies) <= 1 or any(len(self.general.columns[b]) > CROWDED for b in bodies):
                    self._try_to_solve(c)
        while self.waiting and self._try_to_solve(max(sorted(self.waiting), key=self._share)):
            pass

    def coupled(self, i: int) -> int:
        """Number of unknowns that the elimination of joint i couples."""
        return 6 * len(self.general.cross[i]) + len(self.general.columns[i])

    def _try_to_solve(self, c: int) -> bool:
        """Eliminate a constraint unless its pivot has cancelled in some sample."""
        if c not in self.waiting or not self._share(c) > EARLY_PIVOT:
            return False
        for sweep in self.sweeps:
            sweep.eliminate_multiplier(c)
        self.waiting.discard(c)
        self.order.append(self.tree.nv + c)
        return True

    def _share(self, c: int) -> float:
        """Smallest share of a constraint's pivot that has not cancelled, over the samples."""
        pivots = [-float(sweep.coupling.diagonal(c)) for sweep in self.sweeps]
        pairs = zip(pivots, self.typical[:, c].tolist(), strict=True)
        return min(pivot / whole if whole > 0.0 else 0.0 for pivot, whole in pairs)


def _sweep(tree: Tree, q: Array, rows: Sequence[ConstraintRow]) -> Sweep:
    positions = q.tolist()
    sweep = Sweep(tree, transforms(tree, positions), positions, len(rows))
    for c, row in enumerate(rows):
        sweep.right[c] = 0.0
        for i, column in row.wrenches.items():
            sweep.add_column(i, c, column)
    return sweep


def _pivots_alone(tree: Tree, q: Array, rows: Sequence[ConstraintRow]) -> list[float]:
    """Pivot of each constraint after the joints of its loop, if it were the only one."""
    positions = q.tolist()
    X, inertia = transforms(tree, positions), articulated_bodies(tree)
    columns: list[dict[int, Force]] = [{} for _ in tree.bodies]
    for c, row in enumerate(rows):
        for i, wrench in row.wrenches.items():
            columns[i][c] = wrench
    found = [0.0] * len(rows)
    for body in reversed(tree.bodies):
        i, own = body.index, body.positions(positions)
        free = eliminate_joint(body, own, [0.0] * body.joint.nv, inertia[i], NO_FORCE)
        if body.parent != WORLD:
            inertia[body.parent] = inertia[body.parent] + X[i].to_parent(free.inertia)
        for c, column in columns[i].items():
            for s, pivot, inverse_D in zip(body.joint.subspace(own), free.pivots, free.inverse_D, strict=True):
                felt = s @ column
                found[c] += float(inverse_D * felt * felt)
                column = column - felt * pivot.U_over_D
            if body.parent != WORLD and columns[body.parent].pop(c, None) is None:  # else both branches end here
                columns[body.parent][c] = X[i].to_parent(column)
    return found


def _last_first(search: TreeSearch) -> Iterable[Body]:
    return reversed(search.tree.bodies)


def _least_coupled(search: TreeSearch) -> Iterable[Body]:
    """Leaves in the order of their couplings; among equals the deepest."""
    bodies = search.tree.bodies
    depth = [0] * len(bodies)
    children = [0] * len(bodies)
    for body in bodies:
        if body.parent != WORLD:
            depth[body.index] = depth[body.parent] + 1
            children[body.parent] += 1
    seen = [-1] * len(bodies)  # couplings at the time of the entry, which others make obsolete

    def entry(i: int) -> tuple[int, int, int]:
        seen[i] = search.coupled(i)
        return seen[i], -depth[i], -i

    queue = [entry(i) for i, count in enumerate(children) if count == 0]
    heapify(queue)
    freed: set[int] = set()
    while queue:
        coupled, _, negative = heappop(queue)
        i = -negative
        if i in freed:
            continue
        if coupled != search.coupled(i):
            heappush(queue, entry(i))
            continue
        freed.add(i)
        near = [b for b in search.general.cross[i] if children[b] == 0]
        yield bodies[i]
        parent = bodies[i].parent
        if parent != WORLD:
            children[parent] -= 1
            near += [parent] if children[parent] == 0 else []
        for b in near:
            if b not in freed and search.coupled(b) != seen[b]:
                heappush(queue, entry(b))


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


def make_plans(analysis: ConstraintAnalysis) -> EliminationPlans:
    """Find the elimination plans in the sample configurations of an analysis."""
    constraints, nv = analysis.constraints, analysis.constraints.model.nv
    nontrivial = analysis.nontrivial
    rows, independent_rows = analysis.by_loop(nontrivial), analysis.by_loop(analysis.independent)
    independent = tuple(nontrivial.index(c) for c in sorted(analysis.independent))
    last = Plan(independent_rows, late(nv, len(independent)))
    masses = [constraints.mass_matrix(q) for q in analysis.configurations]
    if not all(_is_regular(M) for M in masses):
        return EliminationPlans(rows, nontrivial, independent, {}, last, (), (), 0.0, {}, ())
    jacobians = [constraints.jacobian(q)[list(nontrivial)] for q in analysis.configurations]
    samples = Samples(masses, [J[list(independent)] for J in jacobians])
    used = [nontrivial[c] for c in independent]
    candidates = _candidates(analysis, last, samples, lambda q: _equations(constraints, q, used))
    inertias = np.min([np.diag(M) for M in masses], axis=0)
    determinant = samples.usual_determinant(np.concatenate([inertias, samples.typical]))
    is_redundant = analysis.is_redundant
    following, typical = _following(analysis, rows, masses, jacobians) if is_redundant else ({}, ())
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


def _candidates(analysis: ConstraintAnalysis, last: Plan, samples: Samples, rows_at: RowsAt) -> dict[str, Plan]:
    """All orders in which the constraints, or combinations, of a plan can be eliminated."""
    model = analysis.constraints.model
    along: dict[str, Plan] = {}
    if not model.has_mimics:
        search = TreeSearch(analysis.constraints.tree, [*analysis.configurations, _beside(analysis)], rows_at)
        search.run(_last_first)
        if not search.waiting:
            along["aba early"] = replace(last, order=tuple(search.order))
        if along and model.nv > LONG:
            return along  # joint-space matrices are too dense
    return {"kkt late": last, "kkt sparse": replace(last, order=sparsest(samples.copy())), **along}


def _beside(analysis: ConstraintAnalysis) -> Array:
    """A configuration in general position, which need not close the loops."""
    model, rng = analysis.constraints.model, np.random.default_rng(20120304)
    return np.asarray(model.integrate(analysis.configurations[0], AWAY * rng.normal(size=model.nv)))


def _following(
    analysis: ConstraintAnalysis, rows: dict[str, tuple[int, ...]], masses: Sequence[Array], jacobians: Sequence[Array]
) -> tuple[dict[str, Plan], tuple[float, ...]]:
    """EliminationPlans with combinations, and their typical pivots."""
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
        of_rows = combinations.matrix(constraints.whitened(q)[:, nontrivial])
        used = ((weights, np.flatnonzero(weights)) for weights in of_rows)
        return [combined(weights[own].tolist(), [rows[c] for c in own]) for weights, own in used]

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
    """Analysis and elimination plans of a large model.

    Args:
        model: a model with loops.
        q: configuration that closes all loops; the model's home by default.

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
    samples = analysis.configurations[0], _beside(analysis)
    for joints in (_least_coupled, _last_first):
        search = TreeSearch(constraints.tree, samples, lambda q: _equations(constraints, q, chosen))
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
    return tuple(search.order), tuple(search.typical[0].tolist())


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
