# SPDX-License-Identifier: Apache-2.0
"""Decoding of messages on joint_commands; no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_robot.contract import Command


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
