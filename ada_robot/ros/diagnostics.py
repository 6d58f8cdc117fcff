# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of the parts of a node on /diagnostics; imports rclpy.

diagnostics = Diagnostics(node, "pa10")
diagnostics.add("physics", lambda: Status(Level.OK, "in time", {"missed periods": 0}))
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from ada_robot.ros.status import Level, Status, value_text

__all__ = ["Diagnostics", "Level", "Status"]

TOPIC = "/diagnostics"
PERIOD = 1.0  # time between reports [s]
Source = Callable[[], Status]


class Diagnostics:
    """Publishes the status of all sources once per period of the steady clock, also while simulated time is paused."""

    def __init__(self, node: Node, hardware_id: str) -> None:
        """Create the publisher and its timer.

        Args:
            node: node whose name starts the name of each report.
            hardware_id: subject of the reports, such as the robot's name.
        """
        self._node, self._hardware_id = node, hardware_id
        self._sources: dict[str, Source] = {}
        self._failed: dict[str, str] = {}
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, 10)
        self._timer = node.create_timer(PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, name: str, source: Source) -> None:
        """Add a source under "NODE: NAME", with the namespace of the node. It is called in the executor's thread.

        Args:
            name: name of the part, unique in the node.
            source: non-blocking function; an exception is reported as an error, and logged once.
        """
        self._sources[name] = source

    def remove(self, name: str) -> None:
        """Remove a source."""
        self._sources.pop(name, None)

    def publish(self) -> None:
        """Publish a report."""
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [self._message(name, self._ask(name, source)) for name, source in list(self._sources.items())]
        self._publisher.publish(message)

    def close(self) -> None:
        """Destroy timer and publisher, as the controller node does at its clean-up."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _ask(self, name: str, source: Source) -> Status:
        try:
            level, text, values = source()
            status = Status(Level(level), text, {key: value_text(value) for key, value in values.items()})
        except Exception as problem:  # one failed report must not suppress the others
            text = f"{type(problem).__name__}: {problem}"
            if self._failed.get(name) != text:
                self._failed[name] = text
                self._node.get_logger().error(f"diagnostics of {name!r} failed:\n{traceback.format_exc()}")
            return Status(Level.ERROR, f"this report failed: {text}")
        self._failed.pop(name, None)
        return status

    def _message(self, name: str, status: Status) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=bytes([status.level]),
            # with the namespace, because several robots may use the same names
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {name}",
            message=status.message,
            hardware_id=self._hardware_id,
            values=[KeyValue(key=key, value=str(value)) for key, value in status.values.items()],
        )
