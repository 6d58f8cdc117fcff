# SPDX-License-Identifier: Apache-2.0
"""Rank of the loops' conditions, distinguished from the rounding of arithmetic and of the description.

The lengths and axes of an overconstrained mechanism are numbers in a file. Once they are rounded there, conditions that
followed from others do so no more: J keeps small singular values, and some gap cannot be closed. A small singular value
alone does not tell which it is, as a mechanism near a singular pose has one, too. Motion tells: along what is a motion
but for rounding, a finite step leaves a gap as small as the singular value explains; near a singular pose, where
nothing can move that way, the gap grows with the square of the step. And a description with all its digits is taken
at its word, as long as its loops close.

All figures are for J in units of the mechanism's length: a joint at a lever of one length has 1 per rad.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import LoopNumbers

# Of the largest singular value: less is arithmetic. Poses are closed to 1e-11, singular values follow to within that.
ARITHMETIC = 1e-10
# More is true without further looks. A file with four decimals [m, rad] leaves up to 5e-5 per number, some 1e-3 for all
# numbers of a loop of links of 0.1 m; the mechanisms of the catalogue have 0.2 and more, long ladders 0.8. In between,
# motion decides.
CERTAIN = 5e-3
ROUNDED_GAP = 1e-3  # gap in lengths that such a file can leave
STEP = 0.2  # [rad, lengths] of the motions that are tried: the square of it is far above what rounding leaves
FEWEST_DECIMALS, MOST_DECIMALS = 4, 12  # that a file is taken to be rounded to
_BY_ROUNDING = 10.0  # times the last decimal by the length: largest singular value that a loop's numbers make of it
_BY_GAP = 30.0  # times the gap that stays open, likewise
_EXPLAINED = 4.0  # times σ h and the gap before the step: less than that is explained by rounding
_ABRUPT = 5.0  # least ratio of neighbours between which a spectrum may be split
_TRIES = 3  # motions per split
_SLACK = 1e-12  # gap that arithmetic leaves


class Spectrum(NamedTuple):
    """J of the conditions looked at in a pose, by singular values."""

    U: Array
    s: Array  # as many as there are velocities; zeros behind those of the conditions
    Vt: Array


class Rows:
    """Some conditions, in units of the mechanism's length."""

    def __init__(self, numbers: LoopNumbers, conditions: NDArray[np.intp] | None = None) -> None:
        """Args: the loops; the conditions to look at, all by default."""
        self.numbers = numbers
        self.chosen = np.arange(len(numbers.conditions)) if conditions is None else conditions
        self._weights = 1.0 / (numbers.weights[self.chosen] * numbers.length)

    @cached_property
    def rounding(self) -> float:
        """Last decimal of the description, in lengths; 0 where its numbers have all their digits."""
        model = self.numbers.model
        places = [joint.xyz for joint in model.joints.values()]
        places += [xyz for loop in model.loops.values() for xyz in (loop.parent_xyz, loop.child_xyz)]
        values = np.concatenate([np.zeros(1), *places])
        for decimals in range(FEWEST_DECIMALS, MOST_DECIMALS + 1):
            if np.allclose(np.round(values, decimals), values, rtol=1e-15, atol=0.0):
                return float(10.0**-decimals / self.numbers.length)
        return 0.0

    def gap(self, q: Array) -> Array:
        """How far each condition is from holding."""
        return np.asarray(self.numbers.gap(q)[self.chosen] * self._weights, dtype=np.float64)

    def spectrum(self, q: Array) -> Spectrum:
        """Singular values of J."""
        J = self.numbers.jacobian(q)[self.chosen] * self._weights[:, None]
        U, s, Vt = np.linalg.svd(J, full_matrices=True)
        return Spectrum(U, np.concatenate([s, np.zeros(len(Vt) - len(s))]), Vt)

    def step_by(self, q: Array, rank: int) -> Array:
        """The shortest step that closes the gap as far as so many singular values reach."""
        at = self.spectrum(q)
        return np.asarray(-at.Vt[:rank].T @ ((at.U[:, :rank].T @ self.gap(q)) / at.s[:rank]), dtype=np.float64)

    def settled(self, q: Array, rank: int, steps: int = 12) -> Array | None:
        """A pose next to q in which such steps close no more; None where they lead away."""
        model = self.numbers.model
        last = np.inf
        for _ in range(steps):
            step = self.step_by(q, rank)
            size = float(np.max(np.abs(step), initial=0.0))
            if not np.isfinite(size) or size > 2.0 * STEP:
                return None
            q = model.integrate(q, step)
            if size < 1e-15 or (size < 1e-9 and size >= 0.5 * last):
                return q
            last = size
        return None

    def size(self, q: Array) -> float:
        """The largest gap."""
        return float(np.max(np.abs(self.gap(q)), initial=0.0))


# --- rank in one pose -----------------------------------------------------------------------------------------------
def rank_at(rows: Rows, q: Array) -> int:
    """Rank in a pose that is closed but for rounding."""
    s = rows.spectrum(q).s
    if not s.size or not s[0] > 0.0:
        return 0
    by_rounding = max(_BY_ROUNDING * rows.rounding, _BY_GAP * rows.size(q))
    least = int(np.sum(s > min(CERTAIN, max(by_rounding, ARITHMETIC * s[0]))))
    most = int(np.sum(s > ARITHMETIC * s[0]))
    for rank in range(least, most):
        if rank and s[rank - 1] < _ABRUPT * s[rank]:
            continue
        if moves(rows, q, rank):
            return rank
    return most


def moves(rows: Rows, q: Array, rank: int) -> bool:
    """True if a pose has all the motions that conditions of this rank leave, but for rounding."""
    at = rows.spectrum(q)
    N = at.Vt[rank:]
    if not len(N):
        return True
    left = max(float(at.s[rank]), _BY_ROUNDING * rows.rounding)  # which a pose can have less of than its neighbours
    allowed = min(_EXPLAINED * (left * STEP + rows.size(q)) + _SLACK, ROUNDED_GAP)

    def leads_on(step: Array) -> bool:
        moved = stepped(rows, q, rank, step)
        return moved is not None and rows.size(moved) <= allowed

    rng = np.random.default_rng(20120305)
    ways = [STEP * direction(rng, N) for _ in range(_TRIES)]
    # a motion may end near by, at a dead point; what is locked leads on to neither side
    return all(leads_on(way) or leads_on(-way) for way in ways)


def stepped(rows: Rows, q: Array, rank: int, step: Array) -> Array | None:
    """The pose to which a step along a motion leads, in two halves; None where it leads nowhere near."""
    model = rows.numbers.model
    for _ in range(2):
        found = rows.settled(model.integrate(q, 0.5 * step), rank)
        if found is None or float(np.max(np.abs(model.difference(q, found)))) < 0.25 * float(np.max(np.abs(step))):
            return None
        q = found
    return q


def direction(rng: np.random.Generator, N: Array) -> Array:
    """A random direction among some, the fastest joint at unit speed."""
    found = rng.normal(size=len(N)) @ N
    return np.asarray(found / np.max(np.abs(found)), dtype=np.float64)
