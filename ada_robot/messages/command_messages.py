# SPDX-License-Identifier: Apache-2.0
"""Decoding of messages on joint_commands and joint_trajectory; no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_robot.contract import Command
from ada_robot.trajectory.points import OfferedTrajectory


def stamp_seconds(sec: int, nanosec: int) -> float | None:
    """Return the stamp of a message [s]; None for zero, which means no stamp."""
    return sec + 1e-9 * nanosec if sec or nanosec else None


def command_of(message: Any) -> Command:
    """Convert a sensor_msgs/JointState to a command."""
    stamp = message.header.stamp
    position, velocity, effort = (
        np.array(part) if part else None for part in (message.position, message.velocity, message.effort)
    )
    return Command(message.name, position, velocity, effort, stamp_seconds(stamp.sec, stamp.nanosec))


def offered_trajectory(message: Any, now: int) -> OfferedTrajectory:
    """Convert a trajectory_msgs/JointTrajectory.

    Args:
        message: trajectory message.
        now: present time on the clock of its stamp [ns].
    """
    points, stamp = message.points, message.header.stamp
    is_stamped = stamp_seconds(stamp.sec, stamp.nanosec) is not None
    return OfferedTrajectory(
        list(message.joint_names),
        [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points],
        [point.positions.tolist() for point in points],
        [point.velocities.tolist() for point in points],
        [point.accelerations.tolist() for point in points],
        [point.effort.tolist() for point in points],
        1e-9 * (stamp.sec * 1_000_000_000 + stamp.nanosec - now) if is_stamped else None,
    )
