# SPDX-License-Identifier: Apache-2.0
"""Poses that close the loops, and motions that the loops allow there, also where branches of motion cross.

In such a pose the loops lose rank and more motions are allowed than elsewhere. Which of them is the way on cannot be
seen there: it is the one that goes on from where the mechanism came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import closed
from ada_dynamics.jit.compiled import Vector, compiled

ZONE = 1e-2  # relative singular value below which a branch goes on instead of being found anew
DAMPED = 1e-3  # relative singular value below which a gap closes no further
LOST = 1e-4  # relative singular value below which a pose is singular
_CLOSED = 1e-13  # gap, in lengths, at which there is nothing left to close
_ROUNDING = 1e-12  # of the largest singular value
_TINY = 1e-300


class Motions(NamedTuple):
    """Motions that the loops allow in a pose.

    Attributes:
        M: mass matrix.
        columns: motions along the branch, orthonormal by kinetic energy.
        sigma: smallest singular value of the conditions by the largest; 0 in a singular pose.
        forbidden: what the conditions forbid, as columns of M-orthonormal velocities, the clearest first.
        sizes: singular values that belong to these, of W = L⁻¹ Jᵀ = U S Vᵀ.
        rows: V, as rows of combinations of the conditions.
    """

    M: Array
    columns: Array
    sigma: float
    forbidden: Array
    sizes: Array
    rows: Array

    def part_of(self, v: Array) -> Array:
        """The part of a velocity, or of a small step, that goes along the branch."""
        return np.asarray(self.columns @ (self.columns.T @ (self.M @ v)), dtype=np.float64)


class Loops(NamedTuple):
    """A state of a mechanism: M a + Jᵀ x = r, J a = -γ; conditions in lengths."""

    M: Array
    r: Array  # τ - h
    J: Array
    rate: Array  # γ
    gap: Array


class Manifold:
    """The poses of a mechanism that close its loops."""

    def __init__(self, mechanism: VirtualMechanism) -> None:
        """Args: the mechanism."""
        self.mechanism = mechanism
        self._rest = np.zeros(mechanism.robot.nv)
        self._loops = self._compiled()

    def _compiled(self) -> Callable[..., Any]:
        tree, plans = self.mechanism.tree, self.mechanism.plans
        constraints = self.mechanism.analysis.constraints
        system = closed.system(constraints, plans).body
        assert system is not None
        no_wrenches = (0.0,) * (6 * len(tree.bodies))
        scales = [1.0 / w for w in self.mechanism.weights.tolist()]

        def body(q: Vector, v: Vector, effort: Vector) -> dict[str, Any]:
            found = system(q=q, v=v, tau=effort, wrenches=no_wrenches).outputs
            gap = constraints.violation(q)
            return {
                "M": found["M"],
                "r": found["r"],
                "J": [[k * x for x in row] for k, row in zip(scales, found["J"], strict=True)],
                "rate": [k * x for k, x in zip(scales, found["rate"], strict=True)],
                "gap": [k * gap[c] for k, c in zip(scales, plans.nontrivial, strict=True)],
            }

        sizes = {"q": tree.nq, "v": tree.nv, "effort": tree.nv}
        return compiled("virtual_loops", sizes, body)

    def at(self, q: Array, v: Array | None = None, effort: Array | None = None) -> Loops:
        """A state; at rest, and without efforts, where none are given."""
        rest = self._rest
        return Loops(*self._loops(q, rest if v is None else v, rest if effort is None else effort))

    def closed(self, q: Array, steps: int = 4) -> Array:
        """A pose near q that closes the loops, by the smallest steps by kinetic energy."""
        for _ in range(steps):
            here = self.at(q)
            if float(np.abs(here.gap).max()) < _CLOSED:
                break
            L = np.linalg.cholesky(here.M)
            U, s, Vt = np.linalg.svd(np.linalg.solve(L, here.J.T), full_matrices=False)
            # damped near singular poses only: elsewhere a step is to be a whole one
            damping = (DAMPED * s[0]) ** 2 if s[self._last(s)] < ZONE * s[0] else 0.0
            factors = np.where(s > _ROUNDING * s[0], s / (s * s + damping + _TINY), 0.0)
            q = self.mechanism.virtual.integrate(q, -np.linalg.solve(L.T, U @ (factors * (Vt @ here.gap))))
        return q

    def _last(self, s: Array) -> int:
        return max(min(self.mechanism.analysis.rank, len(s)) - 1, 0)

    def motions(self, q: Array, before: Array | None = None) -> Motions:
        """Motions that the loops allow in a pose.

        Args:
            q: that closes the loops.
            before: motions, as columns, of a pose nearby, whose branch goes on here.
        """
        here = self.at(q)
        L = np.linalg.cholesky(here.M)
        U, s, Vt = np.linalg.svd(np.linalg.solve(L, here.J.T), full_matrices=True)
        rank = self.mechanism.analysis.rank
        shares = np.zeros(U.shape[1])
        shares[: len(s)] = s / max(float(np.max(s, initial=0.0)), 1e-300)
        sigma = float(shares[rank - 1]) if rank else 1.0
        free = U[:, rank:]
        if sigma < ZONE and before is not None:
            open_ones = U[:, shares < ZONE]
            P, _, Qt = np.linalg.svd(open_ones @ (open_ones.T @ (L.T @ before)), full_matrices=False)
            free = P @ Qt
        whole = np.asarray(np.linalg.solve(L.T, np.hstack([free, U[:, :rank]])), dtype=np.float64)
        count = free.shape[1]
        return Motions(here.M, whole[:, :count], sigma, whole[:, count:], s[:rank], Vt[:rank])

    def crossing(self, q: Array, wish: Array) -> Array | None:
        """Of the branches that cross in a singular pose, the motion along the one that a wish, as a force, is most for.

        None where it is for none of them, or there are others than two that cross.
        """
        ways = self.mechanism.virtual_dynamics.constraints.branch_directions(q)
        M = self.at(q).M
        units = [w / np.sqrt(w @ M @ w) for w in ways]
        powers = [abs(float(w @ wish)) for w in units]
        if not powers or max(powers) < 1e-12:
            return None
        return np.asarray(units[int(np.argmax(powers))][:, None], dtype=np.float64)
