# SPDX-License-Identifier: Apache-2.0
"""Decoding of received messages: commands, trajectories, states of the dynamics node, poses; no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_by_quaternion, to_quaternion
from ada_robot.contract import Command
from ada_robot.trajectory.trajectory import OfferedTrajectory

# topics of controllers
TARGET = "target"  # geometry_msgs/PoseStamped: present target pose in the base frame of the robot, if any
JOINT_TARGET = "joint_target"  # sensor_msgs/JointState: present target positions, if any
POSE_REFERENCE = "pose_reference"  # geometry_msgs/PoseStamped
JOINT_REFERENCE = "joint_reference"  # sensor_msgs/JointState
LABELS = ("t", "q", "v", "tau")
_UNIT = 1e-2  # tolerance of the norm of quaternions


def command_of(message: Any) -> Command:
    """Convert a sensor_msgs/JointState to a command; a stamp of zero means none."""
    stamp = message.header.stamp
    seconds = stamp.sec + 1e-9 * stamp.nanosec
    position, velocity, effort = (
        np.array(part) if part else None for part in (message.position, message.velocity, message.effort)
    )
    return Command(message.name, position, velocity, effort, seconds or None)


def offered_trajectory(message: Any, now: int) -> OfferedTrajectory:
    """Convert a trajectory_msgs/JointTrajectory.

    Args:
        message: trajectory message.
        now: present time on the clock of its stamp [ns].
    """
    points, stamp = message.points, message.header.stamp
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points]
    fields = ("positions", "velocities", "accelerations", "effort")
    positions, velocities, accelerations, efforts = ([getattr(p, field).tolist() for p in points] for field in fields)
    start_in = 1e-9 * (stamp.sec * 1_000_000_000 + stamp.nanosec - now) if stamp.sec or stamp.nanosec else None
    return OfferedTrajectory(list(message.joint_names), times, positions, velocities, accelerations, efforts, start_in)


class StateNumbers(NamedTuple):
    """State of a model."""

    t: float  # [s]; on the steady clock for devices
    q: Array
    v: Array
    tau: Array  # motor efforts


def read_state(labels: Sequence[str], sizes: Sequence[int], data: ArrayLike) -> StateNumbers:
    """Split the data of a message.

    Args:
        labels: labels of the dimensions.
        sizes: sizes of the dimensions.
        data: all values.

    Raises:
        InputError: if the dimensions are wrong, or a value is not finite.
    """
    if tuple(labels) != LABELS or sizes[0] != 1 or min(sizes) < 0:
        shown = ", ".join(f"{label}: {size}" for label, size in zip(labels, sizes, strict=False))
        raise InputError(f"its dimensions are ({shown}); they must be {', '.join(LABELS)}, with size 1 of t.")
    numbers = np.array(data, dtype=np.float64)
    if len(numbers) != sum(sizes):
        raise InputError(f"it has {len(numbers)} values, but its dimensions have {sum(sizes)}.")
    if not np.isfinite(numbers).all():
        raise InputError(f"{int(np.sum(~np.isfinite(numbers)))} of its {len(numbers)} values are not finite.")
    t, q, v, tau = np.split(numbers, np.cumsum(sizes)[:-1])
    return StateNumbers(float(t[0]), q, v, tau)


def matrix_of(place: Any, rotation: Any) -> Array:
    """Return a 4x4 pose; identity if a value is not finite or the quaternion is zero.

    Args:
        place: position with x, y, z.
        rotation: quaternion with x, y, z, w, of any norm.
    """
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    norm = float(np.linalg.norm(quaternion))
    xyz = (place.x, place.y, place.z)
    if not np.isfinite([*xyz, norm]).all() or norm == 0.0:
        return np.eye(4)
    return pose_by_quaternion(xyz, quaternion / norm)


def read_pose(place: Any, rotation: Any) -> Array:
    """Return a checked 4x4 pose. Args: position with x, y, z; quaternion with x, y, z, w, of about unit norm.

    Raises:
        InputError: if a value is not finite, or the norm of the quaternion is not 1.
    """
    numbers = [place.x, place.y, place.z, rotation.x, rotation.y, rotation.z, rotation.w]
    norm = float(np.linalg.norm(numbers[3:]))
    if not np.isfinite(numbers).all() or abs(norm - 1.0) > _UNIT:
        raise InputError(
            f"its position is {numbers[:3]} and its quaternion {numbers[3:]}; all values must be finite, and the norm "
            "of the quaternion must be 1."
        )
    return matrix_of(place, rotation)


def write_pose(pose: Array, place: Any, rotation: Any) -> None:
    """Write a 4x4 pose to a message; arguments as in `read_pose`."""
    place.x, place.y, place.z = (float(x) for x in pose[:3, 3])
    rotation.w, rotation.x, rotation.y, rotation.z = to_quaternion(pose[:3, :3])
