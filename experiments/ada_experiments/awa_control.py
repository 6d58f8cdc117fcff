# SPDX-License-Identifier: Apache-2.0
"""PID control of KHR-1 after Awa 2009, eq. 1, as a controller for any simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_experiments.awa_ground import base_states, index_of
from ada_experiments.awa_kinematics import foot_stands, motions_of, standing
from ada_experiments.awa_motors import motors_of
from ada_experiments.awa_pid import Gains, Pid
from ada_experiments.awa_walk import Walk

BASE_NQ, BASE_NV = 7, 6  # coordinates of a floating base, before the joints


class WalkControl:
    """Tracks the walk with the joints; one instance per simulation, since eq. 1 has an integrator."""

    def __init__(self, walk: Walk, gains: Gains, period: float, duration: float) -> None:
        """Args: walk; gains; control period [s]; duration of the control [s]."""
        times = period * np.arange(round(duration / period) + 2)
        self._desired = walk.smooth(np.minimum(times, walk.duration)).angles
        self._period = period
        self._pid = Pid(gains, period, self._desired.shape[1])

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
