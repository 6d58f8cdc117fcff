# SPDX-License-Identifier: Apache-2.0
"""Constrained accelerations and projections at and near singular configurations, by singular value decomposition.

If J is rank-deficient, a combination u of the constraints, uᵀ (J a + γ) = 0, does not depend on the acceleration. It is
replaced by the time derivative of the constraint, in which uᵀ J v̈ vanishes:

    uᵀ (J̇ + ∂γ/∂v) a = -uᵀ (∂γ/∂q) v.

Near such a configuration a state with the error e (rounding, or an open loop) is known across the branch to e / σ. If
the combination changes by g with motions of unit length, the constraint itself determines the acceleration of a moving
mechanism to e g² / σ³, at best to e / σ, and its derivative to σ / g: below σ = 1e-4 the more accurate one is taken. At
rest the constraint determines the acceleration to e g / σ². With g < σ the constraints nearly depend on each other in
all configurations around: the mechanism is ill-conditioned, but in no singular configuration.

The null space of J is then larger than the tangent space of the motion: a velocity belongs to a branch only if
uᵀ γ(v) = 0. The tangent space of the branch on which the mechanism moves with v is

    { w : J w = 0, uᵀ (J̇ + ∂γ/∂v) w = 0 }.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

SINGULAR = 1e-4  # ratio of singular values of W = L⁻¹ Jᵀ below which a configuration counts as singular
_DEPENDENT = 1e-6  # of the differentiated constraints
AT_REST = 1e-9  # largest velocity
# Largest relative error of the accelerations at rest with which a nearly vanishing constraint holds.
STILL_ERROR = 1e-4
_ROUNDING = 1e-12
_TINY = 1e-90  # in place of σ = 0


class LoopSystem(NamedTuple):
    """M a + Jᵀ x = r, J a = -γ, with weighted constraints; a leading axis is a batch of states."""

    M: Array
    r: Array
    J: Array
    rate: Array  # γ


class Rates(NamedTuple):
    """Derivatives of J and γ along the motion."""

    J: Array  # J̇
    rate_by_q: Array  # (∂γ/∂q) v
    rate_by_v: Array  # ∂γ/∂v, one column per velocity


@dataclass(frozen=True)
class SvdSolution:
    """Constrained accelerations in one state.

    Attributes:
        accelerations: a.
        multipliers: -x of least norm.
        sigma: ratio of the singular value number `rank` to the largest one: 0 in a singular configuration.
        is_singular: whether the configuration counts as singular; not if σ is as small, above CUT, wherever it moves.
        is_at_rest: whether a mechanism that lost constraints is at rest: then several motions can begin, and the
            accelerations are those of least constraint.
        lost: combinations of the constraints that vanish or nearly vanish, one row each.
        lost_rank: number of independent combinations among them that do not hold the accelerations.
        error: largest relative error of the accelerations, estimated in singular configurations.
    """

    accelerations: Array
    multipliers: Array
    sigma: float
    is_singular: bool
    is_at_rest: bool
    lost: Array
    lost_rank: int = 0
    error: float = 0.0


def solve(
    system: LoopSystem, rank: int, v: Array, rates: Callable[[Array], Rates], violation: float = np.inf
) -> SvdSolution:
    """Accelerations and multipliers of one state, for the rank of J in general configurations.

    `rates` computes the derivatives of J and γ along a velocity, if combinations of the constraints are lost.
    `violation` is the closure error of the configuration relative to the characteristic length, unknown by default.
    """
    none = SvdSolution(np.full(len(v), np.nan), np.full(len(system.J), np.nan), 0.0, False, False, system.J[:0])
    if not all(np.isfinite(part).all() for part in system):  # a diverged motion
        return none
    try:
        at = _checked_whitened(system)
    except np.linalg.LinAlgError:
        system = stiffened(system)
        try:
            at = _checked_whitened(system)
        except np.linalg.LinAlgError:  # no inertia resists an admissible motion
            s = np.linalg.svd(system.J, compute_uv=False)
            return replace(none, sigma=float(s[rank - 1] / s[0]) if rank else 1.0, is_singular=True)
    sigma = float(at.sigma(rank))
    if not sigma < SINGULAR:
        a, x = at.truncated_solution(system, rank)
        return SvdSolution(a, -x, sigma, False, False, np.zeros((0, len(system.J))))
    kept, speed = int(np.sum(at.s[:rank] > SINGULAR * at.s[0])), float(np.max(np.abs(v), initial=0.0))
    lost = np.linalg.svd(at.Vt[:kept], full_matrices=True)[2][kept:]  # redundant combinations, too
    motion = np.sum(directions(system.J, kept), axis=1)  # in all free directions; its change of the lost ones is g
    change = float(np.max(_rates_of_lost(at, rank, kept, lost, rates(motion / np.max(np.abs(motion))))[2]) / at.s[0])
    state_error, least = max(float(np.finfo(float).eps), violation), max(sigma, _TINY)
    if speed < AT_REST:
        error = state_error * min(max(change, least), 1.0) / least**2
        kept = max(kept, int(np.sum(at.s[:rank] > np.sqrt(error / STILL_ERROR) * least * at.s[0])))
        error, (a, x) = error if kept == rank else sigma, at.truncated_solution(system, kept)
    else:
        own = rates(v)
        of_lost = _rates_of_lost(at, rank, kept, lost, own)
        by_rates = least / float(np.clip(np.min(of_lost[2]) / (at.s[0] * speed), least, 1.0))
        error = state_error * max(change, least) ** 2 / least**3
        if error < by_rates:
            kept, (a, x) = rank, at.truncated_solution(system, rank)
        else:
            error, (a, x) = by_rates, _with_rates_of_lost(system, at, kept, -lost @ own.rate_by_q, of_lost)
    is_singular = kept < rank or change > sigma or sigma < CUT
    return SvdSolution(a, -x, sigma, is_singular, speed < AT_REST and kept < rank, lost, rank - kept, error)


def possibly_singular(systems: LoopSystem, rank: int) -> NDArray[np.intp]:
    """Indices of the states of a batch that may be singular and need `solve`."""
    try:
        sigma = _checked_whitened(systems).sigma(rank)
    except np.linalg.LinAlgError:
        return np.arange(len(systems.M))
    return np.flatnonzero(~(sigma >= SINGULAR))


class Whitened(NamedTuple):
    """M = L Lᵀ, y = L⁻¹ r, W = L⁻¹ Jᵀ = U S Vᵀ; a leading axis is a batch of states."""

    L: Array
    y: Array
    W: Array
    U: Array
    s: Array
    Vt: Array

    def sigma(self, rank: int) -> Array:
        """Ratio of the singular value number `rank` to the largest one."""
        return np.asarray(self.s[..., rank - 1] / self.s[..., 0] if rank else np.ones(self.s.shape[:-1]))

    def truncated_solution(self, system: LoopSystem, rank: int) -> tuple[Array, Array]:
        """Accelerations and least-norm multipliers x, truncated at `rank` singular values."""
        U, s, Vt = self.U[..., :rank], self.s[..., :rank], self.Vt[..., :rank, :]
        along = np.einsum("...nk,...n->...k", U, self.y) / s + np.einsum("...kc,...c->...k", Vt, system.rate) / s**2
        x = np.einsum("...kc,...k->...c", Vt, along)
        left = self.y - np.einsum("...nc,...c->...n", self.W, x)
        a = np.linalg.solve(self.L.swapaxes(-1, -2), left[..., None])[..., 0]
        return np.asarray(a, dtype=np.float64), x


def whitened(system: LoopSystem) -> Whitened:
    """Cholesky factor and singular values of one state or of a batch."""
    L: Array = np.asarray(np.linalg.cholesky(system.M), dtype=np.float64)
    W: Array = np.asarray(np.linalg.solve(L, system.J.swapaxes(-1, -2)), dtype=np.float64)
    y: Array = np.asarray(np.linalg.solve(L, system.r[..., None])[..., 0], dtype=np.float64)
    return Whitened(L, y, W, *np.linalg.svd(W, full_matrices=False))


def _rates_of_lost(at: Whitened, rank: int, kept: int, lost: Array, rates: Rates) -> tuple[Array, ...]:
    """V = L⁻¹ (rows)ᵀ of the derivatives of lost combinations, and U, s and Vᵀ of its part outside the other rows.

    There are `rank - kept` singular values; those of redundant constraints, which are rounding, are zero.
    """
    rows, U = np.linalg.solve(at.L, (rates.J + rates.rate_by_v).T), at.U[:, :kept]
    V = rows @ lost.T
    across, sizes, turn = np.linalg.svd(V - U @ (U.T @ V), full_matrices=False)
    sizes = sizes[: rank - kept]
    return V, across, np.where(sizes > _DEPENDENT * np.linalg.norm(rows), sizes, 0.0), turn


def _with_rates_of_lost(
    system: LoopSystem, at: Whitened, kept: int, right: Array, of_lost: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Accelerations and multipliers, with derivatives of lost constraints as more equations, and their right side."""
    U, s, Vt = at.U[:, :kept], at.s[:kept], at.Vt[:kept]
    held = U @ (-(Vt @ system.rate) / s)
    V, across, sizes, turn = of_lost
    count = np.count_nonzero(sizes)
    across, right = across[:, :count], right - V.T @ held
    moved = held + across @ ((turn[:count] @ right) / sizes[:count])
    z = moved + at.y - U @ (U.T @ at.y) - across @ (across.T @ at.y)
    a = np.asarray(np.linalg.solve(at.L.T, z), dtype=np.float64)
    x = np.linalg.lstsq(system.J.T, system.r - system.M @ a, rcond=SINGULAR)[0]
    return a, np.asarray(x, dtype=np.float64)


