# SPDX-License-Identifier: Apache-2.0
"""Tarao et al., sec. 4.2: how stiff a motion table is at its output link when its motors are springs (eqs. 11-15)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms.parts import Mechanism

_DEPENDENT = 1e-8  # singular value, by the largest, under which motors do not hold the plate


def platform_jacobian(table: Mechanism, platform: str) -> Array:
    """J of eq. 12, δp = J δθ: motion of the floating plate [linear; angular], in its own axes, per motor.

    Args:
        table: the motion table and its pose.
        platform: the floating joint of its plate.

    Raises:
        InputError: the motors do not determine how the plate moves.
    """
    model = table.model
    conditions = analyse(model, table.q).constraints.jacobian(table.q)
    motors = np.concatenate([np.arange(model.nv)[model.v_index(name)] for name in model.actuated])
    others = np.setdiff1d(np.arange(model.nv), motors)
    values = np.linalg.svd(conditions[:, others], compute_uv=False)
    if len(values) < len(others) or values[-1] < _DEPENDENT * values[0]:
        words = f"the motors of {model.name!r} do not hold its plate {platform!r} in the pose given."
        raise InputError(words, link=platform)
    moved = np.zeros((model.nv, len(motors)))
    moved[motors] = np.eye(len(motors))
    moved[others] = np.linalg.lstsq(conditions[:, others], -conditions[:, motors], rcond=None)[0]
    return np.asarray(moved[model.v_index(platform)], dtype=np.float64)


def plate_stiffness(jacobian: Array, kp: float) -> Array:
    """K of eq. 15, F = (Jᵀ)⁻¹ K_p J⁻¹ δp, for six motors of equal stiffness K_p [N m/rad]; [linear; angular]."""
    back = np.linalg.inv(jacobian)
    return np.asarray(kp * back.T @ back, dtype=np.float64)


def stiffness_along(jacobian: Array, kp: float, direction: ArrayLike) -> float:
    """Force per displacement of a frictionless touch at the middle of the plate [N/m].

    Only a force along the normal can act there, so the plate gives way in all six directions and
    1/k = nᵀ K⁻¹ n = nᵀ J Jᵀ n / K_p: softer than the entry of K, which holds the plate in the other five.

    Args:
        jacobian: from `platform_jacobian`.
        kp: stiffness of the motors [N m/rad].
        direction: unit normal in the plate's axes.
    """
    n = np.concatenate([np.asarray(direction, dtype=float), np.zeros(3)])
    return kp / float(np.sum((jacobian.T @ n) ** 2))
