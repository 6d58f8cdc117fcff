# SPDX-License-Identifier: Apache-2.0
"""Draggable interactive marker of a target, implemented with rclpy only; imports rclpy.

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

NAME = "target"
_QUEUE = QoSProfile(depth=100)  # as the clients: reliable, so that no number is missed
_OWNED = 1.0  # [s] the marker remains assigned to the client that moved it
_CUBE = 0.2  # fraction of the marker size
_COLOUR = (0.93, 0.55, 0.14, 0.8)
# Rotations from x, the axis of controls, to each axis.
_HALF = math.sqrt(0.5)
_AXES = {"x": (_HALF, 0.0, 0.0), "y": (0.0, 0.0, _HALF), "z": (0.0, _HALF, 0.0)}
_MODES = {"move": InteractiveMarkerControl.MOVE_AXIS, "rotate": InteractiveMarkerControl.ROTATE_AXIS}


class TargetMarker:
    """Cube with arrows and rings for three axes; used on the thread that spins the node.

    Attributes:
        shown: present marker; None without a target.
    """

    def __init__(
        self, node: Node, description: str, scale: float, on_feedback: Callable[[InteractiveMarkerFeedback], None]
    ) -> None:
        """Create topics and service.

        Args:
            node: node that owns the marker.
            description: displayed text.
            scale: size [m].
            on_feedback: called with user actions; of simultaneous users only the first is accepted.
        """
        self.shown: InteractiveMarker | None = None
        self._name: str = node.get_fully_qualified_name()
        self._description, self._scale, self._on_feedback = description, float(scale), on_feedback
        self._owner = ("", 0.0)  # client, and time of its last message
        self._count = 0
        self._updates = node.create_publisher(InteractiveMarkerUpdate, "~/update", _QUEUE)
        node.create_subscription(InteractiveMarkerFeedback, "~/feedback", self._take, _QUEUE)
        node.create_service(GetInteractiveMarkers, "~/get_interactive_markers", self._answer)

    def move(self, frame: str, pose: Pose) -> None:
        """Move the marker, or show it in another frame; the stamp is empty, so that it does not follow the frame."""
        if self.shown is not None and self.shown.header.frame_id == frame:
            self.shown.pose = pose
            self._publish(poses=[InteractiveMarkerPose(header=self.shown.header, pose=pose, name=NAME)])
            return
        self.shown = InteractiveMarker(name=NAME, description=self._description, pose=pose, scale=self._scale)
        self.shown.header.frame_id = frame
        self.shown.controls = _controls(self._scale)
        self._publish(markers=[self.shown])

    def erase(self) -> None:
        """Remove the marker."""
        if self.shown is not None:
            self.shown = None
            self._publish(erases=[NAME])

    def _publish(self, **changes: Any) -> None:
        self._count += 1
        update = InteractiveMarkerUpdate(
            server_id=self._name, seq_num=self._count, type=InteractiveMarkerUpdate.UPDATE, **changes
        )
        self._updates.publish(update)

    def _answer(
        self, _request: GetInteractiveMarkers.Request, response: GetInteractiveMarkers.Response
    ) -> GetInteractiveMarkers.Response:
        response.sequence_number = self._count
        response.markers = [] if self.shown is None else [self.shown]
        return response

    def _take(self, feedback: InteractiveMarkerFeedback) -> None:
        (owner, spoke), now = self._owner, time.monotonic()
        is_of_another = owner != feedback.client_id and now - spoke < _OWNED
        if feedback.marker_name == NAME and self.shown is not None and not is_of_another:
            self._owner = feedback.client_id, now
            self._on_feedback(feedback)


def _controls(scale: float) -> list[InteractiveMarkerControl]:
    """Controls of six degrees of freedom, and an always visible cube that moves the marker in the view plane."""
    cube = Marker(type=Marker.CUBE, action=Marker.ADD)
    cube.scale.x = cube.scale.y = cube.scale.z = _CUBE * scale
    cube.color.r, cube.color.g, cube.color.b, cube.color.a = _COLOUR
    in_view_plane = InteractiveMarkerControl(
        name="move_3d",
        interaction_mode=InteractiveMarkerControl.MOVE_3D,
        orientation_mode=InteractiveMarkerControl.INHERIT,
        always_visible=True,
        markers=[cube],
    )
    return [
        in_view_plane,
        *(
            InteractiveMarkerControl(
                name=f"{kind}_{axis}",
                orientation=Quaternion(x=x, y=y, z=z, w=_HALF),
                orientation_mode=InteractiveMarkerControl.INHERIT,
                interaction_mode=mode,
            )
            for axis, (x, y, z) in _AXES.items()
            for kind, mode in _MODES.items()
        ),
    ]
