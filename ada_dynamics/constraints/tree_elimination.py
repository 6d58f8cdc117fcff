# SPDX-License-Identifier: Apache-2.0
"""Orders of elimination along the tree for mechanisms with hundreds of joints, found by eliminating on numbers.

Joints are freed from the leaves inward. A condition is solved for once it touches one body alone and its pivot has not
cancelled. Where more conditions than `CROWDED` wait on one body, as along two rails with rungs, they go earlier: that
couples the bodies they touch, but the work stays linear in the number of joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np

from ada_dynamics.algorithms.closed_aba import Sweep
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import AWAY, Study, acting_somewhere
from ada_dynamics.constraints.closure import CLOSED, assembled
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.constraints.elimination import EARLY_PIVOT
from ada_dynamics.constraints.plans import Plans
from ada_dynamics.errors import ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.motion import Force

# Conditions on one body beyond which they are solved for early. A waiting condition costs a wrench (6 numbers), and is
# coupled to all others that wait; a pair of coupled bodies costs 36 numbers whatever it carries. One closed loop has up
# to 6 conditions that wait until its two ends meet, and must be left to it.
CROWDED = 8


# Entries that are changed per velocity where joints feel a body and what waits of one loop, twice over for the
# conditions themselves: with no more than these no better order is looked for.
_USUAL_WORK = (6 + CROWDED) * (7 + CROWDED)


@dataclass
class LongOrder:
    """An order of elimination, and what it was found out to be worth.

    Attributes:
        order: of all unknowns.
        typical: the largest pivot that each condition had on the way, which only its early order makes smaller.
        cancelled: conditions that follow from others in the poses looked at; not in the order.
    """

    order: list[int] = field(default_factory=list)
    typical: Array = field(default_factory=lambda: np.zeros(0))
    cancelled: list[int] = field(default_factory=list)


def long_order(numbers: LoopNumbers, poses: Sequence[Array], plan: Plan, conditions: Sequence[int]) -> LongOrder:
    """Last joints first where that is cheap, else those first that are coupled to the fewest others.

    Args:
        numbers: the loops.
        poses: pivots must vanish in none of them. The first closes the loops; the last is in general position, and
            what is coupled there is coupled among expressions.
        plan: the conditions in use by loop.
        conditions: the same as indices into `numbers.conditions`.
    """
    wrenches = [[row.wrenches for row in numbers.rows(q)] for q in poses]

    def search() -> _Search:
        return _Search(numbers, poses, plan, [[w[c] for c in conditions] for w in wrenches])

    plain = search()
    if plain.run(_last_first, stop=_USUAL_WORK * numbers.tree.nv):
        return plain.found
    sparse = search()
    sparse.run(_least_coupled)
    return sparse.found


class _Search:
    """Elimination in several poses at once."""

    def __init__(
        self, numbers: LoopNumbers, poses: Sequence[Array], plan: Plan, wrenches: Sequence[Sequence[dict[int, Force]]]
    ) -> None:
        self.tree = numbers.tree
        self.sweeps = [_sweep(self.tree, q, plan, own) for q, own in zip(poses, wrenches, strict=True)]
        self.general = self.sweeps[-1]
        self.waiting = set(range(plan.conditions))
        self.typical = np.zeros((len(poses), plan.conditions))
        self.work = 0  # entries of the system that have changed, about
        self.found = LongOrder()

    def run(self, joints: Callable[[_Search], Iterable[Body]], stop: int | None = None) -> bool:
        """Free joints in an order that may depend on what is coupled so far; False where it takes too much work."""
        for body in joints(self):
            felt = sorted(self.general.columns[body.index])
            self.work += body.joint.nv * _pairs(6 + self.coupled(body.index))
            if stop is not None and self.work > stop:
                return False
            for sweep in self.sweeps:
                sweep.free_joint(body, [0.0] * body.joint.nv)
            self.found.order.extend(range(body.v.stop - 1, body.v.start - 1, -1))
            for c in felt:
                self.typical[:, c] = np.maximum(self.typical[:, c], self._pivots(c))
            for c in felt:
                if len(self.general.touched[c]) <= 1 or self._is_crowded(c):
                    self._try_to_solve(c)
        while self.waiting:
            c = max(sorted(self.waiting), key=self._share)
            if not self._try_to_solve(c):
                break
        self.found.cancelled = sorted(self.waiting)
        self.found.typical = self.typical[0]
        return True

    def coupled(self, i: int) -> int:
        """Unknowns that freeing the joint of body i couples."""
        return 6 * len(self.general.cross[i]) + len(self.general.columns[i])

    def _is_crowded(self, c: int) -> bool:
        return any(len(self.general.columns[b]) > CROWDED for b in self.general.touched[c])

    def _try_to_solve(self, c: int) -> bool:
        """Solve for a condition, if its pivot has not cancelled in any pose."""
        if c not in self.waiting or not self._share(c) > EARLY_PIVOT:
            return False
        self.work += _pairs(6 * len(self.general.touched[c]) + self.general.coupling.count(c))
        for sweep in self.sweeps:
            sweep.solve_condition(c)
        self.waiting.discard(c)
        self.found.order.append(self.tree.nv + c)
        return True

    def _pivots(self, c: int) -> list[float]:
        return [-float(sweep.coupling.diagonal(c)) for sweep in self.sweeps]

    def _share(self, c: int) -> float:
        """Share of a condition's pivot that is left in the worst pose."""
        pairs = zip(self._pivots(c), self.typical[:, c].tolist(), strict=True)
        return min(pivot / whole if whole > 0.0 else 0.0 for pivot, whole in pairs)


