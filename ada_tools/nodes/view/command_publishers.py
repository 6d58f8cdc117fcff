# SPDX-License-Identifier: Apache-2.0
"""Publishers of joint commands, which exist only while commands are sent, to avoid two publishers per robot."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.errors import InputError
from ada_robot.ros.qos import COMMANDS

_KEPT = 2.0  # [s] lifetime after the last command


def joint_message(positions: Mapping[str, float]) -> JointState:
    """Joint positions as a message."""
    return JointState(name=list(positions), position=[float(x) for x in positions.values()])


def send_to_listener(publisher: Any, message: Any, name: str) -> None:
    """Publish a message; raise InputError without a subscriber.

    Args:
        publisher: publisher of the topic.
        message: message to send.
        name: node that should subscribe.

    Raises:
        InputError: no subscriber.
    """
    if not publisher.get_subscription_count():
        raise InputError(f"no subscriber on {publisher.topic_name}: is {name} running?")
    publisher.publish(message)


class CommandPublishers:
    """Command publishers by topic."""

    def __init__(self, node: Node) -> None:
        """Args: node that sends."""
        self._node = node
        self._lock = threading.Lock()
        self._each: dict[str, tuple[Any, float]] = {}  # publisher and time of the last command

    def send(self, topic: str, message: JointState) -> None:
        """Send a command (page thread)."""
        with self._lock:
            known = self._each.get(topic)
            publisher = self._node.create_publisher(JointState, topic, COMMANDS) if known is None else known[0]
            self._each[topic] = publisher, time.monotonic()
            publisher.publish(message)

    def forget_old(self) -> None:
        """Remove unused publishers (spinning thread, which must not use them otherwise)."""
        now = time.monotonic()
        with self._lock:
            for topic in [name for name, (_, last) in self._each.items() if now - last > _KEPT]:
                self._node.destroy_publisher(self._each.pop(topic)[0])
