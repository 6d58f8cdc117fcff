# SPDX-License-Identifier: Apache-2.0
"""Derivative matrices from a kernel that computes one directional derivative: every direction is a state of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.jit import Kernel

Array = NDArray[np.float64]


def directional_matrices(kernel: Kernel, arguments: Sequence[Array], nv: int, is_batch: bool) -> list[Array]:
    """Partial derivatives by each of the three arguments, (nv, nv) or (N, nv, nv).

    The kernel takes the arguments and a direction for each of them; the directions are the unit vectors in turn.
    """
    states = [x if is_batch else x[np.newaxis] for x in arguments]
    n, columns = len(states[0]), len(states) * nv
    repeated = [np.asfortranarray(np.repeat(x, columns, axis=0)) for x in states]
    units = np.tile(np.eye(columns), (n, 1))
    directions = [np.asfortranarray(units[:, i * nv : (i + 1) * nv]) for i in range(len(states))]
    result = kernel.batch(*repeated, *directions).reshape(n, len(states), nv, nv)
    blocks = [np.ascontiguousarray(np.swapaxes(result[:, i], 1, 2)) for i in range(len(states))]
    return blocks if is_batch else [block[0] for block in blocks]
