# SPDX-License-Identifier: Apache-2.0
"""Rates of sampled data by differences (Awa 2009, eqs. 44 and 45), and by central ones, which are of second order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


class Rates(NamedTuple):
    """First and second derivative by time, of the samples' own shape."""

    first: Array
    second: Array


def forward_differences(samples: ArrayLike, step: float) -> Rates:
    """Differences with the next sample, as the paper has them: (θ(k+1) - θ(k))/dt, and the same of the result.

    Their error is of first order in the step. The last values, which have no next sample, repeat the ones before.

    Args:
        samples: (N,) or (N, n), at least 3 rows.
        step: time between two rows [s].
    """
    x = _checked(samples, step)
    first = np.diff(x, axis=0) / step  # eq. 44
    second = np.diff(first, axis=0) / step  # eq. 45
    return Rates(np.concatenate([first, first[-1:]]), np.concatenate([second, second[-1:], second[-1:]]))


def central_differences(samples: ArrayLike, step: float) -> Rates:
    """Differences between both neighbours: (x(k+1) - x(k-1))/2dt and (x(k+1) - 2x(k) + x(k-1))/dt².

    Their error is of second order in the step, at the ends too: there they are one-sided, over three samples for the
    first derivative and over four (three, where there are no more) for the second.

    Args:
        samples: (N,) or (N, n), at least 3 rows.
        step: time between two rows [s].
    """
    x = _checked(samples, step)
    first, second = np.empty_like(x), np.empty_like(x)
    first[1:-1] = (x[2:] - x[:-2]) / (2.0 * step)
    first[0] = (-3.0 * x[0] + 4.0 * x[1] - x[2]) / (2.0 * step)
    first[-1] = (3.0 * x[-1] - 4.0 * x[-2] + x[-3]) / (2.0 * step)
    second[1:-1] = (x[2:] - 2.0 * x[1:-1] + x[:-2]) / step**2
    if len(x) == 3:
        second[0] = second[-1] = second[1]
        return Rates(first, second)
    second[0] = (2.0 * x[0] - 5.0 * x[1] + 4.0 * x[2] - x[3]) / step**2
    second[-1] = (2.0 * x[-1] - 5.0 * x[-2] + 4.0 * x[-3] - x[-4]) / step**2
    return Rates(first, second)


def _checked(samples: ArrayLike, step: float) -> Array:
    if not 0.0 < step < np.inf:
        raise InputError(
            f"step is {step}; it must be a positive number of seconds.",
            field="step",
            value=step,
            allowed="a positive number",
        )
    x = np.array(samples, dtype=np.float64)
    if x.ndim not in (1, 2) or len(x) < 3:
        raise InputError(
            f"samples have shape {x.shape}; differences need (N,) or (N, n) with at least 3 rows.",
            field="samples",
            value=x.shape,
            allowed="(N,) or (N, n) with N of at least 3",
        )
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise InputError(
            f"samples are not finite from row {row} on; differences need finite numbers.",
            field="samples",
            value=row,
            allowed="finite numbers",
        )
    return x
