# SPDX-License-Identifier: Apache-2.0
"""Subscription to the phase of a real robot, reported by its hardware node; imports rclpy.

Without a report for the robot that publishes the states, it counts as active, like a simulated robot.
"""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from ada_controllers.running.robot_phase import RobotPhase
from ada_dynamics.errors import InputError
from ada_robot.node_state import CLOSED, HardwareState, read_hardware_state
from ada_robot.ros import qos


class PhaseInput:
    """Subscription to HARDWARE/state."""

    def __init__(self, node: Node, hardware: str, states: str, take: Callable[[RobotPhase], None]) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            hardware: name of the hardware node.
            states: full name of the topic of the robot's states.
            take: called with each new phase of the robot.
        """
        self._node, self._states, self._take = node, states, take
        self._reported: RobotPhase | None = None
        self._subscription = node.create_subscription(String, f"{hardware}/state", self._hear, qos.LATCHED)

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)

    def _hear(self, message: String) -> None:
        try:
            phase = self._phase(read_hardware_state(message.data))
        except InputError as problem:
            self._node.get_logger().warning(f"{self._subscription.topic_name}: {problem}", throttle_duration_sec=5.0)
            return
        if phase is not None and phase != self._reported:
            self._reported = phase
            self._take(phase)

    def _phase(self, said: HardwareState) -> RobotPhase | None:
        for device in said.devices.values():
            if device.is_robot and device.topics.get("states") == self._states:
                return RobotPhase(device.phase, said.stopped or device.reason)
        if self._reported is None:
            return None  # the hardware node drives other robots
        return RobotPhase(CLOSED, said.problem)
