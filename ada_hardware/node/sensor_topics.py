# SPDX-License-Identifier: Apache-2.0
"""The topic of one force/torque sensor of the hardware node; imports rclpy.

Only wrenches that may be used are sent: a message cannot say that it is saturated, or that the device calls it wrong.
"""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from ada_dynamics.simulation.record import messages
from ada_hardware.force_torque.sensor import ForceSensor
from ada_robot.node.stamps import Stamps
from ada_robot.ros import qos


class SensorTopics:
    """The wrenches of a sensor, each as soon as it is found.

    Attributes:
        sensor: whose they are.
        sent: messages sent.
        withheld: readings that were not to be used, and were not sent.
        topic: whole name.
    """

    def __init__(self, node: Node, sensor: ForceSensor, topic: str, frame: str) -> None:
        """Create the publisher.

        Args:
            node: whose it is.
            sensor: open.
            topic: of the wrenches.
            frame: that they are in.
        """
        self.sensor = sensor
        self.sent = self.withheld = 0
        self._node, self._stamps = node, Stamps.of(node.get_clock())
        self._publisher = node.create_publisher(WrenchStamped, topic, qos.STATES)
        self.topic: str = self._publisher.topic_name
        self._message = messages.wrench(frame)
        self._number = 0

    def look(self) -> None:
        """Send what is new; in the node's thread."""
        reading = self.sensor.newest
        if reading is None or reading.number == self._number:
            return
        self._number = reading.number
        if not reading.is_valid:
            self.withheld += 1
            return
        self._publisher.publish(self._message.fill_one(self._stamps.at(reading.time), reading.wrench))
        self.sent += 1

    def close(self) -> None:
        """Take the publisher away; on the thread that spins the node."""
        self._node.destroy_publisher(self._publisher)
