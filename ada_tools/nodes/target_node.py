# SPDX-License-Identifier: Apache-2.0
"""Target node: sends the initial target of a controller once the controller is active; imports rclpy.

python -m ada_tools.nodes.target_node --ros-args -p joints:="[joint_1]" -p positions:="[0.0]"
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.spatial.orientation import pose_of
from ada_robot.messages.incoming import JOINT_REFERENCE, JOINT_TARGET, POSE_REFERENCE, TARGET, write_pose
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.qos import COMMANDS, streams
from ada_robot.ros.run_node import run_node
from ada_tools.nodes.settings import TargetSettings

_STREAM = streams(1)


class TargetNode(Node):
    """Sends the initial target when the controller publishes its present one, which shows that it is active."""

    def __init__(self, **options: Any) -> None:
        """Subscribe to the target of the controller.

        Raises:
            InputError: invalid parameter.
        """
        super().__init__("target_node", **options)
        self._settings = settings = Parameters(self, TargetSettings).value
        refuse_unknown_overrides(self)
        controller = settings.controller
        self._is_sent = not (settings.joints or settings.pose)
        self._pose_references = self.create_publisher(PoseStamped, f"{controller}/{POSE_REFERENCE}", COMMANDS)
        self._joint_references = self.create_publisher(JointState, f"{controller}/{JOINT_REFERENCE}", COMMANDS)
        self.create_subscription(PoseStamped, f"{controller}/{TARGET}", self._send, _STREAM)
        self.create_subscription(JointState, f"{controller}/{JOINT_TARGET}", self._send, _STREAM)

    def _send(self, present: PoseStamped | JointState) -> None:
        settings = self._settings
        publisher = self._joint_references if settings.joints else self._pose_references
        if self._is_sent or not publisher.get_subscription_count():
            return
        self._is_sent = True
        if settings.joints:
            publisher.publish(JointState(name=list(settings.joints), position=list(settings.positions)))
        if settings.pose:
            message = PoseStamped()  # empty stamp: valid from arrival
            if isinstance(present, PoseStamped):
                message.header.frame_id = present.header.frame_id
            pose = pose_of(settings.pose[:3], settings.pose[3:])
            write_pose(pose, message.pose.position, message.pose.orientation)
            self._pose_references.publish(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(TargetNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
