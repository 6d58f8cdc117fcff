# SPDX-License-Identifier: Apache-2.0
"""Efforts of the motors of a mechanism with loops: the least ones that do what is wanted, none on passive joints."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model

_RESIDUE = 1e-8  # of the efforts wanted, that the motors may leave undone
_RANK = 1e-9  # share of the motors in a motion of unit length: less is rounding


def motor_efforts(model: Model, N: Array, wanted: Array) -> Array:
    """Least efforts of the motors that act on the mechanism as the wanted efforts of all joints would.

    Loops pass efforts on: any τ with Nᵀ τ = Nᵀ wanted does the same. A floating base that counts as actuated gets no
    more than what the motors leave undone, as in inverse dynamics of a tree: nothing where loops to the world let them
    do it all.

    Args:
        model: whose `actuated` joints have motors.
        N: the motions that the loops allow in a state, as orthonormal columns (see `constraints.singular`).
        wanted: efforts on all joints of the tree.

    Raises:
        InputError: the motors cannot do it; the message names the joints that nothing drives.
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
