# SPDX-License-Identifier: Apache-2.0
"""Counter of the joint states of a robot, or of the wrenches of a sensor, over DDS; imports rclpy."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ada_dynamics.errors import InputError
from ada_robot.ros.inbox import decoded
from ada_tools.bringup.processes import Plan

# Deep enough to count bursts; best effort never blocks a publisher.
_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)


class RobotWatch:
    """Counts messages in a separate context while `look` is called; installs no signal handler.

    Attributes:
        topic: name of the topic.
        count: number of received messages.
    """

    def __init__(self, plan: Plan) -> None:
        """Subscribe to the robot or sensor of a plan."""
        self.count = 0
        # Fast DDS remaps shared-memory ports after a peer was killed; deleting a participant at that time locks a mutex
        # in the old mapping and causes SIGSEGV.
        os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        # Ignore ROS_NAMESPACE: the namespace of the robot is given by the argument.
        self._node = Node(
            "ada_up",
            context=self._context,
            namespace=plan.values["namespace"] or "/",
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        kind, topic = (WrenchStamped, "wrench") if plan.is_sensor else (JointState, "joint_states")
        # A driver may measure positions only; a simulation that compiles publishes these before it moves.
        self._counts_all = plan.is_sensor or plan.plant == "loop_state_publisher"
        # Raw bytes: messages that are only counted need no decoding.
        self.topic = self._node.create_subscription(kind, topic, self._take, _QOS, raw=True).topic_name

    def look(self, seconds: float) -> None:
        """Process messages for a number of seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        """Destroy the node and its context."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _take(self, message: bytes) -> None:
        with suppress(InputError):  # message of another program
            self.count += bool(self.count or self._counts_all or decoded(message, JointState).velocity)
