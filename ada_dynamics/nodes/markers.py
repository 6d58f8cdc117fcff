# SPDX-License-Identifier: Apache-2.0
"""Marks (marks.py) as visualization_msgs/MarkerArray; imports message packages.

A mark keeps its namespace and number. One that is gone is deleted by the next message, and all fade when no message
comes any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Vector3
from visualization_msgs.msg import Marker, MarkerArray

from ada_dynamics.nodes.marks import Kind, Mark
from ada_dynamics.simulation.record.cdr import NANOSECONDS

_TYPES = {Kind.ARROW: Marker.ARROW, Kind.SPHERE: Marker.SPHERE, Kind.LINE: Marker.LINE_STRIP}


class MarkerMessages:
    """Makes messages of marks, one after the other for the same viewers."""

    def __init__(self, frame: str, lifetime: float) -> None:
        """Args: the world's frame, and how long a marker stays when it is not renewed [s]; 0 for ever."""
        nanoseconds = round(lifetime * NANOSECONDS)
        self._frame = frame
        self._lifetime = Duration(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)
        self._shown: dict[tuple[str, int], None] = {}
        self._made: dict[tuple[str, int], Marker] = {}  # to make one takes rclpy ten times as long as to change it

    def message(self, marks: Sequence[Mark], stamp_ns: int) -> MarkerArray:
        """The marks, and the deletion of what was in the last message and is not among them.

        The message's parts are used again for the next one: publish it, or copy it.

        Args:
            marks: all that is to be seen.
            stamp_ns: time in the headers [ns].
        """
        stamp = Time(sec=stamp_ns // NANOSECONDS, nanosec=stamp_ns % NANOSECONDS)
        found = {(mark.space, mark.number): None for mark in marks}
        gone = [self._made[key] for key in self._shown if key not in found]
        self._shown = found
        for marker in gone:
            marker.action = Marker.DELETE
        markers = gone + [self._drawn(mark) for mark in marks]
        for marker in markers:
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)

    def _drawn(self, mark: Mark) -> Marker:
        key = (mark.space, mark.number)
        marker = self._made.get(key) or self._made.setdefault(key, self._new(mark))
        marker.action = Marker.ADD
        red, green, blue, opacity = mark.colour
        color = marker.color
        color.r, color.g, color.b, color.a = red, green, blue, opacity
        if mark.kind is Kind.SPHERE:
            marker.scale.x = marker.scale.y = marker.scale.z = mark.size[0]
            _move([marker.pose.position], mark)
            return marker
        marker.scale = Vector3(**dict(zip("xyz", mark.size, strict=False)))
        if len(marker.points) != len(mark.points):
            marker.points = [Point() for _ in mark.points]
        _move(marker.points, mark)
        return marker

    def _new(self, mark: Mark) -> Marker:
        marker = Marker(ns=mark.space, id=mark.number, type=_TYPES[mark.kind], lifetime=self._lifetime)
        marker.header.frame_id = self._frame
        marker.pose.orientation.w = 1.0
        return marker


def _move(points: Sequence[Point], mark: Mark) -> None:
    for point, (x, y, z) in zip(points, mark.points.tolist(), strict=True):
        point.x, point.y, point.z = x, y, z
