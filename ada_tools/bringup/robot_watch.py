# SPDX-License-Identifier: Apache-2.0
"""Monitor over DDS whether a robot or sensor publishes, and whether its name is already in use."""

from __future__ import annotations

import os
from contextlib import suppress

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_robot.ros.inbox import decoded
from ada_tools.bringup.processes import Plan

_GLANCE = 0.02  # [s]
# Deep enough to count bursts; best effort never blocks a publisher.
_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)


class RobotWatch:
    """Counts joint states in a separate context while `look` is called; installs no signal handler.

    Attributes:
        others: number of nodes with the same name found by `discover`.
        count: number of received joint states, or wrenches of a sensor.
        first: time of the first message [s], or None.
    """

    def __init__(self, plan: Plan, clock: Clock = SYSTEM_CLOCK) -> None:
        """Create the subscriptions.

        Args:
            plan: the plan whose robot or sensor is monitored.
            clock: clock of `first`.
        """
        self._clock = clock
        self.others = self.count = 0
        self.first: float | None = None
        namespace = plan.values["namespace"] or "/"
        self._robot = plan.plant, namespace
        # Fast DDS remaps shared-memory ports after a peer was killed; deleting a participant at that time locks a mutex
        # in the old mapping and causes SIGSEGV. UDP avoids this for all processes started here.
        os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        # Ignore ROS_NAMESPACE: the namespace of the robot is given by the argument.
        self._node = Node(
            "ada_up",
            context=self._context,
            namespace=namespace,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        # Raw bytes: messages that are only counted need no decoding.
        kind, topic = (WrenchStamped, "wrench") if plan.is_sensor else (JointState, "joint_states")
        # A driver may measure positions only.
        self._counts_all = plan.is_sensor or plan.plant == "loop_state_publisher"
        self._node.create_subscription(kind, topic, self._take, _QOS, raw=True)

    def look(self, seconds: float) -> None:
        """Process messages for a number of seconds."""
        end = self._clock.now() + seconds
        while (left := end - self._clock.now()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def discover(self, seconds: float) -> None:
        """Detect nodes with the same name that already run; call this before starting the robot."""
        end = self._clock.now() + seconds
        while not self.others and self._clock.now() < end:
            self.look(_GLANCE)
            self.others = self.robots
        self.count, self.first = 0, None

    @property
    def robots(self) -> int:
        """Number of nodes with the name of the robot."""
        return int(self._node.get_node_names_and_namespaces().count(self._robot))

    def close(self) -> None:
        """Destroy the node and its context."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _take(self, message: bytes) -> None:
        """Count a message unless it can only be from another robot."""
        if self.first is None and (self.robots <= self.others or not self._is_result(message)):
            return
        self.count += 1
        self.first = self._clock.now() if self.first is None else self.first

    def _is_result(self, message: bytes) -> bool:
        """Return False for messages of other programs, and the initial configuration of a simulation that compiles."""
        with suppress(InputError):
            return self._counts_all or bool(decoded(message, JointState).velocity)
        return False
