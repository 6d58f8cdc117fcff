# SPDX-License-Identifier: Apache-2.0
"""The joint servo of the HEXA (Tarao et al., sec. 3.2, fig. 11): torques every 2 ms, held in between.

K_p is 200, 400 or 800 N m/rad in the document; K_d is not printed there ("K_p dominates"), nor whether the weight is
carried.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array

DAMPING = 5.0  # [N m s/rad], an assumption: damping ratios from 0.3 to 1.2 with all stiffnesses and all motions
STIFFEST = 2000.0  # [N m/rad]; beyond it a servo that holds its torques for 2 ms swings


def servo_torques(
    kp: float, kd: float, limit: float, wanted: Array, wanted_rates: Array, angles: Array, rates: Array, weight: Array
) -> Array:
    """τ = K_p (q* - q) + K_d (q̇* - q̇) + what carries the weight, within what a motor can give [N m].

    Args:
        kp: K_p [N m/rad].
        kd: K_d [N m s/rad].
        limit: of each motor [N m].
        wanted: q* [rad].
        wanted_rates: q̇* [rad/s].
        angles: q [rad].
        rates: q̇ [rad/s].
        weight: torques that carry the weight; zeros leave it to the springs [N m].
    """
    asked = kp * (wanted - angles) + kd * (wanted_rates - rates) + weight
    return np.asarray(np.clip(asked, -limit, limit))
