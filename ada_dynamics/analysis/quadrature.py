# SPDX-License-Identifier: Apache-2.0
"""Integrals over time of sampled quantities, and what is between samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


def cumulative(t: ArrayLike, y: ArrayLike) -> Array:
    """Integral from the first time to each: the trapezoidal rule with its Euler-Maclaurin end terms.

    Where y is smooth, the error is of fourth order in the step; a jump of y between two samples counts as half of it.

    Args:
        t: increasing times, (N,).
        y: values, (N,) or (N, n).
    """
    times, values = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if times.ndim != 1 or values.shape[:1] != times.shape:
        raise InputError(
            f"times have shape {times.shape} and values {values.shape}; they need one row per time.",
            field="times",
            value=times.shape,
            allowed=values.shape[:1],
        )
    result = np.zeros_like(values)
    if len(times) < 2:
        return result
    steps = np.diff(times)
    if not (steps > 0.0).all():
        row = int(np.flatnonzero(~(steps > 0.0))[0])
        raise InputError(
            f"times must increase; row {row + 1} is {times[row + 1]:g} s after {times[row]:g} s.",
            field="times",
            value=row + 1,
            allowed="rising times",
        )
    h = steps.reshape(-1, *(1,) * (values.ndim - 1))
    parts = 0.5 * h * (values[1:] + values[:-1])
    if len(times) > 2:
        slope = np.gradient(values, times, axis=0, edge_order=2)
        parts += h**2 / 12.0 * (slope[:-1] - slope[1:])
    result[1:] = np.cumsum(parts, axis=0)
    return result


def hermite(s: float, x0: Array, x1: Array, slope0: Array, slope1: Array) -> Array:
    """The cubic from x0 to x1 with these slopes at its ends, at s from 0 to 1.

    Args:
        s: share of the way.
        x0: where it begins.
        x1: where it ends.
        slope0: at the beginning, by s.
        slope1: at the end.
    """
    change = s * s * (3.0 - 2.0 * s)
    return x0 + change * (x1 - x0) + s * (1.0 - s) ** 2 * slope0 - s * s * (1.0 - s) * slope1
