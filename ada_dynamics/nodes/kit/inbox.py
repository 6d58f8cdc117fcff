# SPDX-License-Identifier: Apache-2.0
"""Messages that wait until somebody fetches them; imports rclpy.

A callback for each of 250 states a second takes rclpy a tenth of a core or more, even if it does nothing. A page that
draws 30 frames a second fetches what has arrived since the last one instead.
"""

from __future__ import annotations

import threading
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class NoCallbacks(CallbackGroup):
    """What is of this group wakes no executor."""

    def can_execute(self, entity: object) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: object) -> bool:
        """Not allowed."""
        return False

    def ending_execution(self, entity: object) -> None:
        """There is none."""


class Inbox:
    """A subscription without a callback. `fetch` may be called from any one thread.

    Attributes:
        topic: its whole name.
    """

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile, *, raw: bool = False) -> None:
        """Subscribe.

        Args:
            node: that listens.
            kind: of the messages.
            topic: where they come from.
            qos: its depth is how many messages are kept, at most, until they are fetched.
            raw: give them as bytes.
        """
        self._node, self._depth = node, qos.depth
        self._lock = threading.Lock()
        self._is_open = True
        self._subscription: Any = node.create_subscription(
            kind, topic, _never, qos, raw=raw, callback_group=NoCallbacks()
        )
        self.topic: str = self._subscription.topic_name

    def fetch(self) -> list[Any]:
        """What arrived since the last call, oldest first; the last ones, if it was more than are kept."""
        found: list[Any] = []
        with self._lock:
            if not self._is_open:
                return found
            handle = self._subscription.handle
            with handle:
                # As rclpy's executors and its `wait_for_message` do it. No more than are kept: a sender that is
                # faster than this loop shall not hold it for ever.
                while len(found) < self._depth:
                    taken = handle.take_message(self._subscription.msg_type, self._subscription.raw)
                    if taken is None:
                        break
                    found.append(taken[0])
        return found

    def close(self) -> None:
        """Unsubscribe; on the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_subscription(self._subscription)


def _never(message: object) -> None:
    """Callback of a subscription that nobody is woken for."""
