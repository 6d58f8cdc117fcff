# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1 and tables 3-6: a robot as chains of motors that start at its body, their motions and loads.

Motor n rotates about an axis at the tip of motor n-1, and motor n+1 is attached at its tip. Fixed joints and the body
are motors without motion.

Secs. 3.1.2-3.1.4 compute positions, velocities and accelerations by 4x4 matrices (eqs. 7-36). The spatial velocity
V = Ṫ T⁻¹ contains ω and v_o = ṗ - ω x p, the velocity of the body point at the world origin; A is its rate. The
superscript T on the transforms of eqs. 19, 24, 31 and 36 must be -1: with a transpose, V is not skew-symmetric if T has
a translation. Sec. 3.1.5 computes momenta, forces, moments and torques from the tips inwards (eqs. 37-43, 46), about
the world origin in world axes; the spatial velocity of a motor is that of its tip frame.

The paper fixes frame 0. `over_feet` moves it so that the supporting foot does not move; the load of the body is then
the wrench of the ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import Fixed, Revolute
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.rotation import from_axis_angle
from ada_dynamics.spatial.vector import Vec3

# Table 4: masses [kg] and dimensions [m]; x forward, y to the left, z along the limb.
MOTOR, SOLE, BOARD = (0.045, (0.021, 0.035, 0.041)), (0.002, (0.080, 0.045, 0.001)), (0.025, (0.035, 0.070, 0.045))
WORLD = -1  # parent of the body
FLAT = 2e-4  # [m]: feet with a smaller height difference are both on the ground; a lifted foot is centimetres higher


# --- motors ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Motor:
    """A motor with the parts fixed to it."""

    name: str  # joint name; for the body its link name
    link: str  # moved link
    parent: int  # index of the parent motor; WORLD for the body, which carries frame 0 of the paper
    held: Array  # orientation at angle zero relative to the parent
    axis: Array  # a_n in motor axes
    root: Array  # point of the axis in the tip frame of the parent [m]; nonzero only for first motors of branches
    tip: Array  # vector from there to the tip in motor axes, l_n [m]
    com: Array  # vector from there to the centre of mass in motor axes [m]
    mass: float  # m_n [kg]
    inertia: Array  # about the centre of mass in motor axes [kg m²]
    column: int | None  # column of its angle among the joints of the model; None for a fixed motor


def motors_of(model: Model) -> list[Motor]:
    """The body and the motors, ordered so that each follows its parent; the floating-base joint is omitted.

    The tip of a motor is the first joint on its link; for a terminal link its origin.

    Raises:
        InputError: the model has loops, or joints other than revolute and fixed ones.
    """
    if model.loops:
        raise InputError(f"model {model.name!r} has loops, which Awa 2009 does not support.", field="loops")
    joints = [joint for joint in model.joints.values() if not joint.type.leaves_free()]
    for joint in joints:
        if joint.type.moves_as not in (Revolute.kind, Fixed.kind) or joint.mimic is not None:
            what = "mimics another" if joint.mimic is not None else f"is {joint.kind}"
            text = f"model {model.name!r}: joint {joint.name!r} {what}; Awa 2009 has revolute and fixed joints only."
            raise InputError(text, joint=joint.name, value=joint.kind)
    tips = {joint.parent: joint.xyz for joint in reversed(joints)} | {model.root: np.zeros(3)}
    columns = angle_columns(model)
    chain = [Joint(model.root, Fixed.kind, "", model.root), *joints]
    indices = {joint.child: i for i, joint in enumerate(chain)}
    found = []
    for joint in chain:
        link, none = model.links[joint.child], np.zeros(3)
        root, tip = joint.xyz - tips.get(joint.parent, none), tips.get(joint.child, none)
        body = link.com, link.mass, link.inertia
        parent = indices.get(joint.parent, WORLD)
        found.append(
            Motor(joint.name, link.name, parent, joint.rotation, joint.axis, root, tip, *body, columns.get(joint.name))
        )
    return found


