# SPDX-License-Identifier: Apache-2.0
"""Joint servo of the HEXA (Tarao et al., sec. 3.2, fig. 11): torques updated every 2 ms.

K_p is 200, 400 or 800 N m/rad in the paper; K_d is not given ("K_p dominates"), nor whether the weight is
compensated.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array

DAMPING = 5.0  # [N m s/rad], an assumption: damping ratios from 0.3 to 1.2 for all stiffnesses and motions
STIFFEST = 2000.0  # [N m/rad]; a stiffer servo with a hold time of 2 ms oscillates


def servo_torques(
    kp: float, kd: float, limit: float, wanted: Array, wanted_rates: Array, angles: Array, rates: Array, weight: Array
) -> Array:
    """τ = K_p (q* - q) + K_d (q̇* - q̇) + weight compensation, clipped to the torque limit [N m].

    Args:
        kp: K_p [N m/rad].
        kd: K_d [N m s/rad].
        limit: torque limit of each motor [N m].
        wanted: q* [rad].
        wanted_rates: q̇* [rad/s].
        angles: q [rad].
        rates: q̇ [rad/s].
        weight: weight compensation torques [N m].
    """
    asked = kp * (wanted - angles) + kd * (wanted_rates - rates) + weight
    return np.asarray(np.clip(asked, -limit, limit))
