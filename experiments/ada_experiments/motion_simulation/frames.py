# SPDX-License-Identifier: Apache-2.0
"""Coordinate transforms of the hybrid simulation (Tarao et al., sec. 3.4): relative pose to table, force to robots.

Poses are 4x4 matrices, twists and accelerations [linear, angular], wrenches [f, n].

The document prints no formulas here ("suitable transforms of coordinates"). With tip 1 = the frame of real model 1 (the
probe) and face 2 = that of real model 2 (the plate), both with outward z axes:

    X = (w_T_1)^-1 w_T_2            pose of the face relative to the tip on the simulated robots
    P_d = l_T_1' X (p_T_2')^-1      corresponding pose of the table's plate in the laboratory

where 1' and 2' are the same frames on the probe in the laboratory and on the plate. The measured force acts on real
model 1, and its opposite at the same point on real model 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.model.rotations import conjugate, quaternion_exp, quaternion_log, quaternion_product
from ada_dynamics.spatial.orientation import pose_of, upper_quaternion
from ada_dynamics.spatial.rotation import from_quaternion

LENGTH = 1.0  # [m] link length of the space robots (table 1)
HALF = 0.5  # [m] from the centre of mass of a base to its side


def facing(xyz: ArrayLike, x: ArrayLike, z: ArrayLike) -> Array:
    """Frame at a point with its first and third axis along two orthogonal directions."""
    x, z = (np.asarray(axis, dtype=float) / np.linalg.norm(axis) for axis in (x, z))
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, cross(z, x), z, np.asarray(xyz, dtype=float)
    return pose


def cross(a: ArrayLike, b: ArrayLike) -> Array:
    """Cross product a x b; numpy.cross is ten times slower for single vectors."""
    (x, y, z), (u, v, w) = np.asarray(a, dtype=float).tolist(), np.asarray(b, dtype=float).tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def displaced(pose: Array, way: Array) -> Array:
    """Pose after a displacement [translation, rotation vector] in its reference axes."""
    found = pose.copy()
    found[:3, 3] += way[:3]
    found[:3, :3] = np.array(from_quaternion(*quaternion_exp(way[3:]).tolist())) @ pose[:3, :3]
    return found


def displacement(pose: Array, other: Array) -> Array:
    """[translation, rotation vector] from one pose to another in their common reference axes, (6,)."""
    turn = quaternion_product(upper_quaternion(other[:3, :3]), conjugate(upper_quaternion(pose[:3, :3])))
    return np.concatenate([other[:3, 3] - pose[:3, 3], quaternion_log(turn)])


# --- motions and wrenches -------------------------------------------------------------------------------------------
class FrameMotion(NamedTuple):
    """Motion of a frame, in the axes of its reference frame."""

    pose: Array
    twist: Array  # velocity of its origin, and angular velocity [m/s, rad/s]
    acceleration: Array  # rate of the twist


def seen_from(one: FrameMotion, two: FrameMotion) -> FrameMotion:
    """Motion of frame two relative to the moving frame one."""
    arm, spin = two.pose[:3, 3] - one.pose[:3, 3], one.twist[3:]
    rate, change = two.twist - one.twist, two.acceleration - one.acceleration
    v, across = rate[:3], cross(spin, arm)
    linear = change[:3] - cross(one.acceleration[3:], arm) - 2.0 * cross(spin, v) + cross(spin, across)
    angular = change[3:] - cross(spin, rate[3:])
    back = one.pose[:3, :3].T
    twist = np.concatenate([back @ (v - across), back @ rate[3:]])
    return FrameMotion(inverse(one.pose) @ two.pose, twist, np.concatenate([back @ linear, back @ angular]))


def opposite(tip: Array, face: Array, on_tip: Array) -> tuple[Array, Array]:
    """Wrench on a tip in tip axes as two wrenches in world axes: about the tip, and the opposite one about a face.

    Args:
        tip: pose of the tip in the world.
        face: pose of the face in the world.
        on_tip: wrench on the tip.
    """
    force, moment = tip[:3, :3] @ on_tip[:3], tip[:3, :3] @ on_tip[3:]
    about_face = moment + cross(tip[:3, 3] - face[:3, 3], force)
    return np.concatenate([force, moment]), -np.concatenate([force, about_face])


# --- where things are -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Mounting:
    """Mounting of the two real models on the simulated robots and in the laboratory.

    The document does not specify it; the defaults are assumptions. The probe is the tip of the last link of robot 1,
    the plate is the middle of the facing side of the base of robot 2. In the laboratory the HEXA is mounted overhead
    with its plate level, 0.5 m below its base as in S1, and lowers it onto the probe, which is upright, 0.1 m above the
    sensor.

    Attributes:
        tip_on_robot: real model 1 in the terminal body of robot 1; z outward, towards the other.
        face_on_robot: real model 2 in the base of robot 2; z outward.
        tip_in_lab: real model 1 in the base frame of the table.
        face_on_plate: real model 2 in the plate frame.
        sensor_in_lab: sensor frame in the base frame of the table.
    """

    tip_on_robot: Array = field(default_factory=lambda: facing((LENGTH, 0.0, 0.0), (0, 0, 1), (1, 0, 0)))
    face_on_robot: Array = field(default_factory=lambda: facing((-HALF, 0.0, 0.0), (0, 0, 1), (-1, 0, 0)))
    tip_in_lab: Array = field(default_factory=lambda: facing((0.0, 0.0, -0.51), (1, 0, 0), (0, 0, 1)))
    face_on_plate: Array = field(default_factory=lambda: facing((0.0, 0.0, -0.01), (1, 0, 0), (0, 0, -1)))
    sensor_in_lab: Array = field(default_factory=lambda: pose_of((0.0, 0.0, -0.61)))

    def plate_pose(self, face_from_tip: Array) -> Array:
        """Pose P_d of the plate in the laboratory, from X."""
        return np.asarray(self.tip_in_lab @ face_from_tip @ inverse(self.face_on_plate))

    def face_pose(self, plate: Array) -> Array:
        """X, from the pose of the plate in the laboratory."""
        return np.asarray(inverse(self.tip_in_lab) @ plate @ self.face_on_plate)

    def plate_twist(self, face_from_tip: Array, twist: Array) -> Array:
        """Twist of the plate origin in laboratory axes, from the twist of the face relative to the tip."""
        up = self.tip_in_lab[:3, :3]
        v, w = up @ twist[:3], up @ twist[3:]
        arm = up @ (face_from_tip[:3, :3] @ inverse(self.face_on_plate)[:3, 3])
        return np.concatenate([v + cross(w, arm), w])

    def on_tip(self, measured: Array) -> Array:
        """Wrench on real model 1 about its tip, in tip axes, from the measured wrench."""
        return np.asarray(wrench_matrix(inverse(self.tip_in_lab) @ self.sensor_in_lab) @ measured)
