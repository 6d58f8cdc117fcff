# SPDX-License-Identifier: Apache-2.0
"""Robot description received on the topic robot_description, with a timeout; imports rclpy."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_msgs.msg import String

from ada_dynamics.errors import InputError
from ada_robot.ros import qos

TOPIC = "robot_description"


class AwaitedDescription:
    """Calls a function for each received description.

    Attributes:
        topic: full topic name.
    """

    def __init__(
        self, node: Node, timeout: float, take: Callable[[str], None], give_up: Callable[[InputError], None]
    ) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            timeout: timeout of the first description [s]; 0 for none.
            take: called with each description.
            give_up: called once with the error if none is received in time.
        """
        self._node, self._timeout, self._take, self._give_up = node, timeout, take, give_up
        self._subscription = node.create_subscription(String, TOPIC, self._hear, qos.LATCHED)
        self.topic = self._subscription.topic_name
        self._timer = None
        if timeout:
            self._timer = node.create_timer(timeout, self._despair, clock=Clock(clock_type=ClockType.STEADY_TIME))
        node.get_logger().info(f"waiting for a robot description on {self.topic}")

    def close(self) -> None:
        """Unsubscribe."""
        self._stop_waiting()
        self._node.destroy_subscription(self._subscription)

    def _hear(self, message: String) -> None:
        self._stop_waiting()
        self._take(message.data)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _despair(self) -> None:
        self._stop_waiting()
        named = "name a robot: -p robot:=pa10 (names: ada list), " if self._node.has_parameter("robot") else ""
        self._give_up(
            InputError(
                f"no robot description received on {self.topic} within {self._timeout:g} s. Start its publisher in "
                f"the same namespace, {named}or wait longer: -p description_timeout:=60.0 (0.0: for ever)."
            )
        )
