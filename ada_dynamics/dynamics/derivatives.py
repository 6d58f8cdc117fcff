# SPDX-License-Identifier: Apache-2.0
"""Derivatives of long robots, from a kernel for one direction: every direction is a state of a batch.

A kernel with all derivatives written out is the fastest, but it grows with the bodies that each velocity moves, and on
long chains takes many seconds to compile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit import Kernel

WRITTEN_OUT_UP_TO = 600  # pairs of a body and a velocity that moves it; a humanoid has half as many


def state_derivatives(kernel: Kernel, arguments: Sequence[Array], nv: int, is_batch: bool) -> tuple[Array, Array]:
    """Partial derivatives by q and by v, (nv, nv) or (N, nv, nv).

    The kernel takes the arguments, then a direction of q and one of v: here the unit vectors in turn.
    """
    states = [x if is_batch else x[np.newaxis] for x in arguments]
    n = len(states[0])
    repeated = [np.repeat(x, 2 * nv, axis=0) for x in states]
    units = np.tile(np.eye(2 * nv), (n, 1))
    columns = kernel.batch(*repeated, np.ascontiguousarray(units[:, :nv]), np.ascontiguousarray(units[:, nv:]))
    dq, dv = np.moveaxis(columns.reshape(n, 2, nv, nv), 1, 0).swapaxes(-1, -2)
    return (dq, dv) if is_batch else (dq[0], dv[0])
