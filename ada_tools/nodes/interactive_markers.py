# SPDX-License-Identifier: Apache-2.0
"""Interactive markers of ROS 2, implemented with rclpy only: server and draggable handle; imports rclpy.

A display InteractiveMarkers of RViz with the namespace of the node calls ~/get_interactive_markers for the initial
state, follows ~/update with its consecutive sequence numbers, and reports user actions on ~/feedback. A client that
misses a number calls the service again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Pose, Quaternion
from rclpy.node import Node
from rclpy.qos import QoSProfile
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
    Marker,
)
from visualization_msgs.srv import GetInteractiveMarkers

Feedback = Callable[[InteractiveMarkerFeedback], None]

_QUEUE = QoSProfile(depth=100)  # as the clients: reliable, so that no number is missed
_OWNED = 1.0  # [s] a marker remains assigned to the client that moved it


class InteractiveMarkers:
    """Draggable markers by name; used on the thread that spins the node."""

    def __init__(self, node: Node, on_feedback: Feedback) -> None:
        """Create topics and service.

        Args:
            node: node that owns the markers.
            on_feedback: called with user actions on existing markers; of simultaneous users only the first is accepted.
        """
        self._name: str = node.get_fully_qualified_name()
        self._on_feedback = on_feedback
        self._markers: dict[str, InteractiveMarker] = {}
        self._owners: dict[str, tuple[str, float]] = {}  # client, and time of its last message
        self._count = 0
        self._updates = node.create_publisher(InteractiveMarkerUpdate, "~/update", _QUEUE)
        node.create_subscription(InteractiveMarkerFeedback, "~/feedback", self._take, _QUEUE)
        node.create_service(GetInteractiveMarkers, "~/get_interactive_markers", self._answer)

    def put(self, marker: InteractiveMarker) -> None:
        """Show a marker, replacing one with the same name."""
        self._markers[marker.name] = marker
        self._publish_update(markers=[marker])

    def move(self, name: str, pose: Pose) -> None:
        """Move an existing marker."""
        marker = self._markers[name]
        marker.pose = pose
        self._publish_update(poses=[InteractiveMarkerPose(header=marker.header, pose=pose, name=name)])

    def erase(self, name: str) -> None:
        """Remove a marker if it exists."""
        if self._markers.pop(name, None) is not None:
            self._owners.pop(name, None)
            self._publish_update(erases=[name])

    def get(self, name: str) -> InteractiveMarker | None:
        """Present marker, or None."""
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


_CUBE = 0.2  # fraction of the marker size
_COLOUR = (0.93, 0.55, 0.14, 0.8)
# Rotations from x, the axis of controls, to each axis.
_HALF = math.sqrt(0.5)
_AXES = {"x": (_HALF, 0.0, 0.0), "y": (0.0, 0.0, _HALF), "z": (0.0, _HALF, 0.0)}


def handle(name: str, description: str, frame: str, pose: Pose, scale: float) -> InteractiveMarker:
    """Interactive marker with six degrees of freedom.

    Args:
        name: name of the marker.
        description: displayed text.
        frame: frame of the pose; the stamp is empty, so that the marker does not follow a moving frame.
        pose: initial pose.
        scale: size [m].
    """
    marker = InteractiveMarker(name=name, description=description, pose=pose, scale=float(scale))
    marker.header.frame_id = frame
    marker.controls = [_cube(scale)]
    for axis, (x, y, z) in _AXES.items():
        for kind, mode in (
            ("move", InteractiveMarkerControl.MOVE_AXIS),
            ("rotate", InteractiveMarkerControl.ROTATE_AXIS),
        ):
            marker.controls.append(
                InteractiveMarkerControl(
                    name=f"{kind}_{axis}",
                    orientation=Quaternion(x=x, y=y, z=z, w=_HALF),
                    orientation_mode=InteractiveMarkerControl.INHERIT,
                    interaction_mode=mode,
                )
            )
    return marker


def _cube(scale: float) -> InteractiveMarkerControl:
    """Always visible cube; dragging it moves the marker in the view plane."""
    cube = Marker(type=Marker.CUBE, action=Marker.ADD)
    cube.scale.x = cube.scale.y = cube.scale.z = _CUBE * scale
    cube.color.r, cube.color.g, cube.color.b, cube.color.a = _COLOUR
    return InteractiveMarkerControl(
        name="move_3d",
        interaction_mode=InteractiveMarkerControl.MOVE_3D,
        orientation_mode=InteractiveMarkerControl.INHERIT,
        always_visible=True,
        markers=[cube],
    )
