# SPDX-License-Identifier: Apache-2.0
"""Links that people grab with the mouse.

A browser names the link under the pointer, and where on it. But once a link was pointed at, viser keeps an invisible
outline of it, which lags behind, or stays, while the robot moves on. A press that meets this outline comes without a
link, with NaN for the point, and with a wrong depth of the pointer. What was meant is then found from the ray of sight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.spatial.rotation import from_quaternion
from ada_tools.browser.batch import Batches


class Pull(NamedTuple):
    """A link that is dragged with the mouse: from where on it, and where to, in the world [m]."""

    link: str
    phase: str  # start | update | end
    grabbed: Array
    pointer: Array


class Sight(NamedTuple):
    """The ray of all that a pixel of a browser's picture may show.

    Attributes:
        origin: the camera's place [m].
        direction: of the ray.
        forward: of the camera: normal to the picture.
    """

    origin: Array
    direction: Array
    forward: Array


class _Grab(NamedTuple):
    """A link that is held.

    Attributes:
        link: its name.
        point: where it is held, in its frame [m]; None: the browser says where.
        start: where that was in the world when it was grabbed [m].
    """

    link: str
    point: Array | None
    start: Array


class Grabs:
    """The link that each browser holds, from the start of a drag to its end."""

    def __init__(self, batches: Batches) -> None:
        """Args: the parts that can be grabbed."""
        self._batches = batches
        self._held: dict[int, _Grab] = {}  # by browser

    def link_on(self, origin: Array, direction: Array) -> str | None:
        """The first link on a ray; None where there is none."""
        hit = self._batches.hit(origin, direction)
        return None if hit is None else hit[0]

    def pull(self, event: Any, link: str | None, poses: dict[str, Array]) -> Pull | None:
        """The pull that a browser's drag means; None for one that holds nothing.

        Args:
            event: viser's.
            link: that it names; None: it names none.
            poses: of all links.
        """
        grabbed, pointer = (np.array(x, dtype=np.float64) for x in (event.start_position, event.end_position))
        is_whole = link is not None and bool(np.isfinite([grabbed, pointer]).all())
        if event.phase == "start":
            self._held.pop(event.client_id, None)
            grab = _Grab(link, None, grabbed) if is_whole and link else self._found(sight_of(event), poses)
            if grab is not None:
                self._held[event.client_id] = grab
        grab = self._held.get(event.client_id)
        if grab is None:
            return None
        if event.phase == "end":
            del self._held[event.client_id]
            return Pull(grab.link, "end", grab.start, grab.start)
        if grab.point is None:
            return Pull(grab.link, event.phase, grabbed, pointer) if is_whole else None
        pose = poses[grab.link]
        return Pull(
            grab.link,
            event.phase,
            np.asarray(pose[:3, 3] + pose[:3, :3] @ grab.point),
            _on_plane(sight_of(event), grab.start),
        )

    def _found(self, sight: Sight, poses: dict[str, Array]) -> _Grab | None:
        hit = self._batches.hit(sight.origin, sight.direction)
        if hit is None:
            return None
        link, start = hit
        pose = poses[link]
        return _Grab(link, np.asarray(pose[:3, :3].T @ (start - pose[:3, 3])), start)


def sight_of(event: Any) -> Sight:
    """Where a browser's pointer looks. Args: a drag of viser's; it has the pointer's place in the picture."""
    camera = event.client.camera
    w, x, y, z = (float(number) for number in camera.wxyz)
    R = np.array(from_quaternion(x, y, z, w), dtype=np.float64)  # of a camera: x right, y down, z forward
    across, down = (2.0 * float(share) - 1.0 for share in event.end_screen_pos)
    half = np.tan(0.5 * float(camera.fov))
    direction = R @ np.array([across * half * float(camera.aspect), down * half, 1.0])
    return Sight(np.array(camera.position, dtype=np.float64), direction, R[:, 2])


def _on_plane(sight: Sight, point: Array) -> Array:
    """Where a ray meets the plane through a point that is parallel to the picture."""
    depth = sight.forward @ (point - sight.origin) / (sight.forward @ sight.direction)
    return np.asarray(sight.origin + depth * sight.direction)
