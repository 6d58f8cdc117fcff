# SPDX-License-Identifier: Apache-2.0
"""Publishers of /tf, /tf_static and robot_description; imports rclpy, and tf2_msgs for the former two only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rclpy.node import Node
from std_msgs.msg import String

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.viewer_topics import description
from ada_robot.driver import Feedback
from ada_robot.messages.outgoing import FixedTransform, State, StateMessages
from ada_robot.node.stamps import Stamps
from ada_robot.node.state_estimation import StateEstimator
from ada_robot.ros import environment, qos
from ada_robot.ros.robot_settings import PlaceSettings


def can_send_frames(node: Node) -> bool:
    """Return True if the package of /tf is installed; otherwise log how to install it."""
    if environment.can_send_tf():
        return True
    node.get_logger().warning(
        f"no /tf: the package tf2_msgs is missing. Build it, and start again: {sys.executable} -m ada_robot.interfaces "
        "(needs a C++ compiler: sudo apt install g++ python3-dev)."
    )
    return False


def publish_fixed(node: Node, rows: Sequence[FixedTransform]) -> Any:
    """Publish constant transforms on /tf_static (transient local); return the publisher.

    All transforms are in one message, for subscribers with a queue of one message.
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
    """Publisher of the transforms of movable links on /tf.

    Attributes:
        fixed: constant transforms, which `publish` does not send.
    """

    def __init__(self, node: Node, messages: StateMessages) -> None:
        """Args: node; encoder of the robot's state, used by the thread that calls `publish`."""
        from tf2_msgs.msg import TFMessage

        self._node, self._messages = node, messages
        self._stamp = -1
        self.fixed = messages.static_transforms()
        self._moving = node.create_publisher(TFMessage, "/tf", qos.STATES)

    def publish(self, state: State, stamp: int) -> None:
        """Publish the transforms of a state, once per stamp [ns], because tf2 warns about duplicates."""
        if stamp != self._stamp:
            self._moving.publish(self._messages.transforms(state, stamp))
        self._stamp = stamp

    def close(self) -> None:
        """Destroy the publisher; to be called by the thread that spins the node."""
        self._node.destroy_publisher(self._moving)


class MeasuredFrames(Frames):
    """Publisher of the transforms of a measured robot, for a separate thread: loop closure takes milliseconds.

    Attributes:
        whole: estimator of the full state, used by that thread.
    """

    def __init__(self, node: Node, whole: StateEstimator, world_frame: str, place: PlaceSettings) -> None:
        """Create the publisher.

        Args:
            node: node of the publisher.
            whole: estimator of the full state.
            world_frame: name of the world frame.
            place: base pose and frame prefix.

        Raises:
            InputError: if a link other than the root has the name of the world frame.
        """
        model, prefix = whole.model, place.frame_prefix
        super().__init__(
            node, StateMessages(model, Dynamics(model), world_frame, prefix=prefix, base_pose=place.base_pose)
        )
        self.whole, self._stamps = whole, Stamps.of(node.get_clock())

    def warm_up(self, feedback: Feedback) -> None:
        """Compile the kinematics."""
        self.whole.close_loops()
        self._messages.transforms(self.whole.of(feedback), 0)

    def publish_measured(self, feedback: Feedback) -> None:
        """Publish the transforms of a feedback."""
        self.publish(self.whole.of(feedback), self._stamps.at(feedback.time))


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
