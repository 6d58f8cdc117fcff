# SPDX-License-Identifier: Apache-2.0
"""Topic of one force/torque sensor of the hardware node; imports rclpy.

Only valid wrenches are sent, since the message has no field for saturation or device errors.
"""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from ada_dynamics.simulation.record import messages
from ada_hardware.force_torque.sensor import ForceSensor
from ada_robot.ros import qos
from ada_robot.timing.deadlines import Stamps


class SensorTopics:
    """Publishes the wrenches of a sensor.

    Attributes:
        sensor: the sensor.
        sent: number of messages sent.
        withheld: number of invalid readings, which were not sent.
        topic: full name of the topic.
    """

    def __init__(self, node: Node, sensor: ForceSensor, topic: str, frame: str) -> None:
        """Create the publisher.

        Args:
            node: node of the publisher.
            sensor: open sensor.
            topic: name of the topic.
            frame: frame of the wrenches.
        """
        self.sensor = sensor
        self.sent = self.withheld = 0
        self._node, self._stamps = node, Stamps.of(node.get_clock())
        self._publisher = node.create_publisher(WrenchStamped, topic, qos.STATES)
        self.topic: str = self._publisher.topic_name
        self._message = messages.wrench(frame)
        self._number = 0

    def look(self) -> None:
        """Publish a new reading; called in the node's thread."""
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
        """Remove the publisher; call it on the thread that spins the node."""
        self._node.destroy_publisher(self._publisher)
