# SPDX-License-Identifier: Apache-2.0
"""Subscriptions to references; imports rclpy.

Each message is passed to the control thread and accepted or refused as a whole; refusals are counted and logged.
"""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ada_controllers.errors import ReferenceRefused
from ada_controllers.node.control_thread import ControlThread
from ada_controllers.running.control_loop import REFERENCE
from ada_dynamics.errors import AdaError, InputError
from ada_robot.messages.incoming import JOINT_REFERENCE, POSE_REFERENCE, offered_trajectory, read_pose
from ada_robot.ros import qos

JOINT_TRAJECTORY = "joint_trajectory"
_WORLDS = ("world", "map", "odom")  # frames equal to that of a fixed base


class ReferenceInputs:
    """Subscriptions to ~/joint_reference, ~/joint_trajectory and ~/pose_reference."""

    def __init__(self, node: Node, thread: ControlThread, prefix: str = "") -> None:
        """Subscribe.

        Args:
            node: node of the subscriptions.
            thread: control thread.
            prefix: prefix of frame names.
        """
        self._node, self._thread, self._prefix = node, thread, prefix
        self._model = thread.control.controller.model
        self._subscriptions = [
            node.create_subscription(JointState, f"~/{JOINT_REFERENCE}", self._joints, qos.COMMANDS),
            node.create_subscription(JointTrajectory, f"~/{JOINT_TRAJECTORY}", self._trajectory, qos.COMMANDS),
            node.create_subscription(PoseStamped, f"~/{POSE_REFERENCE}", self._pose, qos.COMMANDS),
        ]

    def close(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _joints(self, message: JointState) -> None:
        names, position, velocity = list(message.name), message.position.tolist(), message.velocity.tolist()
        self._offer(JOINT_REFERENCE, lambda: self._thread.following.joints(names, position, velocity))

    def _trajectory(self, message: JointTrajectory) -> None:
        offered = offered_trajectory(message, int(self._node.get_clock().now().nanoseconds))
        self._offer(JOINT_TRAJECTORY, lambda: self._thread.following.trajectory(offered))

    def _pose(self, message: PoseStamped) -> None:
        def offer() -> None:
            try:
                self._check_frame(message.header.frame_id)
                pose = read_pose(message.pose.position, message.pose.orientation)
            except InputError as problem:
                self._thread.control.refuse(REFERENCE, str(problem))
                raise
            self._thread.following.pose(pose)

        self._offer(POSE_REFERENCE, offer)

    def _check_frame(self, frame: str) -> None:
        root = self._model.root
        is_fixed = all(joint.child != root for joint in self._model.joints.values())
        known = [self._prefix + name for name in (root, *(_WORLDS if is_fixed else ()))]
        if frame not in ("", *known):
            raise ReferenceRefused(
                f"the pose is in frame {frame!r}; expected the base frame {known[0]!r} or an empty frame_id."
            )

    def _offer(self, topic: str, offer: Callable[[], None]) -> None:
        refused = self._thread.control.refused
        before = refused[REFERENCE]
        try:
            self._thread.ask(offer)
        except AdaError as problem:
            if refused[REFERENCE] > before:
                return  # counted, and logged by the node
            self._node.get_logger().warning(f"refused on ~/{topic}: {problem}", throttle_duration_sec=1.0)