def _pairs(n: int) -> int:
    return n * (n + 1) // 2


def _sweep(tree: Tree, q: Array, plan: Plan, wrenches: Sequence[dict[int, Force]]) -> Sweep:
    positions = q.tolist()
    sweep = Sweep(tree, transforms(tree, positions), positions, plan)
    for c, own in enumerate(wrenches):
        sweep.right[c] = 0.0
        for i, column in own.items():
            sweep.add_column(i, c, column)
    return sweep


# --- joints ---------------------------------------------------------------------------------------------------------
def _last_first(search: _Search) -> Iterable[Body]:
    return reversed(search.tree.bodies)


def _least_coupled(search: _Search) -> Iterable[Body]:
    """Leaves, the one that is coupled to least first; among equals the deepest."""
    bodies = search.tree.bodies
    depth = [0] * len(bodies)
    children = [0] * len(bodies)
    for body in bodies:
        if body.parent != WORLD:
            depth[body.index] = depth[body.parent] + 1
            children[body.parent] += 1
    seen = [-1] * len(bodies)  # couplings when the entry was made, which is out of date with others

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
LONG = 60  # velocities beyond which a mechanism is treated so
SEARCHED = 300  # velocities up to which a pose is searched for, and redundancy resolved, at cubic cost


class RedundantError(ModelError):
    """Conditions that act depend on each other."""


@pause_garbage_collection()
def study_long(model: Model, pose: Array | None) -> tuple[Study, Plans]:
    """Study and plans.

    Args:
        model: a model with loops.
        pose: one that closes all loops; near that of the model's file by default.

    Raises:
        ModelError: the pose does not close the loops, or conditions that act depend on each other.
    """
    numbers = LoopNumbers(model)
    q = model.home() if pose is None else pose
    is_searched = model.nv <= SEARCHED
    q = assembled(model, numbers, q) if is_searched else q
    gap = float(np.max(np.abs(numbers.gap(q)), initial=0.0))
    if not is_searched and gap > CLOSED * max(1.0, numbers.length):
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities, too many to search for a pose that closes its loops: "
            f"give one as q0=... (this one leaves a gap of {gap:.3g}).",
            field="q0",
            value=gap,
            allowed=CLOSED * max(1.0, numbers.length),
        )
    acting = acting_somewhere(numbers, q)
    idle = tuple(sorted(set(range(len(numbers.conditions))) - set(acting)))
    found = Study(numbers, (q,), len(acting), tuple(acting), idle, ())
    rows = found.rows(found.used)
    order, typical = _along_the_tree(Plan(rows, ()), numbers, q, acting)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.used)))
    return found, Plans(dict(rows), found.used, chosen, {"aba long": plan}, plan, typical, (), 0.0, {}, ())


def _along_the_tree(
    plan: Plan, numbers: LoopNumbers, q: Array, acting: list[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order, and the conditions' typical pivots."""
    rng = np.random.default_rng(20120304)
    somewhere = numbers.model.integrate(q, AWAY * rng.normal(size=numbers.model.nv))
    found = long_order(numbers, (q, somewhere), plan, acting)
    if found.cancelled:
        loop, _, kind = numbers.conditions[acting[found.cancelled[0]]]
        raise RedundantError(
            f"model {numbers.model.name!r}: in loop {loop!r}, the {kind} follows from other conditions in the pose "
            f"given. Redundant loops that act on each other are not supported beyond {SEARCHED} velocities; leave one "
            "out.",
            loop=loop,
            field=str(kind),
        )
    return tuple(found.order), tuple(found.typical.tolist())
