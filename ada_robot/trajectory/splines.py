# SPDX-License-Identifier: Apache-2.0
"""Quintic splines through points (the simulator's `spline5`, Takahashi 2012, table 5.1 and sec. 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


class State(NamedTuple):
    """Position, velocity and acceleration."""

    position: Array
    velocity: Array
    acceleration: Array


class QuinticSpline:
    """Piecewise quintic polynomials with four continuous derivatives at the inner points.

    Example::

        spline = QuinticSpline([0.0, 1.0, 2.0], [0.0, 0.5, 0.2])     # at rest at both ends
        position, velocity, acceleration = spline(0.3)

    Before the first time and after the last one it is at rest at that point.
    """

    def __init__(
        self,
        times: ArrayLike,
        points: ArrayLike,
        *,
        velocities: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
        accelerations: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
    ) -> None:
        """Interpolate the points.

        Args:
            times: increasing, (n,), n >= 2 [s].
            points: one per time, (n,), or (n, d) for vectors.
            velocities: at the first and the last point.
            accelerations: at the first and the last point.

        Raises:
            InputError: if the times do not increase, or shapes or values are invalid.
        """
        t, p = _checked_points(times, points)
        ends_v = [_end(f"velocities[{i}]", value, p) for i, value in enumerate(velocities)]
        ends_a = [_end(f"accelerations[{i}]", value, p) for i, value in enumerate(accelerations)]
        v, a = _inner_states(t, p, ends_v, ends_a)
        self.times, self.points = t, p
        h = np.diff(t).reshape(-1, *(1,) * (p.ndim - 1))
        starts, ends = (p[:-1], v[:-1], a[:-1]), (p[1:], v[1:], a[1:])
        self._coefficients = np.array(segment_coefficients(h, starts, ends))

    def __call__(self, t: ArrayLike) -> State:
        """Position, velocity and acceleration at times; shape of t, followed by that of a point."""
        return State(self.position(t), self.velocity(t), self.acceleration(t))

    def position(self, t: ArrayLike) -> Array:
        """Position at times."""
        return self._derivative(t, 0)

    def velocity(self, t: ArrayLike) -> Array:
        """Velocity at times; zero outside the range."""
        return self._derivative(t, 1)

    def acceleration(self, t: ArrayLike) -> Array:
        """Acceleration at times; zero outside the range."""
        return self._derivative(t, 2)

    def _derivative(self, t: ArrayLike, order: int) -> Array:
        asked = np.asarray(t, dtype=np.float64)
        times = np.clip(asked, self.times[0], self.times[-1])
        i = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        x = np.reshape(times - self.times[i], (*times.shape, *(1,) * (self.points.ndim - 1)))
        c = self._coefficients[:, i]
        result = np.zeros(c.shape[1:])
        for k in range(5, order - 1, -1):  # Horner's rule
            factor = float(np.prod(np.arange(k - order + 1, k + 1)))
            result = result * x + factor * c[k]
        if order:
            result[(asked < self.times[0]) | (asked > self.times[-1])] = 0.0
        return result


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


def _inner_states(t: Array, p: Array, ends_v: list[Array], ends_a: list[Array]) -> tuple[Array, Array]:
    """Solve for the inner velocities and accelerations with continuous third and fourth derivatives.

    The coefficients c3 and c4 are linear in the states at both ends of a segment; equal third and fourth derivatives
    at an inner point give 2 (n - 2) equations.
    """
    n = len(p)
    v, a = np.zeros_like(p), np.zeros_like(p)
    v[0], v[-1] = ends_v
    a[0], a[-1] = ends_a
    inner = n - 2
    if inner == 0:
        return v, a
    unit = float(np.mean(np.diff(t)))  # time scale, for a well-conditioned system
    h = np.diff(t) / unit
    flat = p.reshape(n, -1)
    system, right = np.zeros((2 * inner, 2 * n)), np.zeros((2 * inner, flat.shape[1]))
    for i in range(1, n - 1):
        left, after = h[i - 1], h[i]
        d0, d1 = flat[i] - flat[i - 1], flat[i + 1] - flat[i]
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
    given = np.stack([v[0] * unit, a[0] * unit**2, v[-1] * unit, a[-1] * unit**2]).reshape(4, -1)
    unknown = np.arange(2, 2 * n - 2)
    found = np.linalg.solve(system[:, unknown], right - system[:, known] @ given).reshape(inner, 2, *p.shape[1:])
    v[1:-1], a[1:-1] = found[:, 0] / unit, found[:, 1] / unit**2
    return v, a


def _checked_points(times: ArrayLike, points: ArrayLike) -> tuple[Array, Array]:
    t, p = np.array(times, dtype=np.float64), np.array(points, dtype=np.float64)
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
        raise InputError(
            f"times have shape {t.shape}; a spline needs at least 2 finite times, (n,).", field="times", value=t.shape
        )
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        i = int(late[0])
        text = f"times[{i + 1}] is {t[i + 1]:g} s, not after times[{i}], {t[i]:g} s; times must increase."
        raise InputError(text, field="times", value=i + 1, allowed="rising times")
    if p.ndim not in (1, 2) or len(p) != len(t) or not np.isfinite(p).all():
        text = f"points have shape {p.shape}; {len(t)} times need ({len(t)},) or ({len(t)}, d) finite numbers."
        raise InputError(text, field="points", value=p.shape)
    return t, p


def _end(name: str, value: ArrayLike, p: Array) -> Array:
    x = np.asarray(value, dtype=np.float64)
    if x.ndim > p.ndim - 1 or (x.ndim == 1 and x.shape != p.shape[1:]) or not np.isfinite(x).all():
        text = f"{name} is {value!r}; it must be a finite number or have the shape {p.shape[1:]} of a point."
        raise InputError(text, field=name, value=value, allowed=p.shape[1:])
    return np.broadcast_to(x, p.shape[1:]).astype(np.float64)
