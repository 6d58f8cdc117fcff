# SPDX-License-Identifier: Apache-2.0
"""Markers of a node, received on demand; imports rclpy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from ada_dynamics.drawing.marks import Mark, MarkStore
from ada_robot.messages.markers import read_markers
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.qos import streams

_QOS = streams(20)
_EARLY = 4.0  # [s] from the first message, during which the world frame may be unknown


class MarkerInbox:
    """Markers to draw."""

    def __init__(self, node: Node, topic: str, complain: Callable[[str], None]) -> None:
        """Create an inbox without subscription.

        Args:
            node: node that subscribes.
            topic: marker topic.
            complain: called with problems of markers that cannot be drawn.
        """
        self._node, self._topic, self._report = node, topic, complain
        self._inbox: Inbox | None = None
        self._kept = MarkStore()
        self._since = math.inf
        self._is_wanted = False

    def discover(self) -> None:
        """Subscribe or unsubscribe (spinning thread)."""
        inbox = self._inbox
        if self._is_wanted and inbox is None:
            self._inbox = Inbox(self._node, MarkerArray, self._topic, _QOS)
        elif not self._is_wanted and inbox is not None:
            self._inbox = None
            inbox.close()

    def want(self, is_wanted: bool) -> None:
        """Start or stop receiving at the next `discover`; discard old markers."""
        self._is_wanted = is_wanted
        self._kept.clear()

    def present(self, worlds: Collection[str], *, is_sure: bool) -> list[Mark]:
        """Markers that have not expired.

        Args:
            worlds: possible names of the world frame.
            is_sure: whether one of these names is certain.
        """
        inbox, now = self._inbox, time.monotonic()
        for message in inbox.fetch() if inbox else ():
            self._since = min(self._since, now)
            is_known = is_sure or now - self._since >= _EARLY
            read_markers(message, self._kept, now, worlds, self._warn if is_known else _ignore)
        return self._kept.present(now)

    def _warn(self, problem: str) -> None:
        self._report(f"{self._topic}: a marker {problem}")


def _ignore(_: str) -> None:
    """Ignore problems while the world frame may be unknown."""
