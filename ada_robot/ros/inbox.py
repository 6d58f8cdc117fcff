# SPDX-License-Identifier: Apache-2.0
"""Messages that wait until they are fetched; imports rclpy.

A callback for each of 250 states a second takes rclpy a tenth of a core or more, even if it does nothing. A page that
draws 30 frames a second fetches what has arrived since the last one instead.
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
    """A group whose members wake no executor."""

    def can_execute(self, entity: object) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: object) -> bool:
        """Not allowed."""
        return False

    def ending_execution(self, entity: object) -> None:
        """Nothing to do: no callback is ever executed."""


class Inbox:
    """A subscription without a callback. `fetch` may be called from any one thread.

    Attributes:
        topic: its whole name.
    """

    def __init__(
        self, node: Node, kind: Any, topic: str, qos: QoSProfile, *, raw: bool = False, senders: bool = False
    ) -> None:
        """Subscribe.

        Args:
            node: that listens.
            kind: of the messages.
            topic: where they come from.
            qos: its depth is how many messages are kept, at most, until they are fetched.
            raw: give them as bytes.
            senders: they are to be fetched by `fetch_sent`, with who sent them.
        """
        self._taker = Taker(kind) if senders else None
        self._node, self._depth = node, qos.depth
        self._lock = threading.Lock()
        self._is_open = True
        self._subscription: Any = node.create_subscription(
            kind, topic, _never, qos, raw=raw, callback_group=NoCallbacks()
        )
        self.topic: str = self._subscription.topic_name
        # Messages wake nobody, but incompatible publishers are reported: rclpy logs them in the node's thread.
        for handler in self._subscription.event_handlers:
            handler.callback_group = node.default_callback_group
            node.default_callback_group.add_entity(handler)

    def fetch(self) -> list[Any]:
        """The messages since the last call, oldest first; the last ones, if there were more than are kept."""
        subscription = self._subscription
        # as rclpy's executors and its `wait_for_message` do it
        return [taken[0] for taken in self._taken(lambda h: h.take_message(subscription.msg_type, subscription.raw))]

    def fetch_sent(self) -> list[Taken]:
        """As `fetch`, with the sender of each; for an inbox made with `senders`."""
        return [] if self._taker is None else self._taken(self._taker.take)

    def _taken(self, take: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = []
        with self._lock:
            if not self._is_open:
                return found
            handle = self._subscription.handle
            with handle:
                # No more than are kept: a sender that is faster than this loop must not block it.
                while len(found) < self._depth and (taken := take(handle)) is not None:
                    found.append(taken)
        return found

    def senders(self) -> dict[bytes, str]:
        """Nodes that send messages here, by the numbers of their publishers."""
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
        """Unsubscribe; on the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_subscription(self._subscription)
                if self._taker is not None:
                    self._taker.close()


def _never(message: object) -> None:
    """Callback of a subscription whose messages wake no executor."""
