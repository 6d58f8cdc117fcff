# SPDX-License-Identifier: Apache-2.0
"""How the wrenches of all joints change with the state and the efforts, while the mechanism moves as `forward` says."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.closed_derivatives import multiplier_changes
from ada_dynamics.dynamics.joint_wrenches import everything_unique, names_of_joints
from ada_dynamics.dynamics.kernels import Kernels

State = tuple[Array, Array, Array]  # q, v and τ


def wrench_changes(kernels: Kernels, state: State, along: Array, of_motion: tuple[Array, ...]) -> Array:
    """Changes of the wrenches in one state with directions of the state and with τ, (joints, 6, m + nv).

    They are nan where they do not follow from the motion.

    Args:
        kernels: of the model.
        state: q, v and τ.
        along: directions [d_q; d_v], a column for each.
        of_motion: derivatives of the accelerations by q, v and τ.
    """
    n, m = kernels.model.nv, along.shape[1]
    d_q, d_v = (np.hstack([part, np.zeros((n, n))]) for part in (along[:n], along[n:]))
    d_tau = np.hstack([np.zeros((n, m)), np.eye(n)])
    d_a = of_motion[0] @ d_q + of_motion[1] @ d_v + of_motion[2] @ d_tau
    q, v, tau = state
    closed, given, changes = kernels.closed, [q, v], [d_q, d_v, d_a]
    if closed is None:
        a, _ = kernels.forward(False).single_status(q, v, tau)
        flags = everything_unique(kernels.model)
        kernel = kernels.joint_wrenches(kernels.model.full_tree, {}, False, along=True)
        given.append(a)
    else:
        a, held, flags, _ = closed.wrenches.held(kernels.candidate, state, False)
        kernel = closed.wrenches.kernel(False, along=True)
        given.append(a)
        if closed.plans.nontrivial:
            given.append(held)
            changes.append(multiplier_changes(closed, (q, v), (a, held), (d_q, d_v, d_tau), d_a))
    repeated = (np.ascontiguousarray(np.broadcast_to(x, (m + n, len(x)))) for x in given)
    found = kernel.batch(*repeated, *(np.ascontiguousarray(d.T) for d in changes))
    unique = np.array([flags[name] for name in names_of_joints(kernels.model)])
    return np.where(unique[..., None], np.moveaxis(found, 0, -1), np.nan)
