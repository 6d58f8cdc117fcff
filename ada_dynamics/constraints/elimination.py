# SPDX-License-Identifier: Apache-2.0
"""Elimination orders of mechanisms with loops, found by testing pivots in sample configurations.

A multiplier may be eliminated early, before the joints around it, if its pivot does not vanish in general. That keeps
the matrix sparse: eliminated last, the multipliers of loops that share ancestors are all coupled.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
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
        return max(unknowns, key=lambda u: self._share(u))

    def _share(self, unknown: int) -> float:
        c = unknown - self.nv
        return min(float(-K[unknown, unknown] / whole[c]) for K, whole in zip(self.systems, self.whole, strict=True))

    def eliminate(self, unknown: int) -> None:
        """Eliminate an unknown."""
        coupled = np.flatnonzero(self.pattern[unknown])
        coupled = coupled[coupled != unknown]
        self.pattern[np.ix_(coupled, coupled)] = True
        self.pattern[unknown] = self.pattern[:, unknown] = False
        for K in self.systems:
            block = np.ix_(coupled, coupled)
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

        def rank(u: int) -> tuple[int, int, int]:
            is_velocity = u < samples.nv
            return int(samples.pattern[u].sum()), int(is_velocity), -u if is_velocity else u

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
        ready = next((c for c in sorted(multipliers) if _may_go(c, touches, samples, early, bool(waiting))), None)
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


def _may_go(c: int, touches: Sequence[set[int]], samples: Samples, early: bool, joints_left: bool) -> bool:
    return (early or not joints_left) and len(touches[c]) <= 1 and samples.can_eliminate(samples.nv + c)


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
