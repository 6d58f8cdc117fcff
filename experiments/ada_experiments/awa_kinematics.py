# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1: motions and loads of all motors.

Sec. 3.1.2-3.1.4: positions, velocities and accelerations by 4x4 matrices (eqs. 7-36).

The spatial velocity V = Ṫ T⁻¹ contains ω and v_o = ṗ - ω x p, the velocity of the body point at the world origin; A is
its rate. The superscript T on the transforms of eqs. 19, 24, 31 and 36 must be -1: with a transpose, V is not
skew-symmetric if T has a translation.

Sec. 3.1.5: momenta, forces, moments and torques, from the tips inwards (eqs. 37-43, 46).

Forces and moments are about the world origin, in world axes. The spatial velocity of a motor is that of its tip frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.spatial.rotation import from_axis_angle
from ada_dynamics.spatial.vector import Vec3
from ada_experiments.awa_motors import WORLD, Motor


class Samples(NamedTuple):
    """Joint angles with their rates: a row per time, a column per revolute joint."""

    angles: Array  # [rad]
    rates: Array  # [rad/s]
    accelerations: Array  # [rad/s²]


def differentiated(angles: ArrayLike, dt: float) -> Samples:
    """Samples with the rates of eqs. 44 and 45, without the last two, for which they are undefined.

    The differences lag by dt/2 and dt, so that their errors are of first order in dt.

    Args:
        angles: evenly sampled angles, a row per time [rad].
        dt: sampling interval [s].
    """
    theta = np.asarray(angles, dtype=np.float64)
    rates = np.diff(theta, axis=0) / dt  # eq. 44
    return Samples(theta[:-2], rates[:-1], np.diff(rates, axis=0) / dt)  # eq. 45


@dataclass(frozen=True)
class Frame:
    """A frame over time: T, V and A (N, 4, 4), and derived quantities, (N, 3) each in world axes."""

    T: Array
    V: Array
    A: Array

    @property
    def position(self) -> Array:
        """p [m]."""
        return self.T[:, :3, 3]

    @property
    def rotation(self) -> Array:
        """R, (N, 3, 3)."""
        return self.T[:, :3, :3]

    @property
    def angular(self) -> Array:
        """ω (eq. 20) [rad/s]."""
        return vee(self.V)

    @property
    def angular_acceleration(self) -> Array:
        """ω̇ (eq. 32) [rad/s²]."""
        return vee(self.A)

    @property
    def v_o(self) -> Array:
        """v_o (eq. 16) [m/s]."""
        return self.V[:, :3, 3]

    @property
    def a_o(self) -> Array:
        """v̇_o (eq. 28) [m/s²]."""
        return self.A[:, :3, 3]

    @cached_property
    def velocity(self) -> Array:
        """ṗ, from Ṫ = V T (eqs. 21, 25) [m/s]."""
        return (self.V @ self.T)[:, :3, 3]

    @cached_property
    def acceleration(self) -> Array:
        """p̈, from T̈ = (A + V V) T (eq. 33) [m/s²]."""
        return ((self.A + self.V @ self.V) @ self.T)[:, :3, 3]


@dataclass(frozen=True)
class MotorMotion:
    """Results of eqs. 9-36 for one motor: tip frame and centre-of-mass frame."""

    tip: Frame
    centre: Frame
    axis: Array  # a_n in world axes
    on_axis: Array  # a point on the axis for eq. 43: the tip of the preceding motor


def standing(pose: Array, count: int) -> Frame:
    """A body at rest in a pose, 4x4, at `count` times."""
    still = np.zeros((count, 4, 4))
    return Frame(np.tile(pose, (count, 1, 1)), still, still)


def motions_of(motors: Sequence[Motor], samples: Samples, body: Frame) -> list[MotorMotion]:
    """Motions of all motors from the body outwards (fig. 10, steps 2-4 of kinematics).

    Args:
        motors: ordered so that each follows its parent.
        samples: angles and their rates.
        body: motion of frame 0.
    """
    found: list[MotorMotion] = []
    for motor in motors:
        before = body if motor.parent == WORLD else found[motor.parent].tip
        R, w, wd = _turn(motor, samples)
        tip = _carried(before, _relative(motor, R, w, wd, motor.tip, turns=True))
        centre = _carried(before, _relative(motor, R, w, wd, motor.com, turns=False))
        axis = np.einsum("nij,jk,k->ni", before.rotation, motor.held, motor.axis)
        found.append(MotorMotion(tip, centre, axis, before.position + before.rotation @ motor.root))
    return found