def angle_columns(model: Model) -> dict[str, int]:
    """Column of each revolute joint in a table of joint angles, in the order of the model."""
    turning = [name for name in model.joint_names if model.joints[name].type.turns()]
    return {name: i for i, name in enumerate(turning)}


def index_of(motors: Sequence[Motor], link: str) -> int:
    """Index of the motor that moves a link."""
    return [motor.link for motor in motors].index(link)


def paper_robot(model: Model) -> Model:
    """Copy of the robot with the masses of table 4.

    Each link moved by a joint contains a motor; soles and one board in the body are added. The centre of mass is in the
    middle of each link (sec. 4.1); for terminal links that of the description is kept. Moments of inertia follow eq.
    39.
    """
    parts = Parts.of(model)
    for motor in motors_of(model):
        if motor.column is not None:
            mass, (x, y, z) = MOTOR
        else:
            mass, (x, y, z) = SOLE if motor.link.endswith("sole") else BOARD
        inertia = mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])  # eq. 39
        com = 0.5 * motor.tip if np.any(motor.tip) else motor.com
        parts.links[motor.link] = replace(parts.links[motor.link], mass=mass, com=com, inertia=inertia)
    return parts.build()


# --- kinematics -----------------------------------------------------------------------------------------------------
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


class FrameHistory(NamedTuple):
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

    @property
    def velocity(self) -> Array:
        """ṗ, from Ṫ = V T (eqs. 21, 25) [m/s]."""
        return (self.V @ self.T)[:, :3, 3]

    @property
    def acceleration(self) -> Array:
        """p̈, from T̈ = (A + V V) T (eq. 33) [m/s²]."""
        return ((self.A + self.V @ self.V) @ self.T)[:, :3, 3]


class MotorMotion(NamedTuple):
    """Results of eqs. 9-36 for one motor."""

    tip: FrameHistory
    centre: FrameHistory  # of mass
    axis: Array  # a_n in world axes
    on_axis: Array  # a point on the axis for eq. 43: the tip of the preceding motor


def standing(pose: Array, count: int) -> FrameHistory:
    """A body at rest in a pose, 4x4, at `count` times."""
    still = np.zeros((count, 4, 4))
    return FrameHistory(np.tile(pose, (count, 1, 1)), still, still)


def motions_of(motors: Sequence[Motor], samples: Samples, body: FrameHistory) -> list[MotorMotion]:
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
        axis = before.rotation @ (motor.held @ motor.axis)
        found.append(MotorMotion(tip, centre, axis, before.position + before.rotation @ motor.root))
    return found


def _turn(motor: Motor, samples: Samples) -> tuple[Array, Array, Array]:
    """Rotation by the motor angle (eqs. 3-6), ω = a θ̇ (eq. 17) and ω̇ = a θ̈ (eq. 29), in parent axes."""
    count, axis = len(samples.angles), motor.held @ motor.axis
    if motor.column is None:
        return np.tile(motor.held, (count, 1, 1)), np.zeros((count, 3)), np.zeros((count, 3))
    angle, rate, acceleration = (values[:, motor.column] for values in samples)
    R = np.empty((count, 3, 3))
    for i, row in enumerate(from_axis_angle(Vec3(*motor.axis.tolist()), angle)):
        for j, entry in enumerate(row):
            R[:, i, j] = entry
    return motor.held @ R, np.outer(rate, axis), np.outer(acceleration, axis)


