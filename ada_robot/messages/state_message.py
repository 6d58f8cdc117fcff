# SPDX-License-Identifier: Apache-2.0
"""The numbers of a `~/state` message of the dynamics node, checked; no ROS.

`outgoing.StateMessages.state` writes such messages: t, q, v and tau one after another, a dimension for each.
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
    """A state of a model."""

    t: float  # [s]; of a device, on the steady clock
    q: Array
    v: Array
    tau: Array  # efforts of the motors


def read_state(labels: Sequence[str], sizes: Sequence[int], data: ArrayLike) -> StateNumbers:
    """The parts of a message's data.

    Args:
        labels: of the dimensions.
        sizes: of the dimensions.
        data: all numbers.

    Raises:
        InputError: it is no such message, or a number is not finite.
    """
    if tuple(labels) != LABELS or sizes[0] != 1 or min(sizes) < 0:
        shown = ", ".join(f"{label}: {size}" for label, size in zip(labels, sizes, strict=False))
        raise InputError(f"its dimensions are ({shown}); they must be {', '.join(LABELS)}, with one number for t.")
    numbers = np.array(data, dtype=np.float64)
    if len(numbers) != sum(sizes):
        raise InputError(f"it has {len(numbers)} numbers, but its dimensions say {sum(sizes)}.")
    if not np.isfinite(numbers).all():
        raise InputError(f"{int(np.sum(~np.isfinite(numbers)))} of its {len(numbers)} numbers are not finite.")
    t, q, v, tau = np.split(numbers, np.cumsum(sizes)[:-1])
    return StateNumbers(float(t[0]), q, v, tau)
