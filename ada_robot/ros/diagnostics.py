# SPDX-License-Identifier: Apache-2.0
"""Publishes the health of a node's parts on /diagnostics; imports rclpy.

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

from ada_dynamics.errors import InputError
from ada_robot.ros.status import Level, Status, value_text

__all__ = ["Diagnostics", "Level", "Status"]

TOPIC = "/diagnostics"
PERIOD = 1.0  # [s] between reports
Source = Callable[[], Status]


class Diagnostics:
    """Asks all sources once a period of the steady clock, so that it goes on when simulated time stands still.

    Attributes:
        level: the worst level of the last report; STALE before the first, OK without sources.
    """

    def __init__(self, node: Node, hardware_id: str) -> None:
        """Start to report.

        Args:
            node: whose name stands before each report's.
            hardware_id: what the reports are about, such as the robot's name.
        """
        self.level = Level.STALE
        self._node = node
        self._hardware_id = hardware_id
        self._sources: dict[str, Source] = {}
        self._failed: dict[str, str] = {}
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, 10)
        self._timer = node.create_timer(PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, name: str, source: Source) -> None:
        """Report what a source says, in the executor's thread, under "NODE: NAME", with the node's namespace.

        Args:
            name: of the part, once per node.
            source: returns at once. What it raises is reported as an error, and logged once.
        """
        if name in self._sources:
            raise InputError(f"diagnostics of {self._node.get_name()} have a source {name!r} already.")
        self._sources[name] = source

    def remove(self, name: str) -> None:
        """Report no more on a part that has gone."""
        self._sources.pop(name, None)

    def publish(self) -> None:
        """Report now: the timer calls it, and others where something has just gone wrong."""
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        worst = Level.OK
        for name, source in list(self._sources.items()):
            status = self._ask(name, source)
            worst = max(worst, status.level)
            message.status.append(self._message(name, status))
        self.level = worst
        self._publisher.publish(message)

    def close(self) -> None:
        """Report no more."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _ask(self, name: str, source: Source) -> Status:
        try:
            level, text, values = source()
            status = Status(Level(level), text, {key: value_text(value) for key, value in values.items()})
        except Exception as problem:  # the report of one part must not silence the others
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
            # with its namespace: in a graph of many robots all other words may be the same
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {name}",
            message=status.message,
            hardware_id=self._hardware_id,
            values=[KeyValue(key=key, value=str(value)) for key, value in status.values.items()],
        )
