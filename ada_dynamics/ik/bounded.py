# SPDX-License-Identifier: Apache-2.0
"""Damped least squares within limits, level by level.

One level: the x with the smallest |A x - b|² + μ |x|² for which lower ≤ C x ≤ upper. In y = Lᵀ x, with
L Lᵀ = AᵀA + μ 1, that is the point of a polyhedron nearest to L⁻¹ Aᵀ b, which the dual active-set method (Goldfarb and
Idnani 1983) finds: the most violated side is made to hold, sides whose multipliers would become negative are let go.

Many at once: sets of active sides are sought for all together, the side passed most enters, those that pull leave. The
conditions of Karush, Kuhn and Tucker tell where that did not come to the optimum: there the method above is needed.

Several levels: each is solved in the null space of the ones before, within the limits that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

_HELD = 1e-12  # by how much a limit may be missed
_ALONG = 1e-12  # squared share of a unit normal that is rounding
_RIDGE = 1e-15  # of the largest diagonal entry: keeps sides that depend on each other solvable; then they do not hold
_RANK = 1e-6  # of the largest singular value: motions under it are left to lower levels


class Level(NamedTuple):
    """|A x - b|² + damping |x|²; of many problems, each part along a first axis."""

    A: Array
    b: Array
    damping: float | Array


class Limits(NamedTuple):
    """lower ≤ C x ≤ upper."""

    C: Array
    lower: Array
    upper: Array

    def within(self, x: Array, Z: Array) -> Limits:
        """Limits of w in x + Z w."""
        at = self.C @ x
        return Limits(self.C @ Z, self.lower - at, self.upper - at)


def by_priority(levels: Sequence[Level], limits: Limits) -> Array | None:
    """The step that serves each level as well as those before it allow; None where no step keeps the limits."""
    if len(levels) == 1:
        return nearest(levels[0], limits)
    x, Z = np.zeros(limits.C.shape[1]), np.eye(limits.C.shape[1])
    for k, level in enumerate(levels):
        A = level.A @ Z
        step = nearest(Level(A, level.b - level.A @ x, level.damping), limits.within(x, Z))
        if step is None:  # after the first level only by rounding: there, no step at all keeps the limits
            return x if k else None
        x = x + Z @ step
        if k + 1 < len(levels):
            Z = Z @ _null_space(A)
            if not Z.shape[1]:
                break
    return x


def nearest(level: Level, limits: Limits) -> Array | None:
    """The best x of one level within limits; None where there is none."""
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
    y = nearest_point(np.linalg.solve(L, A.T @ b), normals, offsets[bounded])
    return None if y is None else np.asarray(np.linalg.solve(L.T, y))


def nearest_of_many(level: Level, limits: Limits) -> tuple[Array, NDArray[np.bool_]]:
    """The best x of each of many problems, and which of them have been found; `damping` has one number for each."""
    A, b, damping = level
    C, lower, upper = limits
    H = A.swapaxes(-1, -2) @ A + np.asarray(damping)[:, None, None] * np.eye(A.shape[-1])
    x = np.asarray(np.linalg.solve(H, A.swapaxes(-1, -2) @ b[..., None])[..., 0])
    free = (C @ x[..., None])[..., 0]
    found = np.asarray(((free >= lower - _HELD) & (free <= upper + _HELD)).all(axis=-1))
    rows = np.flatnonzero(~found)
    if len(rows):
        C, lower, upper, free = C[rows], lower[rows], upper[rows], free[rows]
        ways = np.linalg.solve(H[rows], C.swapaxes(-1, -2))  # of x, for a unit of each multiplier
        multipliers, found[rows] = _pushes(C @ ways, free, lower, upper)
        x[rows] += (ways @ multipliers[..., None])[..., 0]
    return x, found


def _pushes(S: Array, free: Array, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Multipliers with which free + S multipliers is within, and which of the problems they solve."""
    count = free.shape[-1]
    active, at, multipliers = np.zeros(free.shape, dtype=np.intp), free, np.zeros_like(free)
    scale = np.einsum("...ii->...i", S).max(axis=-1, initial=0.0)
    ridge = (_RIDGE * scale + 1e-300)[:, None, None] * np.eye(count)
    for _ in range(2 * count + 2):
        pulls = active * multipliers > 0.0  # a lower side, -1, pushes up, an upper one down
        beyond = np.maximum(lower - at, at - upper) * (active == 0)
        worst = (beyond > _HELD) & (beyond == beyond.max(axis=-1, keepdims=True))
        if not (pulls.any() or worst.any()):
            break
        active = np.where(pulls, 0, active + worst * np.where(at < lower, -1, 1))
        both = (active != 0)[..., :, None] & (active != 0)[..., None, :]
        wanted = np.where(active < 0, lower, np.where(active > 0, upper, free)) - free
        matrix = np.where(both, S + ridge, np.eye(count))
        multipliers = np.asarray(np.linalg.solve(matrix, wanted[..., None])[..., 0])
        at = free + (S @ multipliers[..., None])[..., 0]
    right = (active * multipliers <= 0.0) & (at >= lower - _HELD) & (at <= upper + _HELD)
    return multipliers, np.asarray(right.all(axis=-1))


def nearest_point(y: Array, normals: Array, offsets: Array) -> Array | None:
    """The point nearest to y with normals · y ≥ offsets; None where there is none."""
    sizes = np.linalg.norm(normals, axis=1)
    moving = sizes > 0.0
    if (offsets[~moving] > _HELD).any():
        return None
    sizes = sizes[moving]
    N, d = normals[moving] / sizes[:, None], offsets[moving] / sizes
    active: list[int] = []
    multipliers = np.zeros(0)
    for _ in range(10 * (len(d) + 1)):
        short = (d - N @ y) * sizes
        short[active] = 0.0
        if not np.max(short, initial=0.0) > _HELD:
            break
        p, own = int(np.argmax(short)), 0.0
        while p not in active:
            shares = np.linalg.lstsq(N[active].T, N[p], rcond=None)[0] if active else np.zeros(0)
            way = N[p] - shares @ N[active]
            square = float(way @ way)
            falling = np.flatnonzero(shares > _ALONG)
            ends = multipliers[falling] / shares[falling]
            to_side = (d[p] - N[p] @ y) / square if square > _ALONG else np.inf
            t = min(to_side, float(np.min(ends, initial=np.inf)))
            if not np.isfinite(t):
                return None
            y = y + t * way if square > _ALONG else y
            multipliers, own = multipliers - t * shares, own + t
            if t == to_side:
                active.append(p)
                multipliers = np.append(multipliers, own)
            else:
                k = int(falling[np.argmin(ends)])
                del active[k]
                multipliers = np.delete(multipliers, k)
    # Rounding of all the steps is taken off, so that limits that are met are met exactly.
    return y + np.linalg.lstsq(N[active], d[active] - N[active] @ y, rcond=None)[0] if active else y


def _null_space(A: Array) -> Array:
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int(np.sum(s > _RANK * max(float(s[0]), _RANK))) :].T) if s.size else np.eye(A.shape[1])
