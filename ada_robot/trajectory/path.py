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
HALVINGS = 28  # bisection steps: an error of 4e-9 in the location leaves a rounding error in the extremum


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
        values = _values_where_extreme(self.coefficients[segments, :, joints].T)
        return values.min(axis=0), values.max(axis=0)

    def top_speed(self, segments: NDArray[np.intp], joints: NDArray[np.intp]) -> Array:
        """Return the maximum speed of segments, exact to rounding; see `reach`."""
        rates = _values_where_extreme(_derivative(self.coefficients[segments, :, joints].T))
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


def _values_where_extreme(c: Array) -> Array:
    """Return values of polynomials at candidate points in [0, 1], which include the minimum and the maximum.

    Extrema are at the ends or at roots of the derivative. Between two roots of its own derivative a polynomial is
    monotone, so that bisection finds its single root; without a root it converges to an end of the interval.

    Args:
        c: coefficients by power, (powers, polynomials).
    """
    derivatives = [c]
    while len(derivatives[-1]) > 2:
        derivatives.append(_derivative(derivatives[-1]))
    zero, one = np.zeros((1, c.shape[1])), np.ones((1, c.shape[1]))
    zeros = zero[:0]  # roots of the highest derivative, which is constant: none
    for d in reversed(derivatives[1:]):
        edges = np.concatenate([zero, zeros, one])
        low, high = edges[:-1], edges[1:]
        is_below = _value(d, low) <= 0.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            is_before = (_value(d, middle) <= 0.0) == is_below
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        zeros = high
    return _value(c, np.concatenate([zero, zeros, one]))


def _derivative(c: Array) -> Array:
    return np.asarray(c[1:] * np.arange(1.0, len(c))[:, None])


def _value(c: Array, s: Array) -> Array:
    """Evaluate polynomials, each at its points, (points, polynomials)."""
    value = np.zeros_like(s)
    for row in c[::-1]:  # Horner's rule
        value = value * s + row
    return value
