# SPDX-License-Identifier: Apache-2.0
"""Target node: sends an initial target from parameters, and targets dragged in RViz; imports rclpy.

    python -m ada_tools.nodes.target_node --ros-args -p joints:="[joint_1]" -p positions:="[0.0]"

Unless it is dragged, the interactive marker shows the target of the controller, so that rejected targets are reset.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Pose, PoseStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import InteractiveMarkerFeedback

from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.messages.incoming import (
    JOINT_REFERENCE,
    JOINT_TARGET,
    POSE_REFERENCE,
    TARGET,
    differ,
    read_pose,
    write_pose,
)
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.qos import COMMANDS, streams
from ada_robot.ros.run_node import run_node
from ada_tools.nodes.settings import TargetSettings
from ada_tools.nodes.target_marker import TargetMarker

_ROUND = 0.05  # [s] polling period of the controller target
_GONE = 1.0  # [s] without a target, after which the marker is removed
_SETTLED = 0.5  # [s] time for a controller to accept a dragged target
_SAME = 1e-4  # [m, rad] smaller changes are not sent
_STREAM = streams(50)


class TargetNode(Node):
    """Sends an initial target, displays the present one, and sends dragged targets.

    Attributes:
        refused: number of rejected feedback messages.
    """

    def __init__(self, **options: Any) -> None:
        """Subscribe to the target of the controller.

        Args:
            options: options of `rclpy.node.Node`, such as context.

        Raises:
            InputError: invalid parameter.
        """
        super().__init__("target_node", **options)
        self._settings = settings = Parameters(self, TargetSettings).value
        refuse_unknown_overrides(self)
        controller = settings.controller
        self.refused = 0
        self._is_sent = not (settings.joints or settings.pose)
        self._seen: float | None = None  # time of the last target, steady clock
        self._target: PoseStamped | None = None
        self._kept_until = 0.0  # the marker keeps the dragged pose until this time
        self._marker = TargetMarker(self, f"target of {controller}", settings.scale, self._feedback)
        self._poses = Inbox(self, PoseStamped, f"{controller}/{TARGET}", _STREAM)
        self._joints = Inbox(self, JointState, f"{controller}/{JOINT_TARGET}", _STREAM)
        self._pose_references = self.create_publisher(PoseStamped, f"{controller}/{POSE_REFERENCE}", COMMANDS)
        self._joint_references = self.create_publisher(JointState, f"{controller}/{JOINT_REFERENCE}", COMMANDS)
        self.create_timer(_ROUND, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # --- present target ---------------------------------------------------------------------------------------------
    def _look(self) -> None:
        now = time.monotonic()
        poses, joints = self._poses.fetch(), self._joints.fetch()
        if not self._is_sent and (poses or joints):
            self._send_first(poses[-1].header.frame_id if poses else "")
        if poses:
            self._seen, self._target = now, poses[-1]
            shown, frame, pose = self._marker.shown, poses[-1].header.frame_id, poses[-1].pose
            # A dragged marker stays where it is until the controller has accepted or rejected it.
            is_free = now > self._kept_until
            if shown is None or shown.header.frame_id != frame or (is_free and differ(shown.pose, pose) > _SAME):
                self._marker.move(frame, pose)
        elif self._seen is not None and now - self._seen > _GONE:
            self._seen = self._target = None
            self._marker.erase()

    # --- new targets ------------------------------------------------------------------------------------------------
    def _send_first(self, frame: str) -> None:
        """Send the initial target once the controller is active and subscribed."""
        settings = self._settings
        publisher = self._joint_references if settings.joints else self._pose_references
        if not publisher.get_subscription_count():
            return
        self._is_sent = True
        if settings.joints:
            publisher.publish(JointState(name=list(settings.joints), position=list(settings.positions)))
        if settings.pose:
            pose = Pose()
            write_pose(pose_of(settings.pose[:3], settings.pose[3:]), pose.position, pose.orientation)
            self._send(frame, pose)

    def _send(self, frame: str, pose: Pose) -> None:
        message = PoseStamped(pose=pose)
        message.header.frame_id = frame  # empty stamp: valid from arrival
        self._pose_references.publish(message)

    def _feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        """Handle a drag of the marker."""
        self._kept_until = time.monotonic() + _SETTLED
        if feedback.event_type != InteractiveMarkerFeedback.POSE_UPDATE or self._target is None:
            return
        frame, pose = self._target.header.frame_id, feedback.pose
        try:
            read_pose(pose.position, pose.orientation)
            if feedback.header.frame_id not in ("", frame):
                raise InputError(f"its frame is {feedback.header.frame_id!r}, the frame of the target is {frame!r}.")
        except InputError as problem:
            self.refused += 1
            self.get_logger().warning(f"marker pose ignored: {problem}", throttle_duration_sec=5.0)
            return
        self._marker.move(frame, pose)
        self._send(frame, pose)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(TargetNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
