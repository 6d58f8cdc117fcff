# SPDX-License-Identifier: Apache-2.0
"""Convex hulls of points in a plane, and signed distances to them. A hull can be empty, a point or a line segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

_FLAT = 1e-12  # height of a corner relative to the size, below which it is ignored


def convex_hull(points: ArrayLike) -> Array:
    """Convex hull of points by Andrew's monotone chain, counter-clockwise.

    Args:
        points: (N, 2).

    Returns:
        (0, 2) without points, (1, 2) for coincident points, (2, 2) for collinear points, else (n, 2).
    """
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.size == 0:
        return np.zeros((0, 2))
    if cloud.ndim != 2 or cloud.shape[1] != 2 or not np.isfinite(cloud).all():
        text = f"points have shape {cloud.shape}; a hull needs (N, 2) finite numbers."
        raise InputError(text, field="points", value=cloud.shape, allowed="(N, 2)")
    size = float(np.max(np.ptp(cloud, axis=0)))
    if size <= _FLAT * float(np.max(np.abs(cloud))):
        return cloud[:1].copy()
    corners = [(float(x), float(y)) for x, y in np.unique(cloud, axis=0)]  # sorted by x, then by y
    smallest = _FLAT * size * size
    lower, upper = _chain(corners, smallest), _chain(corners[::-1], smallest)
    return np.array(lower[:-1] + upper[:-1])


def _chain(corners: list[tuple[float, float]], smallest: float) -> list[tuple[float, float]]:
    """One side of the hull; corners that turn right or are collinear are removed."""
    kept: list[tuple[float, float]] = []
    for p in corners:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= smallest:
            kept.pop()
        kept.append(p)
    return kept


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Twice the signed area of a triangle, positive for a left turn."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def area(hull: Array) -> float:
    """Area of a hull."""
    x, y = hull[:, 0], hull[:, 1]
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def margin(point: ArrayLike, hull: Array) -> float:
    """Signed distance of a point to the border of a hull: positive inside, negative outside, -inf for an empty hull.

    For a line segment or a point the result is at most zero.
    """
    p = np.asarray(point, dtype=np.float64)
    if not np.isfinite(p).all():
        return float("nan")
    if len(hull) == 0:
        return -float("inf")
    if len(hull) == 1:
        return -float(np.linalg.norm(p - hull[0]))
    starts, along = (hull, np.roll(hull, -1, axis=0) - hull) if len(hull) > 2 else (hull[:1], hull[1:] - hull[:1])
    to = p - starts
    share = np.clip(np.sum(to * along, axis=1) / np.sum(along * along, axis=1), 0.0, 1.0)
    distance = float(np.min(np.linalg.norm(to - share[:, None] * along, axis=1)))
    if len(hull) == 2:
        return -distance
    is_inside = bool((along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0] >= 0.0).all())
    return distance if is_inside else -distance
