# SPDX-License-Identifier: Apache-2.0
"""Stiffness of a motion table at its output link with motors as springs (Tarao et al., sec. 4.2, eqs. 11-15)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms.parts import Mechanism

_DEPENDENT = 1e-6  # relative singular value below which the motors do not determine the plate motion


def motor_motion(table: Mechanism, platform: str) -> Array:
    """Velocities of all joints per motor velocity, (nv, motors).

    Args:
        table: the motion table and its pose.
        platform: the floating joint of its plate.

    Raises:
        InputError: the motors do not determine the motion.
    """
    model = table.model
    conditions = analyse(model, table.q).constraints.jacobian(table.q)
    motors = np.concatenate([np.arange(model.nv)[model.v_index(name)] for name in model.actuated])
    others = np.setdiff1d(np.arange(model.nv), motors)
    values = np.linalg.svd(conditions[:, others], compute_uv=False)
    if len(values) < len(others) or values[-1] < _DEPENDENT * values[0]:
        raise InputError(f"the motors of {model.name!r} do not determine its motion in this pose.", link=platform)
    moved = np.zeros((model.nv, len(motors)))
    moved[motors] = np.eye(len(motors))
    moved[others] = np.linalg.lstsq(conditions[:, others], -conditions[:, motors], rcond=None)[0]
    return moved


def platform_jacobian(table: Mechanism, platform: str) -> Array:
    """J of eq. 12, δp = J δθ: motion of the plate [linear; angular] in its own frame per motor.

    Args:
        table: the motion table and its pose.
        platform: the floating joint of its plate.

    Raises:
        InputError: the motors do not determine the motion.
    """
    return np.asarray(motor_motion(table, platform)[table.model.v_index(platform)], dtype=np.float64)


def stiffness_along(jacobian: Array, kp: float, direction: ArrayLike) -> float:
    """Force per displacement of a frictionless contact at the middle of the plate [N/m].

    Only a normal force can act, so the plate deflects in all six directions:
    1/k = nᵀ K⁻¹ n = nᵀ J Jᵀ n / K_p. This is softer than the element of K, which assumes the other five directions
    fixed.

    Args:
        jacobian: from `platform_jacobian`.
        kp: stiffness of the motors [N m/rad].
        direction: unit normal in the plate frame.
    """
    n = np.concatenate([np.asarray(direction, dtype=float), np.zeros(3)])
    return kp / float(np.sum((jacobian.T @ n) ** 2))
