# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 2.4: PID control of the joints (eqs. 1, 2), and the motor of ODE that it drives.

Meaning of the gains: by sec. 2.4 the control sets the target speed of the motor, which vanishes with the error, and a
maximum torque for reaching it. Hence u(t) is a speed [rad/s], K_p is in 1/s, T_i and T_d are in seconds, and angles are
in radians (the unit of ODE, sec. 2.2). ODE reaches the speed within one step by a constraint; here a speed servo with
finite gain is used, τ = k (u - θ̇) with limited |τ|, which works in engines without that constraint.

Eq. 1 is implemented in `ada_controllers.pid`; its derivative is the difference over the last period.
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
    """Gains of eq. 1 and of the motor."""

    kp: float = 5.0  # [1/s]
    ti: float = 0.5  # [s]
    td: float = 0.1  # [s]
    speed: float = 1.0  # gain of the speed servo [N m s/rad]
    largest: float = LARGEST_TORQUE  # [N m]


class Pid:
    """PID control of all joints with the integrators of eq. 1; one instance per simulation."""

    def __init__(self, gains: Gains, period: float, count: int) -> None:
        """Args: gains; control period [s]; number of joints."""
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
        """Target speed u of eq. 1 [rad/s]; the derivative is taken over the last period."""
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
