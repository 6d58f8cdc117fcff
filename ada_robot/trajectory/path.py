# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomial paths of joints, with exact extrema, and quintic splines; no ROS."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

LARGEST = 1e200  # upper bound of values and derivatives, far from overflow
_HALVINGS, _NEWTON = 10, 3  # bisection and Newton steps for the roots of a derivative


class PathState(NamedTuple):
    """State of joints at a time: one value per joint in each list."""

    position: list[float]
    velocity: list[float]
    acceleration: list[float]
    effort: list[float]


@dataclass(frozen=True)
class Path:
    """Piecewise polynomials through points in time, at rest after the last one."""

    base: float  # reference time of the knots [s]; separate, so that clock values of 10⁹ s cost no precision
    knots: tuple[float, ...]  # increasing times since `base` [s]
    positions: Array  # positions at the knots, (knots, joints)
    efforts: Array  # efforts at the knots, interpolated linearly
    coefficients: Array  # by powers of the normalized time of each segment, (segments, powers, joints)

    @classmethod
    def through(
        cls,
        base: float,
        knots: Array,
        positions: Array,
        velocities: Array | None = None,
        accelerations: Array | None = None,
        efforts: Array | None = None,
    ) -> Path:
        """Interpolate positions by lines, with velocities by cubics, with accelerations by quintic polynomials.

        Args:
            base: reference time of the knots [s].
            knots: increasing times [s].
            positions: positions at the knots, (knots, joints).
            velocities: velocities at the knots, or None.
            accelerations: accelerations at the knots, only with velocities.
            efforts: efforts at the knots; zero by default.
        """
        h = np.diff(knots)[:, None]
        # normalized time keeps the coefficients well-scaled for short and long segments
        starts, ends = [positions[:-1]], [positions[1:]]
        with np.errstate(all="ignore"):  # overflow is detected by `is_finite`
            for derivatives, factor in ((velocities, h), (accelerations, h * h)):
                if derivatives is not None:
                    starts.append(derivatives[:-1] * factor)
                    ends.append(derivatives[1:] * factor)
            coefficients = np.stack(segment_coefficients(1.0, starts, ends), axis=1)
        return cls(
            base,
            tuple(knots.tolist()),
            positions,
            np.zeros_like(positions) if efforts is None else efforts,
            coefficients,
        )

    @property
    def end(self) -> float:
        """Time of the last knot [s]."""
        return self.base + self.knots[-1]

    def state(self, t: float) -> PathState:
        """Return the state at a time; at rest after the last knot, in the state of the first knot before it."""
        local = t - self.base
        if local >= self.knots[-1] or len(self.knots) == 1:
            rest = [0.0] * self.positions.shape[1]
            return PathState(self.positions[-1].tolist(), rest, rest, self.efforts[-1].tolist())
        i = max(bisect_right(self.knots, local) - 1, 0)
        h = self.knots[i + 1] - self.knots[i]
        s = max((local - self.knots[i]) / h, 0.0)
        position, velocity, acceleration = (_powers(s, h, len(self.coefficients[i])) @ self.coefficients[i]).tolist()
        effort = ((1.0 - s) * self.efforts[i] + s * self.efforts[i + 1]).tolist()
        return PathState(position, velocity, acceleration, effort)

    def is_finite(self) -> Array:
        """Return True where a segment and its two derivatives cannot overflow, (segments, joints)."""
        order = len(self.coefficients[0]) if len(self.coefficients) else 0
        sizes = np.abs(self.coefficients)
        h = np.diff(self.knots)[:, None]
        with np.errstate(all="ignore"):
            bound = sum(
                (sizes[:, k] * (1.0 + k / h + k * (k - 1) / h**2) for k in range(order)), np.zeros(sizes[:, 0].shape)
            )
        return np.asarray(bound < LARGEST)

    def bounds(self) -> tuple[Array, Array, Array]:
        """Return fast, conservative bounds of positions (minimum, maximum) and speeds, (segments, joints) each.

        A polynomial lies within its Bernstein control points, and its derivative within their differences.
        """
        degree = self.coefficients.shape[1] - 1
        weights = [[comb(i, k) / comb(degree, k) for k in range(degree + 1)] for i in range(degree + 1)]
        points = np.array(weights) @ self.coefficients
        with np.errstate(over="ignore"):  # infinity is a valid bound
            rates = degree * np.diff(points, axis=1) / np.diff(self.knots)[:, None, None]
        return points.min(axis=1), points.max(axis=1), np.abs(rates).max(axis=1)

    def reach(self, segments: NDArray[np.intp], joints: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return minimum and maximum position of segments of joints, by indices (n,), exact to rounding."""
        (values,) = extreme_values(self.coefficients[segments, :, joints].T)
        return values.min(axis=0), values.max(axis=0)

    def top_speed(self, segments: NDArray[np.intp], joints: NDArray[np.intp]) -> Array:
        """Return the maximum speed of segments, exact to rounding; see `reach`."""
        _, rates = extreme_values(self.coefficients[segments, :, joints].T, 2)
        return np.asarray(np.abs(rates).max(axis=0) / np.diff(self.knots)[segments])


def _powers(s: float, h: float, order: int) -> Array:
    """Return the factors of the coefficients for position, velocity and acceleration."""
    s2, s3 = s * s, s * s * s
    h2 = h * h
    rows = [
        [1.0, s, s2, s3, s2 * s2, s2 * s3],
        [0.0, 1.0 / h, 2.0 * s / h, 3.0 * s2 / h, 4.0 * s3 / h, 5.0 * s2 * s2 / h],
        [0.0, 0.0, 2.0 / h2, 6.0 * s / h2, 12.0 * s2 / h2, 20.0 * s3 / h2],
    ]
    return np.array([row[:order] for row in rows])


def extreme_values(c: Array, count: int = 1) -> list[Array]:
    """Return values of polynomials at candidate points in [0, 1], which include the minimum and the maximum.

    Extrema are at the ends or at roots of the derivative. Between two roots of its own derivative a polynomial is
    monotone, so that bisection and Newton's method find its single root; without a root they end at a limit.

    Args:
        c: coefficients by power, (powers, polynomials).
        count: number of results: for the polynomials, then for their first, second, ... derivatives.
    """
    derivatives = [np.concatenate([c, np.zeros((max(count + 3 - len(c), 0), c.shape[1]))])]
    while len(derivatives[-1]) > 3:
        derivatives.append(_derivative(derivatives[-1]))
    zero, one = np.zeros((1, c.shape[1])), np.ones((1, c.shape[1]))
    points = _quadratic_roots(derivatives[-1])
    found = []
    for k in range(len(derivatives) - 2, -1, -1):
        edges = np.concatenate([zero, points, one])
        if k < count:
            found.append(_value(derivatives[k], edges))
        points = _roots_between(derivatives[k], derivatives[k + 1], edges) if k else points
    return found[::-1]


def _quadratic_roots(c: Array) -> Array:
    """Return two sorted points in [0, 1] per polynomial, which include its roots there."""
    c0, c1, c2 = c
    root = np.sqrt(np.maximum(c1 * c1 - 4.0 * c2 * c0, 0.0))
    large = -0.5 * (c1 + np.where(c1 < 0.0, -root, root))
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.stack([large / c2, c0 / large])
    return np.sort(np.clip(np.nan_to_num(both, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0), axis=0)


def _roots_between(c: Array, slope: Array, edges: Array) -> Array:
    """Return a root of polynomials in each interval in which they are monotone, or a limit of the interval."""
    low, high = edges[:-1], edges[1:]
    at_low = _value(c, low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_before = _value(c, middle) * at_low > 0.0  # the root is in the right half
        low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
    root = 0.5 * (low + high)
    for _ in range(_NEWTON):
        steepness = _value(slope, root)
        step = np.divide(_value(c, root), steepness, out=np.zeros_like(root), where=steepness != 0.0)
        root = np.clip(root - step, low, high)
    return np.asarray(root)


def _derivative(c: Array) -> Array:
    return np.asarray(c[1:] * np.arange(1.0, len(c))[:, None])


def _value(c: Array, s: Array) -> Array:
    """Evaluate polynomials, each at its points, (points, polynomials)."""
    value = np.repeat(c[-1:], len(s), axis=0)
    for row in c[-2::-1]:  # Horner's rule
        value *= s
        value += row
    return value


# --- polynomials between points --------------------------------------------------------------------------------------
def segment_coefficients(h: float | Array, start: Sequence[Array], end: Sequence[Array]) -> list[Array]:
    """Return the coefficients of the polynomial of least order between two states, by powers of the local time.

    Args:
        h: duration of the segment, not zero.
        start: start position (line), position and velocity (cubic), or position, velocity and acceleration (quintic).
        end: the same quantities at the end.

    Returns:
        2, 4 or 6 coefficients.
    """
    if len(start) == 1:
        return [start[0], (end[0] - start[0]) / h]
    p0, v0, *more = start
    if not more:
        dp, dv = end[0] - p0 - h * v0, (end[1] - v0) * h
        return [p0, v0, (3.0 * dp - dv) / h**2, (dv - 2.0 * dp) / h**3]
    a0 = more[0]
    # differences to the motion with constant acceleration at the end of the segment
    dp = end[0] - p0 - h * v0 - 0.5 * h**2 * a0
    dv = (end[1] - v0 - h * a0) * h
    da = (end[2] - a0) * h**2
    c3 = (10.0 * dp - 4.0 * dv + 0.5 * da) / h**3
    c4 = (-15.0 * dp + 7.0 * dv - da) / h**4
    c5 = (6.0 * dp - 3.0 * dv + 0.5 * da) / h**5
    return [p0, v0, 0.5 * a0, c3, c4, c5]


def spline_derivatives(t: Array, p: Array, velocity: Array, acceleration: Array) -> tuple[Array, Array]:
    """Return velocities and accelerations of the quintic spline through points, at rest at the last one.

    It is `spline5` of the simulator (Takahashi 2012, table 5.1 and sec. 6.2). Its first four derivatives are
    continuous. The coefficients c3 and c4 are linear in the states at both ends of a segment; equal third and fourth
    derivatives at an inner point give 2 (n - 2) equations.

    Args:
        t: increasing times, (n,), n >= 2 [s].
        p: points, (n, d).
        velocity: at the first point, (d,).
        acceleration: at the first point, (d,).
    """
    n = len(p)
    v, a = np.zeros_like(p), np.zeros_like(p)
    v[0], a[0] = velocity, acceleration
    inner = n - 2
    if inner == 0:
        return v, a
    unit = float(np.mean(np.diff(t)))  # time scale, for a well-conditioned system
    h = np.diff(t) / unit
    system, right = np.zeros((2 * inner, 2 * n)), np.zeros((2 * inner, p.shape[1]))
    for i in range(1, n - 1):
        left, after = h[i - 1], h[i]
        d0, d1 = p[i] - p[i - 1], p[i + 1] - p[i]
        rows = slice(2 * (i - 1), 2 * i)
        # third and fourth derivative at the end of the previous segment minus those at the start of the next one, by
        # [v, a] of the points i - 1, i, i + 1
        system[rows, 2 * (i - 1) : 2 * (i + 2)] = [
            [-24 / left**2, -3 / left, 36 / after**2 - 36 / left**2, 9 / left + 9 / after, 24 / after**2, -3 / after],
            [
                -168 / left**3,
                -24 / left**2,
                -192 / left**3 - 192 / after**3,
                36 / left**2 - 36 / after**2,
                -168 / after**3,
                24 / after**2,
            ],
        ]
        right[rows] = [-60 * d0 / left**3 + 60 * d1 / after**3, -360 * d0 / left**4 - 360 * d1 / after**4]
    known = [0, 1, 2 * n - 2, 2 * n - 1]
    given = np.stack([v[0] * unit, a[0] * unit**2, v[-1] * unit, a[-1] * unit**2])
    unknown = np.arange(2, 2 * n - 2)
    found = np.linalg.solve(system[:, unknown], right - system[:, known] @ given).reshape(inner, 2, -1)
    v[1:-1], a[1:-1] = found[:, 0] / unit, found[:, 1] / unit**2
    return v, a
