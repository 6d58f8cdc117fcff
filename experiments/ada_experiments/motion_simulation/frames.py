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

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import compiled_kernel
from ada_dynamics.model.rotations import conjugate, quaternion_exp, quaternion_log, quaternion_product
from ada_dynamics.spatial.orientation import pose_by_quaternion, pose_of, to_quaternion
from ada_dynamics.spatial.rotation import from_quaternion
from ada_experiments.motion_simulation import frames_law

LENGTH = 1.0  # [m] link length of the space robots (table 1)
HALF = 0.5  # [m] from the centre of mass of a base to its side


def facing(xyz: ArrayLike, x: ArrayLike, z: ArrayLike) -> Array:
    """Frame at a point with its first and third axis along two orthogonal directions."""
    x, z = (np.asarray(axis, dtype=float) / np.linalg.norm(axis) for axis in (x, z))
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, cross(z, x), z, np.asarray(xyz, dtype=float)
    return pose


def inverse(pose: Array) -> Array:
    """Inverse of a pose."""
    found: Array = _law("inverse")(_flat(pose)).reshape(4, 4)
    return found


def cross(a: ArrayLike, b: ArrayLike) -> Array:
    """Cross product a x b; numpy.cross is ten times slower for single vectors."""
    (x, y, z), (u, v, w) = np.asarray(a, dtype=float).tolist(), np.asarray(b, dtype=float).tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


# --- poses as seven numbers: what packets carry ---------------------------------------------------------------------
def to_seven(pose: Array) -> Array:
    """[x, y, z, qx, qy, qz, qw] of a pose."""
    w, x, y, z = to_quaternion(pose[:3, :3])
    return np.array([*pose[:3, 3], x, y, z, w])


def of_seven(seven: Array) -> Array:
    """Pose from [x, y, z, qx, qy, qz, qw], with a normalized quaternion."""
    return pose_by_quaternion(seven[:3], seven[3:])


def rotation_of(vector: Array) -> Array:
    """Rotation matrix of a rotation vector."""
    return np.array(from_quaternion(*quaternion_exp(vector).tolist()))


def turn_between(a: Array, b: Array) -> Array:
    """Rotation vector from the orientation of one pose to that of another, in their common reference axes."""
    p, q = to_seven(a)[3:], to_seven(b)[3:]
    return quaternion_log(quaternion_product(q, conjugate(p)))


# --- motions and wrenches -------------------------------------------------------------------------------------------
class Motion(NamedTuple):
    """Motion of a frame, in the axes of its reference frame.

    Attributes:
        pose: 4x4.
        twist: velocity of its origin, and angular velocity [m/s, rad/s].
        acceleration: rate of the twist.
    """

    pose: Array
    twist: Array
    acceleration: Array


def carried(body: Motion, fixed: Array) -> Motion:
    """Motion of a frame fixed to a body.

    Args:
        body: motion of the body frame in the world.
        fixed: pose of the frame in the body.
    """
    pose, twist, acceleration = _law("carried")(_flat(body.pose), body.twist, body.acceleration, _flat(fixed))
    return Motion(pose.reshape(4, 4), twist, acceleration)


def seen_from(one: Motion, two: Motion) -> Motion:
    """Motion of frame two relative to the moving frame one."""
    pose, twist, acceleration = _law("seen")(
        _flat(one.pose), one.twist, one.acceleration, _flat(two.pose), two.twist, two.acceleration
    )
    return Motion(pose.reshape(4, 4), twist, acceleration)


def wrench_in(pose: Array, wrench: Array) -> Array:
    """Wrench about a frame origin in its axes, transformed to the reference frame of its pose."""
    found: Array = _law("wrench")(_flat(pose), np.asarray(wrench, dtype=np.float64))
    return found


def opposite(tip: Array, face: Array, on_tip: Array) -> tuple[Array, Array]:
    """Wrench on a tip in tip axes as two wrenches in world axes: about the tip, and the opposite one about a face.

    Args:
        tip: pose of the tip in the world.
        face: pose of the face in the world.
        on_tip: wrench on the tip.
    """
    first, second = _law("opposite")(_flat(tip), _flat(face), np.asarray(on_tip, dtype=np.float64))
    return first, second


