# SPDX-License-Identifier: Apache-2.0
"""Dragging of links with the mouse.

A browser reports the link under the pointer and the grabbed point. After a link was highlighted, viser keeps an
invisible outline of it that lags behind a moving robot. A press on this outline arrives without a link, with NaN as
point and a wrong pointer depth; the link is then found by ray casting.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.spatial.rotation import from_quaternion
from ada_tools.browser.batch import Batches


class MouseDrag(NamedTuple):
    """Drag of a link: grabbed point and pointer in the world frame [m]."""

    link: str
    phase: str  # start | update | end
    grabbed: Array
    pointer: Array


class ViewRay(NamedTuple):
    """View ray through the pointer.

    Attributes:
        origin: camera position [m].
        direction: direction of the ray.
        forward: viewing direction of the camera, normal to the image plane.
    """

    origin: Array
    direction: Array
    forward: Array


class _DragStart(NamedTuple):
    """Start of a drag.

    Attributes:
        link: name of the link.
        point: grabbed point in the link frame [m]; None if the browser reports it.
        start: grabbed point in the world frame at the start [m].
    """

    link: str
    point: Array | None
    start: Array


class DragTracker:
    """The link dragged by each browser, from press to release."""

    def __init__(self, batches: Batches) -> None:
        """Args: parts that can be dragged."""
        self._batches = batches
        self._held: dict[int, _DragStart] = {}  # by browser

    def drag(self, event: Any, link: str | None, poses: dict[str, Array]) -> MouseDrag | None:
        """Drag described by a viser event; None if no link is dragged.

        Args:
            event: viser drag event.
            link: link reported by the browser; None without one.
            poses: poses of all links.
        """
        grabbed, pointer = (np.array(x, dtype=np.float64) for x in (event.start_position, event.end_position))
        is_whole = link is not None and bool(np.isfinite([grabbed, pointer]).all())
        if event.phase == "start":
            self._held.pop(event.client_id, None)
            grab = _DragStart(link, None, grabbed) if is_whole and link else self._found(view_ray(event), poses)
            if grab is not None:
                self._held[event.client_id] = grab
        grab = self._held.get(event.client_id)
        if grab is None:
            return None
        if event.phase == "end":
            del self._held[event.client_id]
            return MouseDrag(grab.link, "end", grab.start, grab.start)
        if grab.point is None:
            return MouseDrag(grab.link, event.phase, grabbed, pointer) if is_whole else None
        pose = poses[grab.link]
        return MouseDrag(
            grab.link,
            event.phase,
            np.asarray(pose[:3, 3] + pose[:3, :3] @ grab.point),
            _on_plane(view_ray(event), grab.start),
        )

    def _found(self, sight: ViewRay, poses: dict[str, Array]) -> _DragStart | None:
        hit = self._batches.hit(sight.origin, sight.direction)
        if hit is None:
            return None
        link, start = hit
        pose = poses[link]
        return _DragStart(link, np.asarray(pose[:3, :3].T @ (start - pose[:3, 3])), start)


def view_ray(event: Any) -> ViewRay:
    """View ray through the pointer of a viser drag event."""
    camera = event.client.camera
    w, x, y, z = (float(number) for number in camera.wxyz)
    R = np.array(from_quaternion(x, y, z, w), dtype=np.float64)  # camera axes: x right, y down, z forward
    across, down = (2.0 * float(share) - 1.0 for share in event.end_screen_pos)
    half = np.tan(0.5 * float(camera.fov))
    direction = R @ np.array([across * half * float(camera.aspect), down * half, 1.0])
    return ViewRay(np.array(camera.position, dtype=np.float64), direction, R[:, 2])


def _on_plane(sight: ViewRay, point: Array) -> Array:
    """Intersection of a view ray with the plane through a point parallel to the image."""
    depth = sight.forward @ (point - sight.origin) / (sight.forward @ sight.direction)
    return np.asarray(sight.origin + depth * sight.direction)
