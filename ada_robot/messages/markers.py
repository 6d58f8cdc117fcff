# SPDX-License-Identifier: Apache-2.0
"""Conversion between marks (marks.py) and visualization_msgs/MarkerArray; imports message packages.

A mark keeps its namespace and number. Marks missing in the next message are deleted, and all expire when no more
messages are sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Vector3
from visualization_msgs.msg import Marker, MarkerArray

from ada_dynamics.drawing.marks import Mark, MarkKind, MarkStore
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.messages.incoming import matrix_of

_TYPES = {MarkKind.ARROW: Marker.ARROW, MarkKind.SPHERE: Marker.SPHERE, MarkKind.LINE: Marker.LINE_STRIP}
_KINDS = {number: kind for kind, number in _TYPES.items()}
_FEWEST_POINTS = {MarkKind.ARROW: 2, MarkKind.SPHERE: 1, MarkKind.LINE: 2}
_SIZES = {MarkKind.ARROW: 3, MarkKind.SPHERE: 1, MarkKind.LINE: 1}


class MarkerMessages:
    """Creates consecutive marker messages."""

    def __init__(self, frame: str, lifetime: float) -> None:
        """Create messages in a world frame; markers that are not renewed expire after `lifetime` [s], 0 for never."""
        nanoseconds = round(lifetime * NANOSECONDS)
        self._frame = frame
        self._lifetime = Duration(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)
        self._shown: dict[tuple[str, int], None] = {}
        self._made: dict[tuple[str, int], Marker] = {}  # reused: creation takes ten times as long as a change

    def message(self, marks: Sequence[Mark], stamp_ns: int) -> MarkerArray:
        """Return the marks, and the deletion of those of the last message that are missing now.

        The next call reuses parts of the message: publish or copy it before.

        Args:
            marks: visible marks.
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
        if mark.kind is MarkKind.SPHERE:
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


def read_markers(
    message: MarkerArray, kept: MarkStore, now: float, worlds: Collection[str], complain: Callable[[str], None]
) -> None:
    """Apply a marker message to stored marks; unsupported markers are ignored.

    Args:
        message: message of any sender.
        kept: stored marks; modified.
        now: time of reception on the clock of `kept` [s].
        worlds: accepted names of the world frame.
        complain: called with the reason for each ignored marker.
    """
    for marker in message.markers:
        if marker.action == Marker.DELETEALL:
            kept.clear()
            continue
        mark = None
        if marker.action == Marker.ADD:
            if marker.header.frame_id in worlds:
                mark = _mark_of(marker, complain)
            else:
                complain(f"is in frame {marker.header.frame_id!r}; supported are {' and '.join(worlds)}")
        if mark is None:
            kept.drop(marker.ns, marker.id)
            continue
        lifetime = marker.lifetime.sec + marker.lifetime.nanosec / NANOSECONDS
        kept.put(mark, now + lifetime if lifetime > 0.0 else math.inf)


def _mark_of(marker: Marker, complain: Callable[[str], None]) -> Mark | None:
    kind = _KINDS.get(marker.type)
    if kind is None:
        complain(f"is of type {marker.type}; supported are arrows ({Marker.ARROW}), spheres, and lines (LINE_STRIP)")
        return None
    rows = [(0.0, 0.0, 0.0)] if kind is MarkKind.SPHERE else [(p.x, p.y, p.z) for p in marker.points]
    size = (marker.scale.x, marker.scale.y, marker.scale.z)[: _SIZES[kind]]
    colour = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
    pose = matrix_of(marker.pose.position, marker.pose.orientation)
    with np.errstate(invalid="ignore", over="ignore"):  # checked below
        points = np.array(rows).reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]
    if len(points) < _FEWEST_POINTS[kind] or (kind is MarkKind.ARROW and len(points) != 2):
        complain(f"has {len(points)} points; arrows need two, lines two or more")
        return None
    numbers = np.concatenate([points.ravel(), size, colour])
    if not np.isfinite(numbers).all() or min(size) <= 0.0 or not 0.0 <= min(colour) <= max(colour) <= 1.0:
        complain("has non-finite values, a non-positive size, or a colour outside 0 to 1")
        return None
    return Mark(marker.ns, marker.id, kind, points, size, colour)
