# SPDX-License-Identifier: Apache-2.0
"""Differentiation of sampled signals (Awa 2009, eqs. 44 and 45), integration and interpolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid


class SampleDerivatives(NamedTuple):
    """First and second time derivatives, in the shape of the samples."""

    first: Array
    second: Array


def forward_differences(samples: ArrayLike, step: float) -> SampleDerivatives:
    """Forward differences (θ(k+1) - θ(k))/dt, applied twice for the second derivative (Awa 2009).

    The error is of first order in the step. The last values repeat the ones before.

    Args:
        samples: (N,) or (N, n), at least 3 rows.
        step: time between rows [s].
    """
    x = _checked(samples, step)
    first = np.diff(x, axis=0) / step  # eq. 44
    second = np.diff(first, axis=0) / step  # eq. 45
    return SampleDerivatives(np.concatenate([first, first[-1:]]), np.concatenate([second, second[-1:], second[-1:]]))


def _checked(samples: ArrayLike, step: float) -> Array:
    if not 0.0 < step < np.inf:
        raise invalid("step", step, "a positive number of seconds")
    x = np.array(samples, dtype=np.float64)
    if x.ndim not in (1, 2) or len(x) < 3:
        raise invalid("samples", x.shape, "(N,) or (N, n) with at least 3 rows", "shape of ")
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise InputError(f"samples are not finite in row {row}.", field="samples", value=row, allowed="finite numbers")
    return x


# --- integration and interpolation ---------------------------------------------------------------------------------
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
    """Cubic Hermite interpolation at s from 0 to 1.

    Args:
        s: interpolation parameter.
        x0: value at s = 0.
        x1: value at s = 1.
        slope0: derivative by s at s = 0.
        slope1: derivative by s at s = 1.
    """
    change = s * s * (3.0 - 2.0 * s)
    return x0 + change * (x1 - x0) + s * (1.0 - s) ** 2 * slope0 - s * s * (1.0 - s) * slope1