def stiffened(system: LoopSystem) -> LoopSystem:
    """System with the same solution and M + w JᵀJ in place of M, which is regular if the loops support massless links.

    With J a = -γ, w JᵀJ a = -w Jᵀγ is added on the right. The weight w gives violating velocities the mean inertia of
    the mechanism, or 1 if it is zero.
    """
    J, inertia = system.J, np.trace(system.M, axis1=-2, axis2=-1)
    squares = np.maximum(np.sum(J * J, axis=(-2, -1)), np.finfo(float).tiny)
    weighted = J.swapaxes(-1, -2) * (np.where(inertia == 0.0, 1.0, inertia) / squares)[..., None, None]
    return system._replace(M=system.M + weighted @ J, r=system.r - _times(weighted, system.rate))


def _checked_whitened(system: LoopSystem) -> Whitened:
    """`whitened`; a LinAlgError if a pivot of M = L Lᵀ is rounding, so that no inertia resists some motion."""
    at = whitened(system)
    pivots, inertias = (np.diagonal(matrix, axis1=-2, axis2=-1) for matrix in (at.L, system.M))
    if not (pivots**2 > _ROUNDING * inertias).all():
        raise np.linalg.LinAlgError("a pivot of the mass matrix is rounding")
    return at


def branch_directions(system: LoopSystem, lost: Array, rate: Callable[[Array], Array]) -> list[Array]:
    """Tangents of the branches that cross in a singular configuration.

    Admissible velocities satisfy uᵀ γ(v) = 0 for the vanishing combinations u, a quadratic equation in the null space
    of J. It is solved for null spaces of dimension two and one equation, where two branches cross. `rate` computes γ.
    """
    _, s, Vt = np.linalg.svd(system.J)
    N = Vt[int(np.sum(s > SINGULAR * s[0])) :]
    if len(N) != 2:
        return []
    forms = []
    for u in lost:
        aa, bb, both = (float(u @ rate(w)) for w in (N[0], N[1], N[0] + N[1]))
        forms.append((aa, both - aa - bb, bb))
    forms = [f for f in forms if max(map(abs, f)) > _ROUNDING]
    if not forms:
        return []
    a, b, c = max(forms, key=lambda f: max(map(abs, f)))
    return [w / np.linalg.norm(w) for w in (x * N[0] + z * N[1] for x, z in _directions(a, b, c))]


