# SPDX-License-Identifier: Apache-2.0
"""Quality of service by kind of topic; imports rclpy.

Publishers that offer more (reliable, transient local) also serve subscribers that request less.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""joint_states, /tf, ~/wrench/<joint>, ~/markers: compatible with every subscriber."""

SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""Streams of which only the latest message matters; subscriptions compatible with every publisher."""

COMMANDS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""joint_commands and similar, as published by ros2_control's topic-based hardware: no queue of old commands."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""robot_description and other values that late subscribers receive as well."""

CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""/clock as published; the clocks of ROS 2 subscribe to it with best effort."""


def streams(depth: int) -> QoSProfile:
    """Return `SENSOR` with another depth, for subscribers that poll. Args: capacity of the queue."""
    return QoSProfile(depth=depth, reliability=SENSOR.reliability, durability=SENSOR.durability)
