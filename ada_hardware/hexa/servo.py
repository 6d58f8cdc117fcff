# SPDX-License-Identifier: Apache-2.0
"""The joint servo of the HEXA (Tarao et al., sec. 3.2, fig. 11): torques every 2 ms, held in between.

τ = K_p (q* - q) + K_d (q̇* - q̇) + what carries the weight, within what a motor can give. K_p is 200, 400 or
800 N m/rad in the document; K_d is not printed there ("K_p dominates"), nor whether the weight is carried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.hexa.plant import TORQUE_LIMIT

GAINS = (200.0, 400.0, 800.0)  # [N m/rad], of figs. 12-14
DAMPING = 5.0  # [N m s/rad], an assumption: damping ratios from 0.3 to 1.2 with all of GAINS and all motions
STIFFEST = 2000.0  # [N m/rad]; beyond it a servo that holds its torques for 2 ms swings


@dataclass(frozen=True)
class MotorServo:
    """The law of all six motors.

    Attributes:
        kp: stiffness [N m/rad].
        kd: damping [N m s/rad].
        torque_limit: of each motor [N m].
    """

    kp: float = 400.0
    kd: float = DAMPING
    torque_limit: float = TORQUE_LIMIT

    def __post_init__(self) -> None:
        """Check the values."""
        for name, value, most in (("kp", self.kp, STIFFEST), ("kd", self.kd, 15.0)):
            if not 0.0 < value <= most:
                raise InputError(
                    f"HEXA: {name} of the servo is {value!r}; it must be positive, up to {most:g}: torques are held "
                    "for 2 ms, and stiffer ones swing."
                )
        if not 0.0 < self.torque_limit <= TORQUE_LIMIT:
            raise InputError(f"HEXA: torque_limit is {self.torque_limit!r}; a motor gives up to {TORQUE_LIMIT:g} N m.")

    def torques(self, wanted: Array, wanted_rates: Array, angles: Array, rates: Array, weight: Array) -> Array:
        """Of the motors [N m].

        Args:
            wanted: q* [rad].
            wanted_rates: q̇* [rad/s].
            angles: q [rad].
            rates: q̇ [rad/s].
            weight: torques that carry the weight; zeros leave it to the springs [N m].
        """
        asked = self.kp * (wanted - angles) + self.kd * (wanted_rates - rates) + weight
        return np.asarray(np.clip(asked, -self.torque_limit, self.torque_limit))
