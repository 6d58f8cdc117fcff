# SPDX-License-Identifier: Apache-2.0
"""Least-norm efforts of the actuators of a mechanism with loops that are equivalent to given joint efforts."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model

_RESIDUE = 1e-8  # relative generalized force that the actuators may not produce
_RANK = 1e-9  # singular value of the actuated rows of N below which it is rounding


def motor_efforts(model: Model, N: Array, wanted: Array) -> Array:
    """Least-norm efforts of the actuators with the same generalized force Nᵀ τ as the given efforts of all joints.

    An actuated floating base takes the part that the actuators cannot produce, as in inverse dynamics of a tree.

    Args:
        model: with `actuated` joints.
        N: orthonormal basis of the admissible velocities.
        wanted: efforts of all joints of the tree.

    Raises:
        InputError: the actuators cannot produce the generalized force; the message names the undriven joints.
    """
    motors = list(velocities_of(model, [name for name in model.actuated if name != model.floating_joint]))
    base = list(velocities_of(model, [name for name in model.actuated if name == model.floating_joint]))
    A, B, b = N[motors].T, N[base].T, N.T @ wanted
    efforts = np.zeros(model.nv)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > _RANK
    U, s, Vt = U[:, kept], s[kept], Vt[kept]

    def undone() -> Array:
        left = b - B @ efforts[base]
        return np.asarray(left - U @ (U.T @ left), dtype=np.float64)

    smallest = _RESIDUE * max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    if base and float(np.max(np.abs(undone()), initial=0.0)) > smallest:
        efforts[base] = np.linalg.lstsq(B - U @ (U.T @ B), undone(), rcond=_RANK)[0]
    if float(np.max(np.abs(undone()), initial=0.0)) > smallest:
        raise _nothing_drives(model, N @ -undone())
    efforts[motors] = Vt.T @ ((U.T @ (b - B @ efforts[base])) / s)
    return efforts


def _nothing_drives(model: Model, motion: Array) -> InputError:
    size = float(np.max(np.abs(motion)))
    moving = [n for n in model.joint_names if float(np.max(np.abs(motion[model.v_index(n)]))) > 0.1 * size]
    return InputError(
        f"model {model.name!r} is under-actuated: no effort of its motors ({', '.join(model.actuated)}) gives these "
        f"accelerations. Nothing drives the motion of {', '.join(moving[:8])}; add a motor there, or ask for "
        "accelerations that these joints take by themselves.",
        joint=moving[0],
        field="actuated",
        value=tuple(moving),
        allowed=tuple(model.actuated),
    )
