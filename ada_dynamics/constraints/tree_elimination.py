# SPDX-License-Identifier: Apache-2.0
"""Elimination orders along the tree for mechanisms with hundreds of joints, found by one numerical elimination.

Joints are eliminated from the leaves inward, in linear time and memory; singular values and joint-space matrices would
take the cube and the square of the number of joints. A constraint is eliminated as soon as it acts on one body and its
pivot has not cancelled. If more than `CROWDED` constraints act on one body, as along two rails with rungs, they are
eliminated earlier: that couples the bodies they act on, but the work stays linear in the number of joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from ada_dynamics.algorithms.closed_aba import Sweep
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import AWAY, ConstraintAnalysis, analyse, analyse_turned, nontrivial_constraints
from ada_dynamics.constraints.closure import CLOSED, closed_near
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.elimination import EARLY_PIVOT, EliminationPlans, make_plans
from ada_dynamics.errors import ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Body

# Number of constraints on one body beyond which they are eliminated early. A waiting constraint costs a wrench (6
# numbers) and is coupled to all others that wait; a pair of coupled bodies costs 36 numbers. One closed loop has up to
# 6 constraints that wait until its two ends meet.
CROWDED = 8
# Entries changed per velocity by a body and the waiting constraints of one loop, twice for the constraints themselves;
# an order that needs no more is accepted.
_USUAL_WORK = (6 + CROWDED) * (7 + CROWDED)


class _Search:
    """Elimination in several sample configurations at once.

    Attributes:
        order: of the unknowns eliminated so far.
        waiting: constraints that are not eliminated; in the end those that depend on others in the samples.
        typical: the largest pivot of each constraint during the elimination, by sample.
    """

    def __init__(self, constraints: ConstraintSet, samples: Sequence[Array], plan: Plan, chosen: Sequence[int]) -> None:
        """Begin with no unknown eliminated.

        Args:
            constraints: of all loops.
            samples: configurations in which no pivot may vanish. The first closes the loops; the last is in general
                position, and its couplings are those of the symbolic system.
            plan: the constraints in use by loop.
            chosen: the same as indices into `constraints.rows`.
        """
        self.tree = constraints.tree
        self.sweeps = [_sweep(constraints, q, plan, chosen) for q in samples]
        self.general = self.sweeps[-1]
        self.order: list[int] = []
        self.waiting = set(range(plan.constraint_count))
        self.typical = np.zeros((len(samples), plan.constraint_count))
        self.work = 0  # approximate number of changed entries of the system

    def run(self, joints: Callable[[_Search], Iterable[Body]], stop: int | None = None) -> bool:
        """Eliminate joints in an order that may depend on the couplings; False if it takes more work than `stop`."""
        for body in joints(self):
            felt = sorted(self.general.columns[body.index])
            self.work += body.joint.nv * _pairs(6 + self.coupled(body.index))
            if stop is not None and self.work > stop:
                return False
            for sweep in self.sweeps:
                sweep.eliminate_joint_of(body, [0.0] * body.joint.nv)
            self.order.extend(range(body.v.stop - 1, body.v.start - 1, -1))
            for c in felt:
                self.typical[:, c] = np.maximum(self.typical[:, c], self._pivots(c))
            for c in felt:
                bodies = self.general.touched[c]
                if len(bodies) <= 1 or any(len(self.general.columns[b]) > CROWDED for b in bodies):
                    self._try_to_solve(c)
        while self.waiting and self._try_to_solve(max(sorted(self.waiting), key=self._share)):
            pass
        return True

    def coupled(self, i: int) -> int:
        """Number of unknowns that the elimination of joint i couples."""
        return 6 * len(self.general.cross[i]) + len(self.general.columns[i])

    def _try_to_solve(self, c: int) -> bool:
        """Eliminate a constraint unless its pivot has cancelled in some sample."""
        if c not in self.waiting or not self._share(c) > EARLY_PIVOT:
            return False
        self.work += _pairs(6 * len(self.general.touched[c]) + self.general.coupling.count(c))
        for sweep in self.sweeps:
            sweep.eliminate_multiplier(c)
        self.waiting.discard(c)
        self.order.append(self.tree.nv + c)
        return True

    def _pivots(self, c: int) -> list[float]:
        return [-float(sweep.coupling.diagonal(c)) for sweep in self.sweeps]

    def _share(self, c: int) -> float:
        """Smallest share of a constraint's pivot that has not cancelled, over the samples."""
        pairs = zip(self._pivots(c), self.typical[:, c].tolist(), strict=True)
        return min(pivot / whole if whole > 0.0 else 0.0 for pivot, whole in pairs)


def _pairs(n: int) -> int:
    return n * (n + 1) // 2


def _sweep(constraints: ConstraintSet, q: Array, plan: Plan, chosen: Sequence[int]) -> Sweep:
    rows, positions = constraints.equations(q), q.tolist()
    sweep = Sweep(constraints.tree, transforms(constraints.tree, positions), positions, plan)
    for c, row in enumerate(chosen):
        sweep.right[c] = 0.0
        for i, column in rows[row].wrenches.items():
            sweep.add_column(i, c, column)
    return sweep


# --- joints ---------------------------------------------------------------------------------------------------------
def _last_first(search: _Search) -> Iterable[Body]:
    return reversed(search.tree.bodies)


def _least_coupled(search: _Search) -> Iterable[Body]:
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


# --- analysis of large mechanisms -------------------------------------------------------------------------------------
LONG = 60  # velocities beyond which the elimination along the tree is used
SEARCHED = 300  # velocities up to which loops are closed and redundancy is resolved, at cubic cost


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
    order, typical = _along_the_tree(Plan(rows, ()), constraints, q, independent)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.independent)))
    candidates = {"aba long": plan}
    return found, EliminationPlans(dict(rows), found.independent, chosen, candidates, plan, typical, (), 0.0, {}, ())


def _along_the_tree(
    plan: Plan, constraints: ConstraintSet, q: Array, chosen: list[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order with the last joints first if that is cheap, else by the fewest couplings; the typical pivots."""
    rng = np.random.default_rng(20120304)
    random = constraints.model.integrate(q, AWAY * rng.normal(size=constraints.model.nv))
    search = _Search(constraints, (q, random), plan, chosen)
    if not search.run(_last_first, stop=_USUAL_WORK * constraints.tree.nv):
        search = _Search(constraints, (q, random), plan, chosen)
        search.run(_least_coupled)
    if search.waiting:
        loop, _, kind = constraints.rows[chosen[min(search.waiting)]]
        raise RedundantConstraintsError(
            f"model {constraints.model.name!r}: in loop {loop!r}, the {kind} depends on other constraints in this "
            f"configuration. Redundant constraints are supported up to {SEARCHED} velocities; remove a loop.",
            loop=loop,
            field=str(kind),
        )
    return tuple(search.order), tuple(search.typical[0].tolist())


def analysis_and_plans(
    model: Model, q: Array | None, unturned: ConstraintAnalysis | None
) -> tuple[ConstraintAnalysis, EliminationPlans]:
    """Analysis and elimination plans of a model.

    Args:
        model: a model with loops.
        q: as for `analyse`.
        unturned: analysis whose constraints get the axes of the other sides of the loop joints; None for their own.
    """
    if unturned is None and model.nv > LONG:
        try:
            return analyse_large(model, q)
        except RedundantConstraintsError:
            if model.nv > SEARCHED:
                raise
    found = analyse(model, q) if unturned is None else analyse_turned(unturned)
    return found, make_plans(model, found)
