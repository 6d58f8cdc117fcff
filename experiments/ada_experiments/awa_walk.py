# SPDX-License-Identifier: Apache-2.0
"""Walking motion of KHR-1 from its key frames, and its PID control after Awa 2009, sec. 2.4, for any simulator.

Meaning of the gains: by sec. 2.4 the control sets the target speed of the motor, which vanishes with the error, and a
maximum torque for reaching it. Hence u(t) is a speed [rad/s], K_p is in 1/s, T_i and T_d are in seconds, and angles are
in radians (the unit of ODE, sec. 2.2). ODE reaches the speed within one step by a constraint; here a speed servo with
finite gain is used, τ = k (u - θ̇) with limited |τ|, which works in engines without that constraint.

Eq. 1 is implemented in `ada_controllers.pid`; its derivative is the difference over the last period.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_controllers.pid import equation
from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_experiments.awa_equations import (
    Samples,
    angle_columns,
    base_states,
    foot_stands,
    index_of,
    motions_of,
    motors_of,
    standing,
)
from ada_experiments.settings import OR_ZERO
from ada_robot.trajectory.path import Path

FEET = ("left_sole", "right_sole")


class Walk:
    """Angles of all revolute joints of a model over time.

    Attributes:
        times: times of the key frames [s].
        frames: angles, a column per revolute joint of the model [rad].
    """

    def __init__(self, model: Model, times: ArrayLike, angles: Mapping[str, ArrayLike]) -> None:
        """Arrange the angles of a motion in model order; joints without angles remain at zero.

        Args:
            model: robot model.
            times: times of the key frames [s].
            angles: by joint, one angle per key frame [rad].

        Raises:
            InputError: unknown joint.
        """
        columns = angle_columns(model)
        self.times = np.array(times, dtype=np.float64)
        self.frames = np.zeros((len(self.times), len(columns)))
        for joint, values in angles.items():
            if joint not in columns:
                raise unknown_name("joint of the motion", joint, columns)
            self.frames[:, columns[joint]] = values

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def _path(self) -> Path:
        rest = np.zeros_like(self.frames)
        return Path.through(0.0, self.times, self.frames, rest, rest)

    def smooth(self, t: ArrayLike) -> Samples:
        """Angles and their exact rates, at rest at each key frame."""
        states = [self._path.state(float(x))[:3] for x in np.asarray(t, dtype=np.float64) + self.times[0]]
        return Samples(*np.array(states).swapaxes(0, 1))

    def linear(self, t: ArrayLike) -> Array:
        """Angles of servos with constant speed between key frames, as with the RCB-1."""
        at = np.asarray(t, dtype=np.float64) + self.times[0]
        return np.column_stack([np.interp(at, self.times, column) for column in self.frames.T])


def khr1_walk(model: Model) -> Walk:
    """Walk of this package, from the key frames in config/khr1_walk.csv."""
    from ada_dynamics import resources
    from ada_hardware.kondo.motion_file import read_motion

    times, angles = read_motion(
        resources.find("config", "khr1_walk.csv"), resources.find("config", "khr1_angle_map.yaml")
    )
    return Walk(model, times, angles)


KGF_CM = 9.80665e-2  # [N m]
LARGEST_TORQUE = 8.7 * KGF_CM  # of the servo KRS-786ICS, table 2 [N m]


class Gains(NamedTuple):
    """Gains of eq. 1 and of the motor."""

    kp: Annotated[float, "1/s"] = 5.0
    ti: Annotated[float, "s"] = 0.5
    td: Annotated[float, "s", OR_ZERO] = 0.1
    speed: Annotated[float, "N m s/rad"] = 1.0  # of the speed servo
    largest: Annotated[float, "N m"] = LARGEST_TORQUE


class SampledPid:
    """PID control of all joints with the integrators of eq. 1; one instance per simulation."""

    def __init__(self, gains: Gains, period: float, count: int) -> None:
        """Start the integrators of some joints at zero, with a control period [s]."""
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


BASE_NQ, BASE_NV = 7, 6  # coordinates of a floating base, before the joints


class WalkControl:
    """Tracks the walk with the joints; one instance per simulation, since eq. 1 has an integrator."""

    def __init__(self, walk: Walk, gains: Gains, period: float, duration: float) -> None:
        """Sample the walk at the control period [s] for the duration [s] of the control."""
        times = period * np.arange(round(duration / period) + 2)
        self._desired = walk.smooth(np.minimum(times, walk.duration)).angles
        self._period = period
        self._pid = SampledPid(gains, period, self._desired.shape[1])

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Efforts of all velocity coordinates."""
        desired = self._desired[min(round(t / self._period), len(self._desired) - 1)]
        torques = self._pid.torque(desired, q[BASE_NQ:], v[BASE_NV:])
        return np.concatenate([np.zeros(BASE_NV), torques])


def with_armature(model: Model, armature: float) -> Model:
    """Copy of the robot with rotor inertia at its revolute joints [kg m²]."""
    parts = Parts.of(model)
    for name, joint in parts.joints.items():
        if joint.type.turns():
            parts.joints[name] = replace(joint, armature=armature)
    return parts.build()


def standing_start(model: Model, walk: Walk, foot: str) -> Array:
    """Configuration with the first joint angles of the walk and a foot flat on the ground at the origin."""
    samples = walk.smooth(np.zeros(1))
    motors = motors_of(model)
    tip = motions_of(motors, samples, standing(np.eye(4), 1))[index_of(motors, foot)].tip
    base, _, _ = base_states(foot_stands(tip, np.eye(4)))
    return np.concatenate([base[0], samples.angles[0]])
