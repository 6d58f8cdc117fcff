# SPDX-License-Identifier: Apache-2.0
"""Mechanics of an emulated PA-10: axes that are braked, speed-controlled, torque-controlled, or free.

A speed drive is a first-order lag of unlimited torque. Torque-controlled and free axes follow the rigid body dynamics
of the model; braked and speed-controlled axes are prescribed. The equations are those of `Dynamics`, integrated with
the Runge-Kutta method of the simulation.

The results agree with `Simulation` (2e-15 rad after 0.5 s of free fall). `Simulation` is not used since here a step
ends at each received packet, at any time, and axes must be prescribed exactly: a stiff servo in place of a brake lets
an axis sag by 4e-5 rad, five angle counts, at steps of 1 ms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.robots.load import load
from ada_dynamics.simulation.integrator import Rate, explicit_step
from ada_dynamics.simulation.methods import METHODS

_METHOD = METHODS["rk4"]
STEP = 1e-3  # [s] largest integration step
_BEYOND = math.radians(3.0)  # rubber buffer beyond the axis limit
BRAKED, AT_SPEED, AT_TORQUE, FREE = range(4)


class EmulatedArm:
    """Seven axes and their motion. A missing axis remains braked.

    Attributes:
        q: angles [rad].
        v: speeds [rad/s].
        ways: state of each axis: BRAKED, AT_SPEED, AT_TORQUE or FREE.
        speeds: commanded speeds [rad/s].
        torques: commanded joint torques [N m].
    """

    def __init__(self, model: str, start: Array, lower: Array, upper: Array, time_constant: float) -> None:
        """Start at rest with brakes on.

        Args:
            model: catalogue name of a seven-axis arm.
            start: initial angles [rad].
            lower: lower limits [rad].
            upper: upper limits [rad].
            time_constant: time constant of the speed drives [s]; 0: no lag.
        """
        robot = load(model)
        self._dynamics = Dynamics(robot)
        count = robot.nv
        self.q, self.v = np.array(start, dtype=np.float64), np.zeros(count)
        self.ways: NDArray[np.intp] = np.full(count, BRAKED, dtype=np.intp)
        self.speeds, self.torques = np.zeros(count), np.zeros(count)
        self._lower, self._upper = lower - _BEYOND, upper + _BEYOND
        self._time_constant = time_constant
        self._dynamics.forward(self.q, self.v, self.v)  # compile now: a later delay would act like a lost packet
        self._dynamics.inverse(self.q, self.v, self.v)
        self._dynamics.mass_matrix(self.q)
        self._dynamics.bias(self.q, self.v)

    def brake(self, axes: NDArray[np.bool_] | slice = slice(None)) -> None:
        """Close brakes; the axes stop at once."""
        self.ways[axes] = BRAKED
        self.speeds[axes] = self.torques[axes] = self.v[axes] = 0.0

    def advance(self, duration: float) -> None:
        """Advance the motion by `duration` seconds."""
        if duration <= 0.0:
            return
        if (self.ways <= AT_SPEED).all():
            self._drive(duration)
        else:
            steps, rate, x = math.ceil(duration / STEP - 1e-9), self._rate(), np.concatenate([self.q, self.v])
            for _ in range(steps):
                x = explicit_step(_METHOD, rate, x, 0.0, duration / steps)
            self.q, self.v = np.split(x, 2)
        if ((self.q < self._lower) | (self.q > self._upper)).any():
            low, high = self.q < self._lower, self.q > self._upper
            self.q = np.clip(self.q, self._lower, self._upper)
            self.v[low] = np.maximum(self.v[low], 0.0)
            self.v[high] = np.minimum(self.v[high], 0.0)

    def motor_torques(self) -> Array:
        """Motor torques, on the joint side [N m]."""
        driven = self.ways == AT_SPEED
        if not driven.any():
            return np.where(self.ways == AT_TORQUE, self.torques, 0.0)
        _, a = np.split(self._rate()(np.concatenate([self.q, self.v]), 0.0), 2)
        needed = self._dynamics.inverse(self.q, self.v, a)
        return np.where(driven, needed, np.where(self.ways == AT_TORQUE, self.torques, 0.0))

    # --- helpers --------------------------------------------------------------------------------------------------
    def _drive(self, duration: float) -> None:
        """Exact solution of the first-order drives: v tends to the command, q is its integral."""
        driven = self.ways == AT_SPEED
        commanded = np.where(driven, self.speeds, 0.0)
        constant = self._time_constant
        decay = math.exp(-duration / constant) if constant else 0.0
        off = np.where(driven, self.v - commanded, 0.0)
        self.q = self.q + commanded * duration + off * constant * (1.0 - decay)
        self.v = commanded + off * decay

    def _rate(self) -> Rate:
        """Return the time derivative of [q, v] for the present commands."""
        given, driven = self.ways <= AT_SPEED, self.ways == AT_SPEED
        count, speeds, lag = len(given), self.speeds, self._time_constant or STEP
        pushed = np.where(self.ways == AT_TORQUE, self.torques, 0.0)
        dynamics, free = self._dynamics, ~given
        inside = np.ix_(free, free)

        def rate(x: Array, t: float) -> Array:
            q, v = x[:count], x[count:]
            if not given.any():
                return np.concatenate([v, dynamics.forward(q, v, pushed)])
            a = np.where(driven, (speeds - v) / lag, 0.0)
            if free.any():
                M, h = dynamics.mass_matrix(q), dynamics.bias(q, v)
                a[free] = np.linalg.solve(M[inside], (pushed - h - M @ a)[free])
            return np.concatenate([v, a])

        return rate
