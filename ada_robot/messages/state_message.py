# SPDX-License-Identifier: Apache-2.0
"""Decoding of `~/state` messages of the dynamics node; no ROS.

`outgoing.StateMessages.state` encodes them: t, q, v and tau, with one dimension each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

LABELS = ("t", "q", "v", "tau")


class StateNumbers(NamedTuple):
    """State of a model."""

    t: float  # [s]; on the steady clock for devices
    q: Array
    v: Array
    tau: Array  # motor efforts


def read_state(labels: Sequence[str], sizes: Sequence[int], data: ArrayLike) -> StateNumbers:
    """Split the data of a message.

    Args:
        labels: labels of the dimensions.
        sizes: sizes of the dimensions.
        data: all values.

    Raises:
        InputError: if the dimensions are wrong, or a value is not finite.
    """
    if tuple(labels) != LABELS or sizes[0] != 1 or min(sizes) < 0:
        shown = ", ".join(f"{label}: {size}" for label, size in zip(labels, sizes, strict=False))
        raise InputError(f"its dimensions are ({shown}); they must be {', '.join(LABELS)}, with size 1 of t.")
    numbers = np.array(data, dtype=np.float64)
    if len(numbers) != sum(sizes):
        raise InputError(f"it has {len(numbers)} values, but its dimensions have {sum(sizes)}.")
    if not np.isfinite(numbers).all():
        raise InputError(f"{int(np.sum(~np.isfinite(numbers)))} of its {len(numbers)} values are not finite.")
    t, q, v, tau = np.split(numbers, np.cumsum(sizes)[:-1])
    return StateNumbers(float(t[0]), q, v, tau)
