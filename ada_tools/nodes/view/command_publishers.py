# SPDX-License-Identifier: Apache-2.0
"""Publishers of joint commands, each there only while there are commands: two for a robot would be a mistake."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.errors import InputError
from ada_robot.ros.qos import COMMANDS

_KEPT = 2.0  # [s] that a publisher stays after the last command


def joint_message(positions: Mapping[str, float]) -> JointState:
    """Positions as a message."""
    return JointState(name=list(positions), position=[float(x) for x in positions.values()])


def send_to_listener(publisher: Any, message: Any, name: str) -> None:
    """Send a message that needs a listener.

    Args:
        publisher: of the topic.
        message: to send.
        name: of the node that should listen.

    Raises:
        InputError: there is no listener.
    """
    if not publisher.get_subscription_count():
        raise InputError(f"nobody listens to {publisher.topic_name}. Is {name} running?")
    publisher.publish(message)


class CommandPublishers:
    """Publishers by topic."""

    def __init__(self, node: Node) -> None:
        """Begin without any. Args: the node that sends."""
        self._node = node
        self._lock = threading.Lock()
        self._each: dict[str, tuple[Any, float]] = {}  # with the time of the last command

    def send(self, topic: str, message: JointState) -> None:
        """Send a command; on the page's thread."""
        with self._lock:
            known = self._each.get(topic)
            publisher = self._node.create_publisher(JointState, topic, COMMANDS) if known is None else known[0]
            self._each[topic] = publisher, time.monotonic()
            publisher.publish(message)

    def forget_old(self) -> None:
        """Remove unused publishers; on the thread that spins the node, which must not use them meanwhile."""
        now = time.monotonic()
        with self._lock:
            for topic in [name for name, (_, last) in self._each.items() if now - last > _KEPT]:
                self._node.destroy_publisher(self._each.pop(topic)[0])