_LAWS: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, int]]] = {
    "inverse": (frames_law.inverse_law, {"pose": 16}),
    "carried": (frames_law.carried_law, {"pose": 16, "twist": 6, "acceleration": 6, "fixed": 16}),
    "seen": (
        frames_law.seen_law,
        {"pose_1": 16, "twist_1": 6, "acceleration_1": 6, "pose_2": 16, "twist_2": 6, "acceleration_2": 6},
    ),
    "wrench": (frames_law.wrench_law, {"pose": 16, "wrench": 6}),
    "opposite": (frames_law.opposite_law, {"tip": 16, "face": 16, "on_tip": 6}),
}


@cache
def _law(name: str) -> Callable[..., Any]:
    """Compiled function of `frames_law`, cached."""
    law, inputs = _LAWS[name]
    kernel = compiled_kernel(f"motion_simulation_{name}", inputs, law)
    return kernel.python_call(kernel.single)


def _flat(pose: Array) -> Array:
    return np.ascontiguousarray(pose, dtype=np.float64).reshape(16)


# --- where things are -----------------------------------------------------------------------------------------------
def _tip_on_robot() -> Array:
    return facing((LENGTH, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def _face_on_robot() -> Array:
    return facing((-HALF, 0.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0))


def _tip_in_lab() -> Array:
    return facing((0.0, 0.0, -0.51), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def _face_on_plate() -> Array:
    return facing((0.0, 0.0, -0.01), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))


def _sensor_in_lab() -> Array:
    return pose_of((0.0, 0.0, -0.61))


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

    tip_on_robot: Array = field(default_factory=_tip_on_robot)
    face_on_robot: Array = field(default_factory=_face_on_robot)
    tip_in_lab: Array = field(default_factory=_tip_in_lab)
    face_on_plate: Array = field(default_factory=_face_on_plate)
    sensor_in_lab: Array = field(default_factory=_sensor_in_lab)

    def __post_init__(self) -> None:
        """Check that all fields are poses."""
        for name in ("tip_on_robot", "face_on_robot", "tip_in_lab", "face_on_plate", "sensor_in_lab"):
            object.__setattr__(self, name, checked_pose(f"mounting: {name}", getattr(self, name)))

    @cached_property
    def _plate_from_face(self) -> Array:
        return inverse(self.face_on_plate)

    @cached_property
    def _tip_from_lab(self) -> Array:
        return inverse(self.tip_in_lab)

    @cached_property
    def _sensor_from_tip(self) -> Array:
        return np.asarray(self._tip_from_lab @ self.sensor_in_lab)

    @cached_property
    def _tip_from_sensor(self) -> Array:
        return inverse(self._sensor_from_tip)

    def plate_pose(self, face_from_tip: Array) -> Array:
        """Pose P_d of the plate in the laboratory, from X."""
        return np.asarray(self.tip_in_lab @ face_from_tip @ self._plate_from_face)

    def face_pose(self, plate: Array) -> Array:
        """X, from the pose of the plate in the laboratory."""
        return np.asarray(self._tip_from_lab @ plate @ self.face_on_plate)

    def plate_twist(self, face_from_tip: Array, twist: Array) -> Array:
        """Twist of the plate origin in laboratory axes, from the twist of the face relative to the tip."""
        up = self.tip_in_lab[:3, :3]
        v, w = up @ twist[:3], up @ twist[3:]
        arm = up @ (face_from_tip[:3, :3] @ self._plate_from_face[:3, 3])
        return np.concatenate([v + cross(w, arm), w])

    def on_tip(self, measured: Array) -> Array:
        """Wrench on real model 1 about its tip, in tip axes, from the measured wrench."""
        return wrench_in(self._sensor_from_tip, measured)

    def at_sensor(self, on_tip: Array) -> Array:
        """Wrench at the sensor from a wrench on the tip; inverse of `on_tip`."""
        return wrench_in(self._tip_from_sensor, on_tip)


def checked_pose(what: str, value: ArrayLike) -> Array:
    """Validated pose.

    Raises:
        InputError: not a pose.
    """
    pose = np.asarray(value, dtype=np.float64)
    if pose.shape != (4, 4) or not np.isfinite(pose).all() or np.abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() > 0.0:
        raise InputError(f"{what} is {value!r:.120}; it must be a 4x4 pose with the last row 0 0 0 1.", field=what)
    R = pose[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0:
        raise InputError(f"{what}: its upper left 3x3 block is not a rotation matrix.", field=what)
    return pose
