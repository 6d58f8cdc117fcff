# SPDX-License-Identifier: Apache-2.0
"""Solvers of the equations of motion with constraints, and the order in which they are tried.

Elimination is compiled: the fast one follows the cheapest order, the robust one an order whose pivots vanish in
singular configurations only. The rank-revealing solver decomposes the constraint Jacobian by singular values in every
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.jit import Kernel

FAST, ROBUST, RANK_REVEALING = TIERS = "fast", "robust", "rank-revealing"


class Status(IntEnum):
    """Outcome of a solver in one state; after SMALL_PIVOT the next solver is tried."""

    OK = 0
    SMALL_PIVOT = 1
    SINGULAR = 2


@dataclass(frozen=True)
class ConstraintSolution:
    """Accelerations of one state or of a batch.

    Attributes:
        acceleration: (nv,) or (N, nv).
        multipliers: of the non-trivial constraints; empty for a batch.
        status: one per state of a batch.
        tier: of the solver.
        decomposition: of the rank-revealing solver, for one state.
    """

    acceleration: Array
    multipliers: Array
    status: Status | NDArray[np.intp]
    tier: str
    decomposition: singular.Solution | None = None


class ConstraintSolver(Protocol):
    """Accelerations and multipliers from a state, joint efforts and the wrenches on all bodies."""

    def solve(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> ConstraintSolution:
        """Solve one state or a batch of states."""


@dataclass(frozen=True)
class EliminationSolver:
    """Sparse elimination by compiled kernels.

    Attributes:
        tier: of its elimination order.
        single: kernel for one state with its multipliers, with external wrenches or without.
        batch: kernel for batches, with the margin of each state to the smallest pivot allowed.
        all_multipliers: multipliers of the non-trivial constraints from those in use.
    """

    tier: str
    single: Callable[[bool], Kernel]
    batch: Callable[[bool], Kernel]
    all_multipliers: Callable[[Array], Array]

    def solve(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> ConstraintSolution:
        """Solve one state or a batch of states."""
        given = _given(q, v, tau, wrenches)
        if q.ndim == 1:
            result, refused = self.single(wrenches is not None).single_status(*given)
            a, multipliers = result if isinstance(result, tuple) else (result, np.zeros(0))
            status = Status.SMALL_PIVOT if refused else Status.OK
            return ConstraintSolution(a, self.all_multipliers(multipliers), status, self.tier)
        (a, margin), _ = self.batch(wrenches is not None).batch_status(*given)
        is_solved = np.isfinite(a).all(axis=1) & (margin[:, 0] >= 0.0)
        return ConstraintSolution(a, np.zeros(0), np.where(is_solved, Status.OK, Status.SMALL_PIVOT), self.tier)


@dataclass(frozen=True)
class RankRevealingSolver:
    """Singular value decomposition of the constraint Jacobian, state by state.

    Attributes:
        system: computes the equations of motion with weighted constraints.
        rates: computes the derivatives of J and γ along v.
        rank: of J in general configurations.
        weights: of the constraints.
        tier: in regular configurations.
        warn: is called with the decomposition and q in singular configurations.
    """

    system: Callable[[Array, Array, Array, Array | None], singular.System]
    rates: Callable[[Array, Array], singular.Rates]
    rank: int
    weights: Array
    tier: str
    warn: Callable[[singular.Solution, Array], None]

    def solve(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> ConstraintSolution:
        """Solve one state or a batch of states."""
        if q.ndim == 2:
            found = [
                self.solve(*map(np.ascontiguousarray, row)) for row in zip(*_given(q, v, tau, wrenches), strict=True)
            ]
            status = np.array([one.status for one in found], dtype=np.intp)
            return ConstraintSolution(
                np.reshape([one.acceleration for one in found], v.shape), np.zeros(0), status, RANK_REVEALING
            )
        found_at = singular.solve(self.system(q, v, tau, wrenches), self.rank, v, lambda: self.rates(q, v))
        a, multipliers = found_at.accelerations, found_at.multipliers / self.weights
        if not found_at.is_singular:
            return ConstraintSolution(a, multipliers, Status.OK, self.tier, found_at)
        self.warn(found_at, q)
        return ConstraintSolution(a, multipliers, Status.SINGULAR, RANK_REVEALING, found_at)


def solve_with_fallback(
    solvers: Sequence[ConstraintSolver], q: Array, v: Array, tau: Array, wrenches: Array | None = None
) -> ConstraintSolution:
    """Return the solution of the first solver, for each state of a batch, that stops at no small pivot."""
    found = solvers[0].solve(q, v, tau, wrenches)
    a, status = np.array(found.acceleration), found.status
    for solver in solvers[1:]:
        if isinstance(status, Status):
            if status != Status.SMALL_PIVOT:
                return found
            found = solver.solve(q, v, tau, wrenches)
            status = found.status
            continue
        rows = np.flatnonzero(status == Status.SMALL_PIVOT)
        if not len(rows):
            break
        some = solver.solve(*(x[rows] for x in _given(q, v, tau, wrenches)))
        a[rows], status[rows] = some.acceleration, some.status
    return found if isinstance(status, Status) else ConstraintSolution(a, found.multipliers, status, found.tier)


def _given(q: Array, v: Array, tau: Array, wrenches: Array | None) -> tuple[Array, ...]:
    return (q, v, tau) if wrenches is None else (q, v, tau, wrenches)
