# SPDX-License-Identifier: Apache-2.0
"""Damped linear least squares with bounds and priorities.

A level is the minimum of |A x - b|² + μ |x|² subject to lower ≤ C x ≤ upper. With L Lᵀ = AᵀA + μ 1 and y = Lᵀ x this is
the point of a polyhedron nearest to L⁻¹ Aᵀ b, computed by the dual active-set method (Goldfarb and Idnani 1983).

Batches iterate on the active sets of all problems together: the most violated bound is added, bounds with a wrong sign
of the multiplier are removed. The Karush-Kuhn-Tucker conditions identify the problems for which the method above is
needed.

Several levels are solved in the null space of the levels before, within the remaining bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

_TOLERANCE = 1e-12  # admissible violation of a bound
_PARALLEL = 1e-12  # squared sine below which a normal depends on the active ones
_RIDGE = 1e-15  # regularization relative to the largest diagonal entry, for dependent bounds
_RANK = 1e-6  # relative to the largest singular value: smaller ones belong to the null space


class LeastSquares(NamedTuple):
    """Least-squares problem |A x - b|² + damping |x|², or a batch of them along a first axis."""

    A: Array
    b: Array
    damping: float | Array


class LinearBounds(NamedTuple):
    """Bounds lower ≤ C x ≤ upper."""

    C: Array
    lower: Array
    upper: Array

    def within(self, x: Array, Z: Array) -> LinearBounds:
        """Bounds of w for x + Z w."""
        at = self.C @ x
        return LinearBounds(self.C @ Z, self.lower - at, self.upper - at)


def solve_levels(levels: Sequence[LeastSquares], limits: LinearBounds) -> Array | None:
    """Solve each level in the null space of the levels before; None if no x satisfies the bounds."""
    if len(levels) == 1:
        return solve_level(levels[0], limits)
    x, Z = np.zeros(limits.C.shape[1]), np.eye(limits.C.shape[1])
    for k, level in enumerate(levels):
        A = level.A @ Z
        step = solve_level(LeastSquares(A, level.b - level.A @ x, level.damping), limits.within(x, Z))
        if step is None:  # infeasible by rounding only after the first level
            return x if k else None
        x = x + Z @ step
        if k + 1 < len(levels):
            Z = Z @ _null_space(A)
            if not Z.shape[1]:
                break
    return x


def solve_level(level: LeastSquares, limits: LinearBounds) -> Array | None:
    """Solve one level within bounds; None if no x satisfies them."""
    A, b, damping = level
    H = A.T @ A
    H.flat[:: len(H) + 1] += damping
    x = np.linalg.solve(H, A.T @ b)
    at = limits.C @ x
    if (at >= limits.lower).all() and (at <= limits.upper).all():
        return np.asarray(x)
    L = np.linalg.cholesky(H)
    sides = np.concatenate([limits.C, -limits.C])
    offsets = np.concatenate([limits.lower, -limits.upper])
    bounded = np.isfinite(offsets)
    normals = np.linalg.solve(L, sides[bounded].T).T
    y = project_onto_polyhedron(np.linalg.solve(L, A.T @ b), normals, offsets[bounded])
    return None if y is None else np.asarray(np.linalg.solve(L.T, y))


def solve_level_batch(level: LeastSquares, limits: LinearBounds) -> tuple[Array, NDArray[np.bool_]]:
    """Solve a batch of levels within bounds.

    Args:
        level: A (N, m, n), b (N, m) and damping (N,).
        limits: C (N, k, n), lower and upper (N, k).

    Returns:
        Solutions (N, n), and True for each problem that was solved.
    """
    A, b, damping = level
    C, lower, upper = limits
    H = A.swapaxes(-1, -2) @ A + np.asarray(damping)[:, None, None] * np.eye(A.shape[-1])
    x = np.asarray(np.linalg.solve(H, A.swapaxes(-1, -2) @ b[..., None])[..., 0])
    free = (C @ x[..., None])[..., 0]
    found = np.asarray(((free >= lower - _TOLERANCE) & (free <= upper + _TOLERANCE)).all(axis=-1))
    rows = np.flatnonzero(~found)
    if len(rows):
        C, lower, upper, free = C[rows], lower[rows], upper[rows], free[rows]
        responses = np.linalg.solve(H[rows], C.swapaxes(-1, -2))  # changes of x per unit of each multiplier
        multipliers, found[rows] = _bound_multipliers(C @ responses, free, lower, upper)
        x[rows] += (responses @ multipliers[..., None])[..., 0]
    return x, found


def _bound_multipliers(S: Array, free: Array, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Multipliers λ for which free + S λ satisfies the bounds, and True for each problem that was solved."""
    count = free.shape[-1]
    active, at, multipliers = np.zeros(free.shape, dtype=np.intp), free, np.zeros_like(free)
    scale = np.einsum("...ii->...i", S).max(axis=-1, initial=0.0)
    ridge = (_RIDGE * scale + 1e-300)[:, None, None] * np.eye(count)
    for _ in range(2 * count + 2):
        released = active * multipliers > 0.0  # wrong sign: active is -1 at a lower bound, 1 at an upper bound
        beyond = np.maximum(lower - at, at - upper) * (active == 0)
        worst = (beyond > _TOLERANCE) & (beyond == beyond.max(axis=-1, keepdims=True))
        if not (released.any() or worst.any()):
            break
        active = np.where(released, 0, active + worst * np.where(at < lower, -1, 1))
        both = (active != 0)[..., :, None] & (active != 0)[..., None, :]
        wanted = np.where(active < 0, lower, np.where(active > 0, upper, free)) - free
        matrix = np.where(both, S + ridge, np.eye(count))
        multipliers = np.asarray(np.linalg.solve(matrix, wanted[..., None])[..., 0])
        at = free + (S @ multipliers[..., None])[..., 0]
    right = (active * multipliers <= 0.0) & (at >= lower - _TOLERANCE) & (at <= upper + _TOLERANCE)
    return multipliers, np.asarray(right.all(axis=-1))


