# SPDX-License-Identifier: Apache-2.0
"""Quality of service of our topics, by what they carry; imports rclpy.

A publisher that offers more (reliable, transient local) serves those who ask for less, but not the other way round.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""joint_states, /tf, ~/wrench/<joint>, ~/markers: whatever a subscriber asks for, it is served."""

SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""Streams of which only the newest counts, and every subscription to what others publish: it takes from all of them."""

COMMANDS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""joint_commands and the like, as ros2_control's topic-based hardware publishes them: no queue of old commands."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""robot_description and other values that late subscribers get, too."""

CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""/clock as published; ROS 2's own clocks subscribe to it with best effort."""


def streams(depth: int) -> QoSProfile:
    """As `SENSOR`, for subscribers that do not read each message at once. Args: how many may wait."""
    return QoSProfile(depth=depth, reliability=SENSOR.reliability, durability=SENSOR.durability)