def _relative(motor: Motor, R: Array, w: Array, wd: Array, to: Array, *, turns: bool) -> FrameHistory:
    """ⁿ⁻¹Tₙ, ⁿ⁻¹Vₙ, ⁿ⁻¹Aₙ of the tip (eqs. 8, 18, 30), or of the non-rotating frame at the centre (11, 23, 35)."""
    arm = R @ to
    p = motor.root + arm
    rate = np.cross(w, arm)
    second = np.cross(wd, arm) + np.cross(w, rate)
    T = np.tile(np.eye(4), (len(p), 1, 1))
    T[:, :3, 3] = p
    if not turns:
        return FrameHistory(T, _matrix(np.zeros_like(w), rate), _matrix(np.zeros_like(w), second))
    T[:, :3, :3] = R
    v_o = rate - np.cross(w, p)  # eq. 16
    a_o = second - np.cross(w, rate) - np.cross(wd, p)  # eq. 28
    return FrameHistory(T, _matrix(w, v_o), _matrix(wd, a_o))


def _carried(before: FrameHistory, own: FrameHistory) -> FrameHistory:
    """Eqs. 9, 19, 31 for the tip, and the identical eqs. 12, 24, 36 for the centre of mass."""
    back = inverse(before.T)
    V = before.V + before.T @ own.V @ back
    A = before.A + before.T @ own.A @ back + before.V @ V - V @ before.V
    return FrameHistory(before.T @ own.T, V, A)


def hat(a: Array) -> Array:
    """[a x] of eq. 6, for rows of vectors."""
    return np.cross(np.eye(3), a[..., None, :])


def vee(M: Array) -> Array:
    """Vector of the skew-symmetric part of a 4x4 matrix (eqs. 20, 32)."""
    return np.stack([M[..., 2, 1], M[..., 0, 2], M[..., 1, 0]], axis=-1)


