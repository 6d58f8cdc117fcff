# SPDX-License-Identifier: Apache-2.0
"""Rank of the constraint Jacobian in spite of rounding errors of the arithmetic and of the model file.

Lengths and axes of an overconstrained mechanism are rounded in its file. Dependent constraints then become independent:
J has small singular values, and the loops cannot be closed exactly. A mechanism near a singular configuration has small
singular values, too. Finite motions distinguish the two cases: along a motion of the exact mechanism, a finite step
violates the constraints no more than the singular value explains; near a singular configuration the violation grows
with the square of the step. A description with all digits is exact as long as its loops close, unless they close in
the zero configuration: readers of MJCF and SDFormat compute the ends of such loops from poses that may be rounded.

All values are for J in units of the characteristic length: a joint at a lever of one length has 1 per rad.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet

# Share of the largest singular value that is rounding; loops are closed to 1e-11.
ARITHMETIC = 1e-10
# Larger singular values count without a test by motions. A file with four decimals [m, rad] has errors of 5e-5 per
# number, some 1e-3 for a loop of links of 0.1 m; the mechanisms of the catalogue have 0.2 and more, long ladders 0.8.
CERTAIN = 5e-3
ROUNDED_GAP = 1e-3  # closure error in lengths of such a file
STEP = 0.2  # [rad, lengths] of test motions; its square is far above the rounding errors
FEWEST_DECIMALS, MOST_DECIMALS = 4, 12  # of a rounded file
_BY_ROUNDING = 10.0  # times the last decimal by the length: largest singular value due to rounding
_BY_GAP = 30.0  # times the closure error: largest singular value due to rounding
_EXPLAINED = 4.0  # times σ h and the violation before the step: violation due to rounding
_ABRUPT = 5.0  # smallest ratio of neighbouring singular values between which the rank may be
_TRIES = 3  # motions per candidate rank
_CORRECTIONS = 12  # of a closure error
_SLACK = 1e-12  # violation due to the arithmetic


class Spectrum(NamedTuple):
    """Singular value decomposition of J."""

    U: Array
    s: Array  # nv values, padded with zeros
    Vt: Array


class ConstraintSubset:
    """Some constraints, in units of the characteristic length."""

    def __init__(self, constraints: ConstraintSet, chosen: NDArray[np.intp] | None = None) -> None:
        """Select constraints by their indices, all by default."""
        self.constraints = constraints
        self.chosen = np.arange(len(constraints.rows)) if chosen is None else chosen
        self._weights = 1.0 / (constraints.weights[self.chosen] * constraints.length)

    @cached_property
    def rounding(self) -> float:
        """Last decimal of the model file, in characteristic lengths; 0 for unrounded values."""
        model = self.constraints.model
        positions = [joint.xyz for joint in model.joints.values()]
        positions += [xyz for loop in model.loops.values() for xyz in (loop.parent_xyz, loop.child_xyz)]
        values = np.concatenate([np.zeros(1), *positions])
        for decimals in range(FEWEST_DECIMALS, MOST_DECIMALS + 1):
            if np.allclose(np.round(values, decimals), values, rtol=1e-15, atol=0.0):
                return float(10.0**-decimals / self.constraints.length)
        return 0.0

    def violation(self, q: Array) -> Array:
        """Closure error of each constraint."""
        return np.asarray(self.constraints.violation(q)[self.chosen] * self._weights, dtype=np.float64)

    def spectrum(self, q: Array) -> Spectrum:
        """Singular value decomposition of J."""
        J = self.constraints.jacobian(q)[self.chosen] * self._weights[:, None]
        U, s, Vt = np.linalg.svd(J, full_matrices=True)
        return Spectrum(U, np.concatenate([s, np.zeros(len(Vt) - len(s))]), Vt)

    def settled(self, q: Array, rank: int) -> Array | None:
        """Limit of minimum-norm corrections from q, truncated at `rank` singular values; None if they diverge."""
        model = self.constraints.model
        last = np.inf
        for _ in range(_CORRECTIONS):
            at = self.spectrum(q)
            step = -at.Vt[:rank].T @ ((at.U[:, :rank].T @ self.violation(q)) / at.s[:rank])
            size = float(np.max(np.abs(step), initial=0.0))
            if not np.isfinite(size) or size > 2.0 * STEP:
                return None
            q = model.integrate(q, step)
            if size < 1e-15 or (size < 1e-9 and size >= 0.5 * last):
                return q
            last = size
        return None

    def size(self, q: Array) -> float:
        """Largest closure error."""
        return float(np.max(np.abs(self.violation(q)), initial=0.0))


# --- rank in one configuration ---------------------------------------------------------------------------------------
def rank_at(rows: ConstraintSubset, q: Array) -> int:
    """Rank in a configuration that closes the loops up to rounding."""
    s = rows.spectrum(q).s
    if not s.size or not s[0] > 0.0:
        return 0
    by_rounding = max(_BY_ROUNDING * rows.rounding, _BY_GAP * rows.size(q))
    if rows.rounding == 0.0 and rows.size(rows.constraints.model.neutral()) < _SLACK:
        by_rounding = CERTAIN  # the ends of the loops may have been computed from rounded poses in zero configuration
    least = int(np.sum(s > min(CERTAIN, max(by_rounding, ARITHMETIC * s[0]))))
    most = int(np.sum(s > ARITHMETIC * s[0]))
    for rank in range(least, most):
        if rank and s[rank - 1] < _ABRUPT * s[rank]:
            continue
        if is_mobile(rows, q, rank):
            return rank
    return most


def is_mobile(rows: ConstraintSubset, q: Array, rank: int) -> bool:
    """True if the mechanism has all finite motions that a Jacobian of this rank allows, up to rounding."""
    at = rows.spectrum(q)
    N = at.Vt[rank:]
    if not len(N):
        return True
    left = max(float(at.s[rank]), _BY_ROUNDING * rows.rounding)  # smaller than in neighbouring ones
    allowed = min(_EXPLAINED * (left * STEP + rows.size(q)) + _SLACK, ROUNDED_GAP)

    def is_feasible(step: Array) -> bool:
        moved = stepped(rows, q, rank, step)
        return moved is not None and rows.size(moved) <= allowed

    rng = np.random.default_rng(20120305)
    steps = [STEP * direction(rng, N) for _ in range(_TRIES)]
    # a motion may end at a dead point on one side; a locked mechanism moves to neither side
    return all(is_feasible(step) or is_feasible(-step) for step in steps)


def stepped(rows: ConstraintSubset, q: Array, rank: int, step: Array) -> Array | None:
    """Closed configuration after a step along a motion, in two halves; None if it is not near the predicted one."""
    model = rows.constraints.model
    for _ in range(2):
        found = rows.settled(model.integrate(q, 0.5 * step), rank)
        if found is None or float(np.max(np.abs(model.difference(q, found)))) < 0.25 * float(np.max(np.abs(step))):
            return None
        q = found
    return q


def direction(rng: np.random.Generator, N: Array) -> Array:
    """Random combination of the rows of N, the fastest joint at unit speed."""
    found = rng.normal(size=len(N)) @ N
    return np.asarray(found / np.max(np.abs(found)), dtype=np.float64)
