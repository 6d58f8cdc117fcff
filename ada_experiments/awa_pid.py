# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 2.4: the PID control of the joints (eqs. 1, 2) and the motor of ODE that it drives.

What the gains mean: sec. 2.4 says that the control sets the motor's target speed, towards zero as the error vanishes,
and a largest torque by which that speed is reached. So u(t) is a speed [rad/s], K_p is in 1/s, T_i and T_d in seconds,
angles in radians (the unit of ODE, sec. 2.2). ODE reaches the speed within one step by a constraint; here a speed servo
of finite gain does, τ = k (u - θ̇) with |τ| at most the servo's, which an engine without that constraint can run too.

Eq. 1 itself is that of `ada_controllers.pid`; here its derivative is the difference over the last period.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_controllers.pid import equation
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

KGF_CM = 9.80665e-2  # [N m]
LARGEST_TORQUE = 8.7 * KGF_CM  # of the servo KRS-786ICS, table 2 [N m]


@dataclass(frozen=True)
class Gains:
    """Of eq. 1, and of the motor."""

    kp: float = 5.0  # [1/s]
    ti: float = 0.5  # [s]
    td: float = 0.1  # [s]
    speed: float = 1.0  # of the speed servo [N m s/rad]
    largest: float = LARGEST_TORQUE  # [N m]


class Pid:
    """The control of all joints; holds the sums of eq. 1, so each simulation needs one of its own."""

    def __init__(self, gains: Gains, period: float, count: int) -> None:
        """Args: the gains, the control period [s] and the number of joints."""
        for name, value in (("K_p", gains.kp), ("T_i", gains.ti), ("the control period", period)):
            if not 0.0 < value < np.inf:
                raise InputError(f"{name} is {value}; it must be positive.", field=name, value=value)
        self.gains = gains
        self.period = period
        self._equation = equation(count)
        self._gains = [np.full(count, value) for value in (gains.kp, gains.kp / gains.ti, gains.td)]
        self._dt = np.array([period])
        self._sums = np.zeros(count)  # (K_p / T_i) ∫ e dτ
        self._before: Array | None = None

    def target_speed(self, error: Array) -> Array:
        """u of eq. 1 [rad/s]; the derivative is that over the last period."""
        slope = np.zeros_like(error) if self._before is None else (error - self._before) / self.period
        u: Array
        u, self._sums = self._equation(error, slope, self._sums, *self._gains, self._dt)
        self._before = error
        return u

    def torque(self, desired: Array, angles: Array, rates: Array) -> Array:
        """Torques for the next period [N m].

        Args:
            desired: θ_d [rad].
            angles: θ [rad].
            rates: θ̇ [rad/s].
        """
        speed = self.target_speed(desired - angles)  # eq. 2
        return np.clip(self.gains.speed * (speed - rates), -self.gains.largest, self.gains.largest)
