# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomial paths of joints, with exact extrema; no ROS."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_robot.trajectory.splines import segment_coefficients

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
        if local >= self.knots[-1]:
            return self.at_rest(-1)
        i = max(bisect_right(self.knots, local) - 1, 0)
        h = self.knots[i + 1] - self.knots[i]
        s = max((local - self.knots[i]) / h, 0.0)
        position, velocity, acceleration = (_powers(s, h, len(self.coefficients[i])) @ self.coefficients[i]).tolist()
        effort = ((1.0 - s) * self.efforts[i] + s * self.efforts[i + 1]).tolist()
        return PathState(position, velocity, acceleration, effort)

    def at_rest(self, knot: int) -> PathState:
        """Return a knot, at rest."""
        rest = [0.0] * self.positions.shape[1]
        return PathState(self.positions[knot].tolist(), rest, rest, self.efforts[knot].tolist())

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