def _directions(a: float, b: float, c: float) -> list[tuple[float, float]]:
    """Solutions (x, z), up to scale, of a x² + b x z + c z² = 0."""
    inside = b * b - 4.0 * a * c
    if inside < 0.0:
        return []
    root = float(-0.5 * (b + np.copysign(np.sqrt(inside), b)))
    if root == 0.0:
        return [(0.0, 1.0) if a else (1.0, 0.0)]
    return [(root, a), (c, root)]


# --- admissible directions --------------------------------------------------------------------------------------------
_ACTS = 1e-6  # of the largest entry of the rates: less is rounding


def directions(J: Array, rank: int) -> Array:
    """Orthonormal basis of the null space of J at this rank."""
    return np.asarray(np.linalg.svd(J)[2][rank:].T, dtype=np.float64)


def along_branch(J: Array, rank: int, solution: SvdSolution, v: Array, rates: Callable[[Array], Rates]) -> Array | None:
    """Orthonormal basis of the tangent space of the branch on which the mechanism moves with v, at rest with v̇.

    None without a velocity, or if v is not along a branch. The rank is that of J in general configurations; `rates`
    computes the derivatives of J and γ along a velocity.
    """
    if not np.max(np.abs(v), initial=0.0) > AT_REST:
        return None
    N = directions(J, rank - solution.lost_rank)
    own = N.T @ v
    given = rates(v)
    whole = given.J + given.rate_by_v
    scale = _ACTS * float(np.max(np.abs(whole), initial=0.0))
    lost = solution.lost @ whole @ N
    _, s, Vt = np.linalg.svd(lost)
    count = int(np.sum(s > scale))
    leaves = Vt[count:].T
    outside = float(np.linalg.norm(own - leaves @ (leaves.T @ own)))
    return N @ leaves if outside <= 1e-4 * float(np.linalg.norm(v)) else None


