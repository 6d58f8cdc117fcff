# SPDX-License-Identifier: Apache-2.0
"""/tf of a robot that is measured, from a thread of its own; imports rclpy.

Where a robot has loops its poses take milliseconds: commands do not wait for them.
"""

from __future__ import annotations

from rclpy.node import Node

from ada_dynamics.dynamics import Dynamics
from ada_robot.driver import Feedback
from ada_robot.messages.outgoing import StateMessages
from ada_robot.node.stamps import Stamps
from ada_robot.node.whole_state import StateOfRobot
from ada_robot.ros import qos
from ada_robot.ros.robot_settings import PlaceSettings


class Frames:
    """The links of a robot as frames, on /tf; the package tf2_msgs must be there.

    Attributes:
        whole: the state of the robot with its passive joints; it belongs to the thread that calls `tell`.
        fixed: the frames that stay, which `tell` does not send.
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
        from tf2_msgs.msg import TFMessage

        self.whole = whole
        self._node, self._stamps = node, Stamps.of(node.get_clock())
        self._stamp = -1
        self._messages = StateMessages(
            whole.model, Dynamics(whole.model), world_frame, prefix=place.frame_prefix, base_pose=place.base_pose
        )
        self.fixed = self._messages.static_transforms()
        self._moving = node.create_publisher(TFMessage, "/tf", qos.STATES)

    def warm_up(self, feedback: Feedback) -> None:
        """Compile what will be needed."""
        self.whole.close_loops()
        self._messages.transforms(self.whole.of(feedback), 0)

    def tell(self, feedback: Feedback) -> None:
        """Publish the poses of all links that move."""
        state, stamp = self.whole.of(feedback), self._stamps.at(feedback.time)
        if stamp > self._stamp:  # tf2 complains about a second one of a time
            self._moving.publish(self._messages.transforms(state, stamp))
            self._stamp = stamp

    def close(self) -> None:
        """Take the publisher of /tf away; on the thread that spins the node."""
        self._node.destroy_publisher(self._moving)
