# SPDX-License-Identifier: Apache-2.0
"""The server's side of ROS 2's interactive markers, with rclpy alone; imports rclpy.

Where RViz has a display InteractiveMarkers with the namespace of the node, it asks ~/get_interactive_markers for what
there is, follows ~/update, whose messages are numbered without a gap, and reports user actions on ~/feedback. A
client that misses a number asks anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Pose
from rclpy.node import Node
from rclpy.qos import QoSProfile
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

Feedback = Callable[[InteractiveMarkerFeedback], None]

_QUEUE = QoSProfile(depth=100)  # as the clients have it: reliable, so that no number is missed
_OWNED = 1.0  # [s] after its last message that a marker belongs to the client that moved it


class InteractiveMarkers:
    """Markers by name, that people can drag; for the thread that spins the node."""

    def __init__(self, node: Node, on_feedback: Feedback) -> None:
        """Offer topics and service.

        Args:
            node: whose markers they are.
            on_feedback: called with what a person does to a marker that exists; of two at a time only the first.
        """
        self._name: str = node.get_fully_qualified_name()
        self._on_feedback = on_feedback
        self._markers: dict[str, InteractiveMarker] = {}
        self._owners: dict[str, tuple[str, float]] = {}  # client, and when it spoke last
        self._count = 0
        self._updates = node.create_publisher(InteractiveMarkerUpdate, "~/update", _QUEUE)
        node.create_subscription(InteractiveMarkerFeedback, "~/feedback", self._take, _QUEUE)
        node.create_service(GetInteractiveMarkers, "~/get_interactive_markers", self._answer)

    def put(self, marker: InteractiveMarker) -> None:
        """Show a marker, in place of the one of its name."""
        self._markers[marker.name] = marker
        self._publish_update(markers=[marker])

    def move(self, name: str, pose: Pose) -> None:
        """Move a marker that exists."""
        marker = self._markers[name]
        marker.pose = pose
        self._publish_update(poses=[InteractiveMarkerPose(header=marker.header, pose=pose, name=name)])

    def erase(self, name: str) -> None:
        """Take a marker away, if it is there."""
        if self._markers.pop(name, None) is not None:
            self._owners.pop(name, None)
            self._publish_update(erases=[name])

    def get(self, name: str) -> InteractiveMarker | None:
        """A marker as it is now, if it is there."""
        return self._markers.get(name)

    def _publish_update(self, **changes: Any) -> None:
        self._count += 1
        update = InteractiveMarkerUpdate(
            server_id=self._name, seq_num=self._count, type=InteractiveMarkerUpdate.UPDATE, **changes
        )
        self._updates.publish(update)

    def _answer(
        self, _request: GetInteractiveMarkers.Request, response: GetInteractiveMarkers.Response
    ) -> GetInteractiveMarkers.Response:
        response.sequence_number = self._count
        response.markers = list(self._markers.values())
        return response

    def _take(self, feedback: InteractiveMarkerFeedback) -> None:
        name, now = feedback.marker_name, time.monotonic()
        if name not in self._markers:
            return
        owner, spoke = self._owners.get(name, ("", 0.0))
        if owner != feedback.client_id and now - spoke < _OWNED:
            return
        self._owners[name] = feedback.client_id, now
        self._on_feedback(feedback)
