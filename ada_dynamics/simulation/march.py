# SPDX-License-Identifier: Apache-2.0
"""The marches of `jit.march_text` in Python: where nothing is compiled, and for single steps that kernels leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit.march_adaptive import LARGEST_FACTOR, SAFETY, SMALLEST_FACTOR
from ada_dynamics.simulation.methods import Method

Rate = Callable[[Array, float], Array]  # ẋ of a state at a time


def explicit_step(method: Method, rate: Rate, x: Array, t: float, h: float) -> tuple[Array, Array]:
    """The state after a step, and the rates of all stages."""
    K = np.zeros((method.stages, len(x)))
    for s in range(method.stages):
        K[s] = rate(x + h * (method.A[s, :s] @ K[:s]), t + h * method.c[s])
    return x + h * (method.b @ K), K


def error_and_factor(
    method: Method, K: Array, end: Array, x: Array, new: Array, h: float, tolerance: float
) -> tuple[float, float]:
    """Error of a step as a share of what is allowed, and the factor to the next step's length (Hairer et al., II.5).

    Args:
        method: an adaptive one.
        K: rates of its stages.
        end: rate in the new state.
        x: state before the step.
        new: state after it.
        h: length of the step [s].
        tolerance: relative, and absolute for numbers below 1.
    """
    assert method.errors is not None
    allowed = tolerance * (1.0 + np.maximum(np.abs(x), np.abs(new)))
    e5, e3 = (float(np.sum((row @ np.vstack([K, end]) / allowed) ** 2)) for row in method.errors)
    if e5 == 0.0 and e3 == 0.0:
        return 0.0, LARGEST_FACTOR
    error = h * e5 / np.sqrt((e5 + 0.01 * e3) * len(x))
    if not np.isfinite(error):
        return np.inf, SMALLEST_FACTOR
    factor = SAFETY * error**-0.125 if error else LARGEST_FACTOR
    return float(error), float(np.clip(factor, SMALLEST_FACTOR, LARGEST_FACTOR))
