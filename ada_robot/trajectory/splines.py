# SPDX-License-Identifier: Apache-2.0
"""Polynomials between points, and quintic splines (the simulator's `spline5`, Takahashi 2012, table 5.1, sec. 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array


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

    Its first four derivatives are continuous. The coefficients c3 and c4 are linear in the states at both ends of a
    segment; equal third and fourth derivatives at an inner point give 2 (n - 2) equations.

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
