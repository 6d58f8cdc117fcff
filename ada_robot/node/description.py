# SPDX-License-Identifier: Apache-2.0
"""Publisher of robot_description; imports rclpy."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.viewer_topics import description
from ada_robot.ros import qos


def publish_description(node: Node, model: Model, topic: str) -> Any:
    """Publish a robot description (transient local); return the publisher, or None if URDF cannot express the model."""
    text = description(model)
    if text is None:
        node.get_logger().warning(
            f"URDF cannot express {model.name!r}: no robot_description, viewers show frames only."
        )
        return None
    publisher = node.create_publisher(String, topic, qos.LATCHED)
    publisher.publish(String(data=text))
    return publisher