def foot_stands(foot: Frame, at: Array) -> Frame:
    """Motion of the body over a fixed foot: T_0 = F T⁻¹, V_0 = -T_0 V T_0⁻¹, A_0 = -T_0 A T_0⁻¹.

    Args:
        foot: motion of the foot relative to frame 0, from `motions_of` with the body at rest at the origin.
        at: pose of the foot in the world, 4x4.
    """
    T = at @ inverse(foot.T)
    back = inverse(T)
    return Frame(T, -T @ foot.V @ back, -T @ foot.A @ back)


# --- one motor (relative to the one before) ---------------------------------------------------------------------
def _turn(motor: Motor, samples: Samples) -> tuple[Array, Array, Array]:
    """Rotation by the motor angle (eqs. 3-6), ω = a θ̇ (eq. 17) and ω̇ = a θ̈ (eq. 29), in parent axes."""
    count = len(samples.angles)
    axis = motor.held @ motor.axis
    if motor.column is None:
        return np.tile(motor.held, (count, 1, 1)), np.zeros((count, 3)), np.zeros((count, 3))
    column = motor.column
    theta = samples.angles[:, column]
    entries = from_axis_angle(Vec3(*motor.axis.tolist()), theta)
    R = np.empty((count, 3, 3))
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            R[:, i, j] = entry
    return motor.held @ R, np.outer(samples.rates[:, column], axis), np.outer(samples.accelerations[:, column], axis)


def _relative(motor: Motor, R: Array, w: Array, wd: Array, to: Array, *, turns: bool) -> Frame:
    """ⁿ⁻¹Tₙ, ⁿ⁻¹Vₙ, ⁿ⁻¹Aₙ of the tip (eqs. 8, 18, 30), or of the non-rotating frame at the centre (11, 23, 35)."""
    arm = R @ to
    p = motor.root + arm
    rate = np.cross(w, arm)
    second = np.cross(wd, arm) + np.cross(w, rate)
    T = np.tile(np.eye(4), (len(p), 1, 1))
    T[:, :3, 3] = p
    if not turns:
        return Frame(T, _matrix(np.zeros_like(w), rate), _matrix(np.zeros_like(w), second))
    T[:, :3, :3] = R
    v_o = rate - np.cross(w, p)  # eq. 16
    a_o = second - np.cross(w, rate) - np.cross(wd, p)  # eq. 28
    return Frame(T, _matrix(w, v_o), _matrix(wd, a_o))


def _carried(before: Frame, own: Frame) -> Frame:
    """Eqs. 9, 19, 31 for the tip, and the identical eqs. 12, 24, 36 for the centre of mass."""
    back = inverse(before.T)
    V = before.V + before.T @ own.V @ back
    A = before.A + before.T @ own.A @ back + before.V @ V - V @ before.V
    return Frame(before.T @ own.T, V, A)


# --- matrices ---------------------------------------------------------------------------------------------------
def hat(a: Array) -> Array:
    """[a x] of eq. 6, for rows of vectors."""
    found = np.zeros((*a.shape[:-1], 3, 3))
    found[..., 0, 1], found[..., 0, 2], found[..., 1, 2] = -a[..., 2], a[..., 1], -a[..., 0]
    return found - np.swapaxes(found, -1, -2)


def vee(M: Array) -> Array:
    """Vector of the skew-symmetric part of a 4x4 matrix (eqs. 20, 32)."""
    return np.stack([M[..., 2, 1], M[..., 0, 2], M[..., 1, 0]], axis=-1)


def inverse(T: Array) -> Array:
    """Inverse of rigid 4x4 transforms."""
    found = np.zeros_like(T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    found[..., :3, :3] = R
    found[..., :3, 3] = -np.einsum("...ij,...j->...i", R, T[..., :3, 3])
    found[..., 3, 3] = 1.0
    return found


def _matrix(turn: Array, linear: Array) -> Array:
    """4x4 matrix of eqs. 15 and 27."""
    found = np.zeros((len(turn), 4, 4))
    found[:, :3, :3] = hat(turn)
    found[:, :3, 3] = linear
    return found


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
