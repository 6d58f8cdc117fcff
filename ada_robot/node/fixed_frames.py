# SPDX-License-Identifier: Apache-2.0
"""/tf_static of a node, and whether it can send frames at all; imports rclpy."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rclpy.node import Node

from ada_robot.messages.outgoing import FixedTransform
from ada_robot.ros import environment, qos


def can_send_frames(node: Node) -> bool:
    """True if the package of /tf is there; if not, the log says how to get it."""
    if environment.can_send_tf():
        return True
    node.get_logger().warning(
        "no /tf: the package tf2_msgs is missing. Build it: python -m ada_robot.interfaces "
        "(needs a C++ compiler: sudo apt install g++ python3-dev)."
    )
    return False


class FixedFrames:
    """Frames that stay where they are, on /tf_static; the package tf2_msgs must be there.

    All of a node are in one message, so that a subscriber whose queue holds one message has them all.
    """

    def __init__(self, node: Node, rows: Sequence[FixedTransform]) -> None:
        """Publish them, for those who come later, too.

        Args:
            node: whose topic it is.
            rows: the frames.
        """
        from tf2_msgs.msg import TFMessage

        self._node = node
        self._publisher = node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        stamp = node.get_clock().now().to_msg()
        self._publisher.publish(TFMessage(transforms=[transform_message(row, stamp) for row in rows]))

    def close(self) -> None:
        """Take the publisher away; on the thread that spins the node."""
        self._node.destroy_publisher(self._publisher)


def transform_message(row: FixedTransform, stamp: Time) -> TransformStamped:
    """A frame that stays, as a message. Args: the frame, and a time."""
    message = TransformStamped(child_frame_id=row.child)
    message.header.stamp, message.header.frame_id = stamp, row.parent
    message.transform.translation = Vector3(**dict(zip("xyz", row.xyz, strict=True)))
    message.transform.rotation = Quaternion(**dict(zip("xyzw", row.xyzw, strict=True)))
    return message