def inverse(T: Array) -> Array:
    """Inverse of rigid 4x4 transforms."""
    found = np.zeros_like(T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    found[..., :3, :3], found[..., 3, 3] = R, 1.0
    found[..., :3, 3] = -np.einsum("...ij,...j->...i", R, T[..., :3, 3])
    return found


def _matrix(turn: Array, linear: Array) -> Array:
    """4x4 matrix of eqs. 15 and 27."""
    found = np.zeros((len(turn), 4, 4))
    found[:, :3, :3], found[:, :3, 3] = hat(turn), linear
    return found


# --- loads ----------------------------------------------------------------------------------------------------------
class MotorLoad(NamedTuple):
    """Results of eqs. 37-43 for one motor, (N, 3) each, u (N,)."""

    P: Array  # momentum [kg m/s]
    L: Array  # angular momentum about the world origin [kg m²/s]
    f: Array  # force exerted by the preceding motor [N]
    moment: Array  # moment about the world origin [N m]
    u: Array  # torque about the axis [N m]


def loads_of(motors: Sequence[Motor], motions: Sequence[MotorMotion], gravity: Array) -> list[MotorLoad]:
    """Loads of all motors under gravity only (fig. 10, steps of dynamics).

    The load of the body is the external wrench required by the whole robot.

    Args:
        motors: ordered so that each follows its parent.
        motions: from `motions_of`.
        gravity: [m/s²].
    """
    momenta, needs = [], []
    for motor, motion in zip(motors, motions, strict=True):
        inertia, tip, centre = spatial_inertia(motor, motion), motion.tip, motion.centre.position
        momentum = _times(inertia, tip.v_o, tip.angular)  # eq. 40
        P, L = momentum[:, :3], momentum[:, 3:]
        need = _times(inertia, tip.a_o, tip.angular_acceleration)  # eq. 37
        need[:, :3] += np.cross(tip.angular, P) - motor.mass * gravity
        need[:, 3:] += np.cross(tip.v_o, P) + np.cross(tip.angular, L) - np.cross(centre, motor.mass * gravity)
        momenta.append((P, L))
        needs.append(need)
    for i in range(len(motors) - 1, -1, -1):  # eq. 42
        if motors[i].parent != WORLD:
            needs[motors[i].parent] = needs[motors[i].parent] + needs[i]
    found = []
    for motion, (linear, angular), need in zip(motions, momenta, needs, strict=True):
        f, moment = need[:, :3], need[:, 3:]
        u = np.sum(np.cross(motion.on_axis, motion.axis) * f + motion.axis * moment, axis=1)  # eq. 43
        found.append(MotorLoad(linear, angular, f, moment, u))
    return found


def spatial_inertia(motor: Motor, motion: MotorMotion) -> Array:
    """I^S about the world origin (eq. 38), with the rotated tensor of eq. 46; (N, 6, 6), [linear; angular]."""
    R, c = motion.tip.rotation, hat(motion.centre.position)
    turned = R @ motor.inertia @ np.swapaxes(R, 1, 2)
    found = np.zeros((len(R), 6, 6))
    found[:, :3, :3] = motor.mass * np.eye(3)
    found[:, :3, 3:], found[:, 3:, :3] = -motor.mass * c, motor.mass * c
    found[:, 3:, 3:] = turned - motor.mass * c @ c
    return found


def _times(matrix: Array, linear: Array, angular: Array) -> Array:
    return np.asarray(np.einsum("nij,nj->ni", matrix, np.concatenate([linear, angular], axis=1)))


# --- on the ground --------------------------------------------------------------------------------------------------
def over_feet(
    motors: Sequence[Motor], motions: Sequence[MotorMotion], feet: Sequence[str]
) -> tuple[FrameHistory, dict[str, Array]]:
    """Motion of the body over supporting feet, from motions relative to frame 0.

    The lower foot is the supporting one; with both on the ground the previous one remains fixed until it lifts. The
    first supporting foot is at the world origin.

    Args:
        motors: motors of the robot.
        motions: motions with the body at rest at the origin.
        feet: links with frames on the soles, z upward.

    Returns:
        Motion of frame 0, and for each foot whether it is on the ground, (N,).
    """
    seen = [motions[index_of(motors, foot)].tip for foot in feet]
    heights = np.array([foot.position[:, 2] for foot in seen])
    touches = heights < heights.min(axis=0) + FLAT
    holds = [int(np.argmax(touches[:, 0]))]
    for touching in touches.T[1:]:
        holds.append(holds[-1] if touching[holds[-1]] else int(np.argmax(touching)))
    at = np.eye(4)
    parts: list[FrameHistory] = []
    for start, end in pairwise([0, *(np.flatnonzero(np.diff(holds)) + 1).tolist(), len(holds)]):
        foot = seen[holds[start]]
        if parts:
            at = parts[-1].T[-1] @ foot.T[start - 1]  # pose of this foot at the end of the last part,
            at[2, 3] = 0.0  # which was off the ground by less than FLAT
        parts.append(foot_stands(FrameHistory(*(values[start:end] for values in foot)), at))
    body = FrameHistory(*(np.concatenate(values) for values in zip(*parts, strict=True)))
    return body, dict(zip(feet, touches, strict=True))


def foot_stands(foot: FrameHistory, at: Array) -> FrameHistory:
    """Motion of the body over a fixed foot: T_0 = F T⁻¹, V_0 = -T_0 V T_0⁻¹, A_0 = -T_0 A T_0⁻¹.

    Args:
        foot: motion of the foot relative to frame 0, from `motions_of` with the body at rest at the origin.
        at: pose of the foot in the world, 4x4.
    """
    T = at @ inverse(foot.T)
    back = inverse(T)
    return FrameHistory(T, -T @ foot.V @ back, -T @ foot.A @ back)


def base_states(body: FrameHistory) -> tuple[Array, Array, Array]:
    """q (N, 7), v and a (N, 6) of a floating base for a motion of frame 0."""
    w, wd, v, a = (
        np.einsum("nji,nj->ni", body.rotation, x)  # in axes of the body
        for x in (body.angular, body.angular_acceleration, body.velocity, body.acceleration)
    )
    q = np.concatenate([body.position, np.array([upper_quaternion(r) for r in body.rotation])], axis=1)
    return q, np.concatenate([v, w], axis=1), np.concatenate([a - np.cross(w, v), wd], axis=1)
