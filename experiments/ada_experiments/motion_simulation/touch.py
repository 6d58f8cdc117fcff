# SPDX-License-Identifier: Apache-2.0
"""Peak and duration of a contact, common to lock step, real-time programs and experiment S2."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array

SMOOTHED = 0.010  # [s]
JUMP = 0.020  # [s]; during shorter gaps the plate bounces in contact


def smoothed(push: Array, step: float, span: float = SMOOTHED) -> Array:
    """Moving average of the force, without the oscillation of the plate on the probe [N].

    Args:
        push: force at each step [N].
        step: time step [s].
        span: averaging window [s].
    """
    count = max(1, 2 * round(0.5 * span / step) + 1)
    return np.convolve(push, np.full(count, 1.0 / count))[count // 2 : count // 2 + len(push)]


def touches(push: Array, step: float) -> list[tuple[int, int]]:
    """First and last row of each contact; gaps below 20 ms, in which the plate bounces, are included.

    Args:
        push: force at each step [N].
        step: time step [s].
    """
    touching = np.flatnonzero(push > 0.0)
    if not len(touching):
        return []
    parted = np.flatnonzero(np.diff(touching) > JUMP / step)
    firsts, lasts = touching[np.r_[0, parted + 1]], touching[np.r_[parted, len(touching) - 1]]
    return [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]


def first_touch(t: Array, push: Array, step: float) -> tuple[float, float] | None:
    """Start and end of the first contact [s].

    Args:
        t: times [s].
        push: force [N].
        step: time step [s].

    Returns:
        None without a contact.
    """
    for first, last in touches(push, step)[:1]:
        return float(t[first]), float(t[last] + step)
    return None
