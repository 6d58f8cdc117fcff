# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1.2-3.1.4: positions, velocities and accelerations of all motors by 4x4 matrices (eqs. 7-36).

Spatial velocity V = Ṫ T⁻¹ holds ω and v_o = ṗ - ω x p, the velocity of the point of the body that passes the world's
origin; A is its rate. The superscript T on the transforms of eqs. 19, 24, 31 and 36 must read -1: with a transpose, V
is no longer skew where T has a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.sampled_signals import forward_differences
from ada_dynamics.arrays import Array
from ada_dynamics.spatial.rotation import from_axis_angle
from ada_dynamics.spatial.vector import Vec3
from ada_experiments.awa_motors import WORLD, Motor


class Samples(NamedTuple):
    """Joint angles with their rates, a row per time and a column per joint that turns."""

    angles: Array  # [rad]
    rates: Array  # [rad/s]
    accelerations: Array  # [rad/s²]


def differentiated(angles: ArrayLike, dt: float) -> Samples:
    """Samples with the rates of eqs. 44 and 45; the last two, which have no such rates, are left out.

    Both rates lag, by dt/2 and by dt, so that their errors fall in proportion to dt only.

    Args:
        angles: at equal times, a row per time [rad].
        dt: between rows [s].
    """
    theta = np.asarray(angles, dtype=np.float64)
    rates = forward_differences(theta, dt)
    return Samples(theta[:-2], rates.first[:-2], rates.second[:-2])


@dataclass(frozen=True)
class Frame:
    """A frame over time: T, V and A (N, 4, 4), and what is read off them, (N, 3) each in the world's axes."""

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
    """Results of eqs. 9-36 for one motor: the frame at its tip, and the one at its centre of mass."""

    tip: Frame
    centre: Frame
    axis: Array  # a_n in the world's axes
    on_axis: Array  # a point of the axis: the tip of the motor before, where eq. 43 needs it


def standing(pose: Array, count: int) -> Frame:
    """A body that stands still in the pose given, 4x4, at so many times."""
    still = np.zeros((count, 4, 4))
    return Frame(np.tile(pose, (count, 1, 1)), still, still)


def motions_of(motors: Sequence[Motor], samples: Samples, body: Frame) -> list[MotorMotion]:
    """Motions of all motors from the body outwards (fig. 10, steps 2-4 of kinematics).

    Args:
        motors: each after the one that holds it.
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
    """Motion of the body while a foot stands still: T_0 = F T⁻¹, V_0 = -T_0 V T_0⁻¹, A_0 = -T_0 A T_0⁻¹.

    Args:
        foot: motion of the foot in frame 0, as `motions_of` gives it for a body at rest at the origin.
        at: pose in the world where the foot stands, 4x4.
    """
    T = at @ inverse(foot.T)
    back = inverse(T)
    return Frame(T, -T @ foot.V @ back, -T @ foot.A @ back)


# --- one motor (relative to the one before) ---------------------------------------------------------------------
def _turn(motor: Motor, samples: Samples) -> tuple[Array, Array, Array]:
    """Rotation by the motor's angle (eqs. 3-6), ω = a θ̇ (eq. 17) and ω̇ = a θ̈ (eq. 29), in the parent's axes."""
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
    """ⁿ⁻¹Tₙ, ⁿ⁻¹Vₙ, ⁿ⁻¹Aₙ of the tip (eqs. 8, 18, 30), or of a frame at the centre that does not turn (11, 23, 35)."""
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
    """Eqs. 9, 19, 31 for the tip, and eqs. 12, 24, 36, which are the same, for the centre of mass."""
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
    """The vector of the skew part of a 4x4 matrix (eqs. 20, 32)."""
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
    """The 4x4 matrix of eqs. 15 and 27."""
    found = np.zeros((len(turn), 4, 4))
    found[:, :3, :3] = hat(turn)
    found[:, :3, 3] = linear
    return found
