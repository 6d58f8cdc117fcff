# SPDX-License-Identifier: Apache-2.0
"""Subscriptions polled instead of called back; imports rclpy.

Callbacks for 250 messages per second take rclpy a tenth of a core, even if they are empty. A page that draws 30 frames
per second polls instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ada_robot.ros.senders import GID, Taken, Taker


class NoCallbacks(CallbackGroup):
    """Callback group whose members do not wake the executor."""

    def can_execute(self, entity: object) -> bool:
        """Return False."""
        return False

    def beginning_execution(self, entity: object) -> bool:
        """Return False."""
        return False

    def ending_execution(self, entity: object) -> None:
        """Do nothing, because no callback is executed."""


class Inbox:
    """Subscription without a callback. One thread at a time may call `fetch`.

    Attributes:
        topic: full topic name.
    """

    def __init__(
        self, node: Node, kind: Any, topic: str, qos: QoSProfile, *, raw: bool = False, senders: bool = False
    ) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            kind: message type.
            topic: topic name.
            qos: quality of service; its depth is the capacity of the queue.
            raw: whether to return serialized messages.
            senders: whether `fetch_sent` returns the senders of the messages.
        """
        self._taker = Taker(kind) if senders else None
        self._node, self._depth = node, qos.depth
        self._lock = threading.Lock()
        self._is_open = True
        self._subscription: Any = node.create_subscription(
            kind, topic, _never, qos, raw=raw, callback_group=NoCallbacks()
        )
        self.topic: str = self._subscription.topic_name
        # rclpy reports incompatible publishers in the node's thread
        for handler in self._subscription.event_handlers:
            handler.callback_group = node.default_callback_group
            node.default_callback_group.add_entity(handler)

    def fetch(self) -> list[Any]:
        """Return the messages since the last call, the oldest first; only the latest if the queue was full."""
        subscription = self._subscription
        # like rclpy's executors and its `wait_for_message`
        return [taken[0] for taken in self._taken(lambda h: h.take_message(subscription.msg_type, subscription.raw))]

    def fetch_sent(self) -> list[Taken]:
        """Return messages with their senders, see `fetch`; for subscriptions with `senders`."""
        return [] if self._taker is None else self._taken(self._taker.take)

    def _taken(self, take: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = []
        with self._lock:
            if not self._is_open:
                return found
            handle = self._subscription.handle
            with handle:
                # at most the depth of the queue, so that a fast sender cannot block the loop
                while len(found) < self._depth and (taken := take(handle)) is not None:
                    found.append(taken)
        return found

    def senders(self) -> dict[bytes, str]:
        """Return the names of the publishing nodes by the ids of their publishers."""
        return {
            bytes(one.endpoint_gid)[:GID]: f"{one.node_namespace.rstrip('/')}/{one.node_name}"
            for one in self._node.get_publishers_info_by_topic(self.topic)
        }

    @property
    def publishers(self) -> int:
        """Number of publishers on the topic."""
        with self._lock:
            return self._subscription.get_publisher_count() if self._is_open else 0

    def close(self) -> None:
        """Unsubscribe; to be called by the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_subscription(self._subscription)
                if self._taker is not None:
                    self._taker.close()


def _never(message: object) -> None:
    """Callback that is never called."""
