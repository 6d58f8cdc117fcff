# SPDX-License-Identifier: Apache-2.0
"""/tf and /tf_static of a node; imports rclpy. All but `can_send_frames` needs the package tf2_msgs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rclpy.node import Node

from ada_dynamics.dynamics import Dynamics
from ada_robot.driver import Feedback
from ada_robot.messages.outgoing import FixedTransform, State, StateMessages
from ada_robot.node.stamps import Stamps
from ada_robot.node.whole_state import StateOfRobot
from ada_robot.ros import environment, qos
from ada_robot.ros.robot_settings import PlaceSettings


def can_send_frames(node: Node) -> bool:
    """True if the package of /tf is there; if not, the log says how to get it."""
    if environment.can_send_tf():
        return True
    node.get_logger().warning(
        "no /tf: the package tf2_msgs is missing. Build it: python -m ada_robot.interfaces "
        "(needs a C++ compiler: sudo apt install g++ python3-dev)."
    )
    return False


def publish_fixed(node: Node, rows: Sequence[FixedTransform]) -> Any:
    """Publish fixed frames on /tf_static, for late subscribers, too; returns the publisher.

    All of a node are in one message, so that a subscriber whose queue holds one message has them all.
    """
    from tf2_msgs.msg import TFMessage

    publisher = node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
    stamp = node.get_clock().now().to_msg()
    publisher.publish(TFMessage(transforms=[_transform_message(row, stamp) for row in rows]))
    return publisher


def _transform_message(row: FixedTransform, stamp: Time) -> TransformStamped:
    message = TransformStamped(child_frame_id=row.child)
    message.header.stamp, message.header.frame_id = stamp, row.parent
    message.transform.translation = Vector3(**dict(zip("xyz", row.xyz, strict=True)))
    message.transform.rotation = Quaternion(**dict(zip("xyzw", row.xyzw, strict=True)))
    return message


class Frames:
    """The links of a robot that move, on /tf.

    Attributes:
        fixed: the frames that stay, which `publish` does not send.
    """

    def __init__(self, node: Node, messages: StateMessages) -> None:
        """Args: whose topic it is; messages of the robot's state, which belong to the thread that calls `publish`."""
        from tf2_msgs.msg import TFMessage

        self._node, self._messages = node, messages
        self._stamp = -1
        self.fixed = messages.static_transforms()
        self._moving = node.create_publisher(TFMessage, "/tf", qos.STATES)

    def publish(self, state: State, stamp: int) -> None:
        """Publish the poses in a state; once for each time, for tf2 complains about a second one [ns]."""
        if stamp != self._stamp:
            self._moving.publish(self._messages.transforms(state, stamp))
        self._stamp = stamp

    def close(self) -> None:
        """Take the publisher away; on the thread that spins the node."""
        self._node.destroy_publisher(self._moving)


class MeasuredFrames(Frames):
    """Frames of a measured robot, from a thread of their own: poses of a robot with loops take milliseconds.

    Attributes:
        whole: the state of the robot with its passive joints; it belongs to that thread.
    """

    def __init__(self, node: Node, whole: StateOfRobot, world_frame: str, place: PlaceSettings) -> None:
        """Prepare.

        Args:
            node: whose topic it is.
            whole: see above.
            world_frame: that the robot stands in.
            place: where that is, and what stands before the names of frames.

        Raises:
            InputError: a link has the name of the world's frame, and is not the root.
        """
        model, prefix = whole.model, place.frame_prefix
        super().__init__(
            node, StateMessages(model, Dynamics(model), world_frame, prefix=prefix, base_pose=place.base_pose)
        )
        self.whole, self._stamps = whole, Stamps.of(node.get_clock())

    def warm_up(self, feedback: Feedback) -> None:
        """Compile what will be needed."""
        self.whole.close_loops()
        self._messages.transforms(self.whole.of(feedback), 0)

    def publish_measured(self, feedback: Feedback) -> None:
        """Publish the poses that a device reports."""
        self.publish(self.whole.of(feedback), self._stamps.at(feedback.time))
