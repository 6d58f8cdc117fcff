# SPDX-License-Identifier: Apache-2.0
"""The topic robot_description of a robot's model; imports rclpy."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.viewer_topics import description
from ada_robot.ros import qos


def publish_description(node: Node, model: Model, topic: str) -> Any:
    """Publish a robot's description, for late subscribers, too; the publisher, or None where no URDF can express it."""
    text = description(model)
    if text is None:
        node.get_logger().warning(
            f"no URDF can say what {model.name!r} is: no robot_description, viewers show frames only."
        )
        return None
    publisher = node.create_publisher(String, topic, qos.LATCHED)
    publisher.publish(String(data=text))
    return publisher