# --- projection onto the constraint manifold --------------------------------------------------------------------------
# The velocity that is removed is orthogonal, in kinetic energy, to all admissible velocities; errors of the
# acceleration across the constraints change the energy in second order only. Simulations therefore pass singular
# configurations without an energy error.
CLOSED = 1e-15  # closure error, in characteristic lengths, that is not corrected
CUT = 1e-5  # share of the largest singular value of W below which singular values are truncated


def metric(M: Array, J: Array, rank: int) -> Whitened:
    """Factorise M + w JᵀJ in a configuration, truncated at singular values of the `rank` of J in general.

    Truncated singular values are infinite, and their columns of U zero. The inertia of violating velocities is
    arbitrary, as it does not change the nearest state; with w massless links supported by the loops are possible.

    Raises:
        LinAlgError: no inertia resists an admissible motion.
    """
    at = _checked_whitened(stiffened(LoopSystem(M, np.zeros(M.shape[:-1]), J, np.zeros(J.shape[:-1]))))
    # if the constraints are violated, dependent ones have small singular values
    kept = (at.s > CUT * np.max(at.s, axis=-1, initial=0.0, keepdims=True)) & (np.arange(at.s.shape[-1]) < rank)
    return at._replace(U=at.U * kept[..., None, :], s=np.where(kept, at.s, np.inf))


def admissible_velocity(at: Whitened, v: Array) -> Array:
    """Admissible part of a velocity: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v."""
    L_turned = at.L.swapaxes(-1, -2)
    y = _times(L_turned, v)
    return _solved(L_turned, y - _times(at.U, _times(at.U.swapaxes(-1, -2), y)))


def correction(at: Whitened, violation: Array) -> Array:
    """Correction of a constraint violation g: -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ g."""
    return -_solved(at.L.swapaxes(-1, -2), _times(at.U, _times(at.Vt, violation) / at.s))


def _times(A: Array, x: Array) -> Array:
    """A x, of one state or of a batch."""
    return np.asarray((A @ x[..., None])[..., 0], dtype=np.float64)


def _solved(A: Array, b: Array) -> Array:
    """A⁻¹ b, of one state or of a batch."""
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0], dtype=np.float64)
