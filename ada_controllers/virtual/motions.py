# SPDX-License-Identifier: Apache-2.0
"""Configurations with closed loops, and motions allowed by the loops, also at crossings of motion branches.

In such a singular configuration the constraints lose rank and allow more motions than elsewhere. The branch to be
continued cannot be determined from this configuration: it is the continuation of the previous motion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.jit.compiled import Vector, compiled

ZONE = 1e-2  # relative singular value below which the previous branch is continued
DAMPED = 1e-3  # relative singular value below which steps of the loop closure are damped
LOST = 1e-4  # relative singular value below which a configuration is singular
_CLOSED = 1e-13  # closure error at which the loops count as closed, in lengths
_ROUNDING = 1e-12  # relative singular value of rounding errors
_TINY = 1e-300


class Motions(NamedTuple):
    """Motions allowed by the loops in a configuration.

    Attributes:
        M: mass matrix.
        columns: motions along the branch, orthonormal by kinetic energy.
        sigma: smallest relative singular value of the constraint Jacobian; 0 in a singular configuration.
        forbidden: motions violating the constraints, as M-orthonormal columns by decreasing singular value.
        sizes: their singular values, of W = L⁻¹ Jᵀ = U S Vᵀ.
        rows: V, combinations of the constraints.
    """

    M: Array
    columns: Array
    sigma: float
    forbidden: Array
    sizes: Array
    rows: Array

    def part_of(self, v: Array) -> Array:
        """Project a velocity, or a small displacement, onto the branch."""
        return np.asarray(self.columns @ (self.columns.T @ (self.M @ v)), dtype=np.float64)


class Loops(NamedTuple):
    """Equations of a mechanism in a state: M a + Jᵀ x = r, J a = -γ, with constraints scaled to lengths."""

    M: Array
    r: Array  # τ - h
    J: Array
    rate: Array  # γ
    gap: Array


class Manifold:
    """Constraint manifold of a mechanism."""

    def __init__(self, mechanism: VirtualMechanism) -> None:
        """Args: mechanism."""
        self.mechanism = mechanism
        self._rest = np.zeros(mechanism.robot.nv)
        self._loops = self._compiled()

    def _compiled(self) -> Callable[..., Any]:
        tree, plans = self.mechanism.tree, self.mechanism.plans
        constraints = self.mechanism.analysis.constraints
        system = closed_quantities.of_constraints("loop_system", constraints, plans).body
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
        """Evaluate the equations of a state; at rest and without efforts by default."""
        rest = self._rest
        return Loops(*self._loops(q, rest if v is None else v, rest if effort is None else effort))

    def closed(self, q: Array, steps: int = 4) -> Array:
        """Close the loops near q, by steps of least kinetic energy."""
        for _ in range(steps):
            here = self.at(q)
            if float(np.abs(here.gap).max()) < _CLOSED:
                break
            L = np.linalg.cholesky(here.M)
            U, s, Vt = np.linalg.svd(np.linalg.solve(L, here.J.T), full_matrices=False)
            # damped near singular configurations only
            damping = (DAMPED * s[0]) ** 2 if s[self._last(s)] < ZONE * s[0] else 0.0
            factors = np.where(s > _ROUNDING * s[0], s / (s * s + damping + _TINY), 0.0)
            q = self.mechanism.virtual.integrate(q, -np.linalg.solve(L.T, U @ (factors * (Vt @ here.gap))))
        return q

    def _last(self, s: Array) -> int:
        return max(min(self.mechanism.analysis.rank, len(s)) - 1, 0)

    def motions(self, q: Array, before: Array | None = None) -> Motions:
        """Return the motions allowed by the loops in a configuration.

        Args:
            q: configuration with closed loops.
            before: motions, as columns, of a nearby configuration on the branch to be continued.
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
        """Return the motion along the branch with the largest power of a force, among two that cross.

        None if the power is zero on both, or the number of crossing branches is not two.
        """
        ways = self.mechanism.virtual_dynamics.constraints.branch_directions(q)
        M = self.at(q).M
        units = [w / np.sqrt(w @ M @ w) for w in ways]
        powers = [abs(float(w @ wish)) for w in units]
        if not powers or max(powers) < 1e-12:
            return None
        return np.asarray(units[int(np.argmax(powers))][:, None], dtype=np.float64)
