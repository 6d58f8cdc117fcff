# SPDX-License-Identifier: Apache-2.0
"""Watches over DDS whether a robot or a sensor is published and moves, and whether there is another one of its name."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_robot.ros.decoding import decoded
from ada_robot.ros.qos import LATCHED

_MOVED = 0.02  # [rad, m] more than a servo sags
_GLANCE = 0.02  # [s]
# Deep enough to count bursts in full; best effort blocks no publisher.
_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)


class RobotWatch:
    """Counts joint states in a context of its own, only while `look` is called, without any signal handler.

    Attributes:
        others: robots of that name that were there before, by `look_around`.
        count: joint states seen, or wrenches of a sensor.
        first: when the first one came by the clock [s], or None.
        moved: when a joint had moved, or None.
        devices: state of a node of devices, from its ~/state; empty before the first message.
    """

    def __init__(
        self,
        namespace: str = "",
        robot: str = "dynamics_node",
        joints: str = "joint_states",
        *,
        wrench: str = "",
        reports_devices: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Begin.

        Args:
            namespace: of the robot's node.
            robot: the node's name.
            joints: topic of its joint states.
            wrench: topic of a sensor's wrenches, which are counted instead; "": joint states are.
            reports_devices: whether the node is one of devices, with ~/state.
            clock: of `first` and `moved`.
        """
        self._clock = clock
        self.others = self.count = 0
        self.first: float | None = None
        self.moved: float | None = None
        self.devices: dict[str, Any] = {}
        self._robot = (robot, namespace or "/")
        self._start: Sequence[float] | None = None
        # After a peer was killed, Fast DDS maps a port in shared memory again; a participant that is deleted meanwhile
        # locks a mutex in the old mapping: SIGSEGV. Programs that were started before have shared memory.
        os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        # Namespace from the argument alone: ROS_NAMESPACE must not move it away from the robot.
        self._node = Node(
            "ada_up",
            context=self._context,
            namespace=namespace or "/",
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        # Bytes: messages that are only counted need no decoding.
        if wrench:
            self._node.create_subscription(WrenchStamped, wrench, self._counted, _QOS, raw=True)
        else:
            self._node.create_subscription(JointState, joints, self._seen, _QOS, raw=True)
        if reports_devices:
            self._node.create_subscription(String, f"{robot}/state", self._take_state, LATCHED)

    def look(self, seconds: float) -> None:
        """Process messages for some seconds."""
        end = self._clock.now() + seconds
        while (left := end - self._clock.now()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def look_around(self, seconds: float) -> None:
        """Find robots that are there already: to be called before the watched one begins."""
        end = self._clock.now() + seconds
        while not self.others and self._clock.now() < end:
            self.look(_GLANCE)
            self.others = self.robots
        self.count, self.first, self.moved, self._start = 0, None, None, None

    @property
    def robots(self) -> int:
        """How many nodes of the robot's name there are."""
        return int(self._node.get_node_names_and_namespaces().count(self._robot))

    def close(self) -> None:
        """Leave."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _take_state(self, message: String) -> None:
        with suppress(ValueError, RecursionError):  # another program's text
            said = json.loads(message.data)
            self.devices = said if isinstance(said, dict) else self.devices

    def _counted(self, _: bytes) -> bool:
        """Count a message, if it can be the watched one's."""
        if not self.count and self.robots <= self.others:
            return False  # only another robot's, so far
        self.count += 1
        self.first = self._clock.now() if self.first is None else self.first
        return True

    def _seen(self, message: bytes) -> None:
        if self.moved is not None:
            self._counted(message)
            return
        try:
            state = decoded(message, JointState)
        except InputError:  # another program's messages on that topic
            return
        # without velocities: the start pose of a simulation that is still being compiled
        if not state.velocity or not self._counted(message):
            return
        positions = state.position
        if self._start is None or len(self._start) != len(positions):
            self._start = positions
        elif any(abs(now - then) > _MOVED for now, then in zip(positions, self._start, strict=True)):
            self.moved = self._clock.now()
