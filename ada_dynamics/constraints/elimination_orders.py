# SPDX-License-Identifier: Apache-2.0
"""Orders of elimination of mechanisms with loops, found by one numerical elimination in sample configurations.

A multiplier may be eliminated early, before the joints around it, if its pivot does not vanish in general. That keeps
the matrix sparse: eliminated last, the multipliers of loops that share ancestors are all coupled.

The elimination runs on the joint-space matrix, or along the tree, from the leaves inward. The latter takes linear time
and memory and is the only one for mechanisms with hundreds of joints, where singular values and joint-space matrices
would take the cube and the square of the number of joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from ada_dynamics.algorithms.aba import eliminated_bodies
from ada_dynamics.algorithms.closed_aba import Sweep
from ada_dynamics.algorithms.closure import ConstraintRow
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import scalars
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.motion import Force

EARLY_PIVOT = 1e-4  # smallest pivot of an early multiplier, relative to its diagonal entry of J M⁻¹ Jᵀ


class Samples:
    """The symmetric system [M Jᵀ; J 0] in sample configurations.

    Attributes:
        systems: matrices, (samples, n, n).
        nv: number of velocities.
        diagonals: diagonal of J M⁻¹ Jᵀ, (samples, constraints).
        typical: the smallest of these over the samples, by constraint.
    """

    def __init__(self, masses: Sequence[Array], jacobians: Sequence[Array]) -> None:
        """Assemble the systems from the mass matrix and J of the constraints in use, by sample."""
        count, self.nv = jacobians[0].shape
        pairs = list(zip(masses, jacobians, strict=True))
        self.systems = np.array([np.block([[M, J.T], [J, np.zeros((count, count))]]) for M, J in pairs])
        self.diagonals = np.array([np.einsum("ij,ji->i", J, np.linalg.solve(M, J.T)) for M, J in pairs])
        self.typical = np.min(self.diagonals, axis=0)


def late(nv: int, constraints: int) -> tuple[int, ...]:
    """All velocities, leaves first, then the multipliers: pivots vanish in singular configurations only."""
    return (*range(nv - 1, -1, -1), *range(nv, nv + constraints))


def sparsest(samples: Samples) -> tuple[int, ...]:
    """Order by the fewest couplings; among equals multipliers first, then later velocities.

    A multiplier is eliminated if its pivot is far from zero in all samples, or is the largest one that is left.
    """
    K, nv = samples.systems.copy(), samples.nv
    pattern = np.any(K != 0.0, axis=0)
    left = set(range(len(pattern)))
    order: list[int] = []
    while left:
        pivots = -np.diagonal(K, axis1=1, axis2=2)[:, nv:]
        shares = np.min(pivots / np.maximum(samples.diagonals, 1e-300), axis=0)
        allowed = [u for u in left if u < nv or shares[u - nv] > EARLY_PIVOT]
        allowed = allowed or [nv + max(sorted(u - nv for u in left), key=shares.__getitem__)]
        couplings = pattern.sum(axis=1).tolist()
        _, _, _, chosen = min((couplings[u], u < nv, -u if u < nv else u, u) for u in allowed)
        coupled = np.flatnonzero(pattern[chosen])
        coupled = coupled[coupled != chosen]
        pattern[coupled[:, None], coupled] = True
        pattern[chosen] = pattern[:, chosen] = False
        outer = K[:, coupled, chosen][:, :, None] * K[:, chosen, coupled][:, None, :]
        K[:, coupled[:, None], coupled] -= outer / K[:, chosen, chosen][:, None, None]
        left.discard(chosen)
        order.append(chosen)
    return tuple(order)


# --- along the tree ---------------------------------------------------------------------------------------------------
class Sample(NamedTuple):
    """A configuration, or several as rows: the constraints in use, and the pivot of each if it were the only one."""

    q: Array
    rows: Sequence[ConstraintRow]
    typical: Array  # (constraints,) or (constraints, samples)


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
    """

    def __init__(self, tree: Tree, samples: Sequence[Sample]) -> None:
        """Begin with no unknown eliminated.

        Args:
            tree: the mechanism.
            samples: configurations in which no pivot may vanish. The first close the loops; the last is in general
                position, and its couplings are those of the symbolic system.
        """
        self.tree = tree
        self.sweeps = [_sweep(tree, sample) for sample in samples]
        self.general = self.sweeps[-1]
        self.order: list[int] = []
        self.waiting = set(range(len(self.general.touched)))
        # a constraint that acts on no joint has the share 0
        self.typical = [np.where(sample.typical > 0.0, sample.typical, np.inf) for sample in samples]

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
        pairs = zip(self.sweeps, self.typical, strict=True)
        return min(float(np.min(-sweep.coupling.diagonal(c) / own[c])) for sweep, own in pairs)


def _sweep(tree: Tree, sample: Sample) -> Sweep:
    positions = scalars(sample.q)
    sweep = Sweep(tree, transforms(tree, positions), positions, len(sample.rows))
    for c, row in enumerate(sample.rows):
        sweep.right[c] = 0.0
        for i, column in row.wrenches.items():
            sweep.add_column(i, c, column)
    return sweep


def sample_of(tree: Tree, q: Array, rows: Sequence[ConstraintRow]) -> Sample:
    """Sample with the pivot of each constraint after the joints of its loop, in linear time."""
    positions = q.tolist()
    X = transforms(tree, positions)
    eliminated = eliminated_bodies(tree, X, positions)
    columns: list[dict[int, Force]] = [{} for _ in tree.bodies]
    for c, row in enumerate(rows):
        for i, wrench in row.wrenches.items():
            columns[i][c] = wrench
    found = [0.0] * len(rows)
    for body in reversed(tree.bodies):
        i, own, free = body.index, body.positions(positions), eliminated[body.index]
        for c, column in columns[i].items():
            for s, pivot, inverse_D in zip(body.joint.subspace(own), free.pivots, free.inverse_D, strict=True):
                felt = s @ column
                found[c] += float(inverse_D * felt * felt)
                column = column - felt * pivot.U_over_D
            if body.parent != WORLD and columns[body.parent].pop(c, None) is None:  # else both branches end here
                columns[body.parent][c] = X[i].to_parent(column)
    return Sample(q, rows, np.array(found))


def last_first(search: TreeSearch) -> Iterable[Body]:
    """Bodies from the last one to the first."""
    return reversed(search.tree.bodies)


def least_coupled(search: TreeSearch) -> Iterable[Body]:
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