def project_onto_polyhedron(y: Array, normals: Array, offsets: Array) -> Array | None:
    """Point nearest to y that satisfies normals · y ≥ offsets; None if infeasible."""
    sizes = np.linalg.norm(normals, axis=1)
    moving = sizes > 0.0
    if (offsets[~moving] > _TOLERANCE).any():
        return None
    sizes = sizes[moving]
    N, d = normals[moving] / sizes[:, None], offsets[moving] / sizes
    active: list[int] = []
    multipliers = np.zeros(0)
    for _ in range(10 * (len(d) + 1)):
        short = (d - N @ y) * sizes
        short[active] = 0.0
        if not np.max(short, initial=0.0) > _TOLERANCE:
            break
        p, own = int(np.argmax(short)), 0.0
        while p not in active:
            shares = np.linalg.lstsq(N[active].T, N[p], rcond=None)[0] if active else np.zeros(0)
            direction = N[p] - shares @ N[active]
            square = float(direction @ direction)
            falling = np.flatnonzero(shares > _PARALLEL)
            ends = multipliers[falling] / shares[falling]
            to_side = (d[p] - N[p] @ y) / square if square > _PARALLEL else np.inf
            t = min(to_side, float(np.min(ends, initial=np.inf)))
            if not np.isfinite(t):
                return None
            y = y + t * direction if square > _PARALLEL else y
            multipliers, own = multipliers - t * shares, own + t
            if t == to_side:
                active.append(p)
                multipliers = np.append(multipliers, own)
            else:
                k = int(falling[np.argmin(ends)])
                del active[k]
                multipliers = np.delete(multipliers, k)
    # Remove the rounding errors of the steps, so that active bounds hold exactly.
    return y + np.linalg.lstsq(N[active], d[active] - N[active] @ y, rcond=None)[0] if active else y


def _null_space(A: Array) -> Array:
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int(np.sum(s > _RANK * max(float(s[0]), _RANK))) :].T) if s.size else np.eye(A.shape[1])
