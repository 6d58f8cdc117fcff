# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1.5: momenta, forces, moments and torques of all motors, from the tips inwards (eqs. 37-43, 46).

Forces and moments are about the world origin, in world axes. The spatial velocity of a motor is that of its tip frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_experiments.awa_kinematics import MotorMotion, hat
from ada_experiments.awa_motors import WORLD, Motor


@dataclass(frozen=True)
class MotorLoad:
    """Results of eqs. 37-43 for one motor, (N, 3) each, u (N,)."""

    P: Array  # momentum [kg m/s]
    L: Array  # angular momentum about the world origin [kg m²/s]
    f: Array  # force exerted by the preceding motor [N]
    moment: Array  # moment about the world origin [N m]
    u: Array  # torque about the axis [N m]


def spatial_inertia(motor: Motor, motion: MotorMotion) -> Array:
    """I^S about the world origin (eq. 38), with the rotated tensor of eq. 46; (N, 6, 6), [linear; angular]."""
    R, c = motion.tip.rotation, hat(motion.centre.position)
    turned = R @ motor.inertia @ np.swapaxes(R, 1, 2)
    flipped = np.swapaxes(c, 1, 2)
    found = np.zeros((len(R), 6, 6))
    found[:, :3, :3] = motor.mass * np.eye(3)
    found[:, :3, 3:] = motor.mass * flipped
    found[:, 3:, :3] = motor.mass * c
    found[:, 3:, 3:] = motor.mass * c @ flipped + turned
    return found


def loads_of(motors: Sequence[Motor], motions: Sequence[MotorMotion], gravity: Array) -> list[MotorLoad]:
    """Loads of all motors under gravity only (fig. 10, steps of dynamics).

    The load of the body is the external wrench required by the whole robot.

    Args:
        motors: ordered so that each follows its parent.
        motions: motions from `awa_kinematics.motions_of`.
        gravity: [m/s²].
    """
    momenta, needs = [], []
    for motor, motion in zip(motors, motions, strict=True):
        momentum, need = _need(motor, motion)
        weight = np.broadcast_to(motor.mass * gravity, motion.centre.position.shape)
        from_outside = np.concatenate([weight, np.cross(motion.centre.position, weight)], axis=1)
        momenta.append(momentum)
        needs.append(need - from_outside)
    for i in range(len(motors) - 1, -1, -1):  # eq. 42
        if motors[i].parent != WORLD:
            needs[motors[i].parent] = needs[motors[i].parent] + needs[i]
    return [_load(motion, p, need) for motion, p, need in zip(motions, momenta, needs, strict=True)]


def _need(motor: Motor, motion: MotorMotion) -> tuple[Array, Array]:
    """Momentum [P; L] (eq. 40) and required wrench (eq. 37)."""
    S = spatial_inertia(motor, motion)
    tip = motion.tip
    momentum = _times(S, np.concatenate([tip.v_o, tip.angular], axis=1))
    P, L = momentum[:, :3], momentum[:, 3:]
    gyroscopic = np.concatenate([np.cross(tip.angular, P), np.cross(tip.v_o, P) + np.cross(tip.angular, L)], axis=1)
    return momentum, _times(S, np.concatenate([tip.a_o, tip.angular_acceleration], axis=1)) + gyroscopic


def _load(motion: MotorMotion, momentum: Array, wrench: Array) -> MotorLoad:
    f, moment = wrench[:, :3], wrench[:, 3:]
    lever = np.cross(motion.on_axis, motion.axis)
    u = np.einsum("ni,ni->n", lever, f) + np.einsum("ni,ni->n", motion.axis, moment)  # eq. 43
    return MotorLoad(momentum[:, :3], momentum[:, 3:], f, moment, u)


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("nij,nj->ni", matrix, vector), dtype=np.float64)
