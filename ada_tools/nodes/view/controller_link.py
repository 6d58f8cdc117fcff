# SPDX-License-Identifier: Apache-2.0
"""Connection of a browser page to a controller over ROS 2 topics; imports rclpy."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TypeVar

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.errors import InputError
from ada_robot.messages.incoming import JOINT_REFERENCE, JOINT_TARGET, POSE_REFERENCE, TARGET, read_pose, write_pose
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.qos import COMMANDS, streams
from ada_tools.browser.robot_node import TargetPose
from ada_tools.nodes.view.command_publishers import joint_message, send_to_listener

T = TypeVar("T")

_FRESH = 1.0  # [s] maximum age of a target
_LOOKED = 0.5  # [s] period of graph queries
_STREAM = streams(100)


class ControllerLink:
    """Topics between a page and a controller; implements `Follower`.

    Attributes:
        name: name of the controller node.
        link: controlled link; "" if unknown.
    """

    def __init__(self, node: Node, controller: str, link: str, prefix: str = "") -> None:
        """Subscribe.

        Args:
            node: view node.
            controller: name of the controller node.
            link: controlled link.
            prefix: frame prefix of the robot.
        """
        self.name, self.link, self._prefix = controller, link, prefix
        self._poses = Inbox(node, PoseStamped, f"{controller}/{TARGET}", _STREAM)
        self._joints = Inbox(node, JointState, f"{controller}/{JOINT_TARGET}", _STREAM)
        self._pose: tuple[float, TargetPose] | None = None
        self._positions: tuple[float, dict[str, float]] | None = None
        self._pose_references = node.create_publisher(PoseStamped, f"{controller}/{POSE_REFERENCE}", COMMANDS)
        self._joint_references = node.create_publisher(JointState, f"{controller}/{JOINT_REFERENCE}", COMMANDS)
        self._is_there, self._looked = False, -math.inf

    # --- on the page's thread ---------------------------------------------------------------------------------------
    @property
    def is_there(self) -> bool:
        """Return True if references have a subscriber."""
        now = time.monotonic()
        if now - self._looked > _LOOKED:
            self._looked = now
            publishers = self._pose_references, self._joint_references
            self._is_there = any(one.get_subscription_count() for one in publishers)
        return self._is_there

    def target_pose(self) -> TargetPose | None:
        """Target pose of the controller."""
        if messages := self._poses.fetch():
            newest = messages[-1]
            try:
                pose = read_pose(newest.pose.position, newest.pose.orientation)
            except InputError:
                self._pose = None
            else:
                self._pose = time.monotonic(), TargetPose(newest.header.frame_id.removeprefix(self._prefix), pose)
        return _fresh(self._pose)

    def target_joints(self) -> Mapping[str, float] | None:
        """Target joint positions of the controller."""
        if messages := self._joints.fetch():
            newest = messages[-1]
            values = zip(newest.name, newest.position, strict=False)
            self._positions = time.monotonic(), {name: value for name, value in values if math.isfinite(value)}
        return _fresh(self._positions)

    def follow_pose(self, target: TargetPose) -> None:
        """Send a target pose with an empty stamp: valid from arrival, independent of the clock of the controller."""
        message = PoseStamped()
        message.header.frame_id = self._prefix + target.frame
        write_pose(target.pose, message.pose.position, message.pose.orientation)
        send_to_listener(self._pose_references, message, self.name)

    def follow_joints(self, positions: Mapping[str, float]) -> None:
        """Send target positions."""
        send_to_listener(self._joint_references, joint_message(positions), self.name)


def _fresh(newest: tuple[float, T] | None) -> T | None:
    """Value if its time is recent, else None."""
    return newest[1] if newest is not None and time.monotonic() - newest[0] < _FRESH else None
