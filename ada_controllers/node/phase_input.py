# SPDX-License-Identifier: Apache-2.0
"""Phase of a real robot, as the hardware node that drives it reports it; imports rclpy.

Of the robot whose states the controller takes. Until a hardware node reports it, the robot counts as active: a
simulated one always follows commands.
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
    """HARDWARE/state."""

    def __init__(self, node: Node, hardware: str, states: str, take: Callable[[RobotPhase], None]) -> None:
        """Subscribe.

        Args:
            node: whose subscription it is.
            hardware: name of the hardware node.
            states: whole name of the topic that the robot's states come from.
            take: called with the robot's phase whenever it has changed.
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
            return None  # the node drives other robots
        return RobotPhase(CLOSED, said.problem)
