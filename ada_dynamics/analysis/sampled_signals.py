# SPDX-License-Identifier: Apache-2.0
"""Integration and interpolation of sampled signals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid


def cumulative_integral(t: ArrayLike, y: ArrayLike) -> Array:
    """Integral from the first time to each time: trapezoidal rule with Euler-Maclaurin end terms.

    The error is of fourth order in the step for smooth y.

    Args:
        t: increasing times, (N,).
        y: values, (N,) or (N, n).
    """
    times, values = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if times.ndim != 1 or values.shape[:1] != times.shape:
        raise invalid("times", times.shape, f"{values.shape[:1]}, one per value", "shape of ")
    result = np.zeros_like(values)
    if len(times) < 2:
        return result
    steps = np.diff(times)
    if not (steps > 0.0).all():
        row = int(np.flatnonzero(~(steps > 0.0))[0])
        text = f"times must increase; row {row + 1} is {times[row + 1]:g} s after {times[row]:g} s."
        raise InputError(text, field="times", value=row + 1, allowed="increasing times")
    h = steps.reshape(-1, *(1,) * (values.ndim - 1))
    parts = 0.5 * h * (values[1:] + values[:-1])
    if len(times) > 2:
        slope = np.gradient(values, times, axis=0, edge_order=2)
        parts += h**2 / 12.0 * (slope[:-1] - slope[1:])
    result[1:] = np.cumsum(parts, axis=0)
    return result


def hermite(s: float, x0: Array, x1: Array, slope0: Array, slope1: Array) -> Array:
    """Cubic Hermite interpolation at s from 0 to 1, for the values and the derivatives by s at both ends."""
    change = s * s * (3.0 - 2.0 * s)
    return x0 + change * (x1 - x0) + s * (1.0 - s) ** 2 * slope0 - s * s * (1.0 - s) * slope1
