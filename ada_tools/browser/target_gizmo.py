# SPDX-License-Identifier: Apache-2.0
"""Handles for the target pose of a controller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import to_quaternion
from ada_dynamics.spatial.rotation import from_quaternion
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Follower, TargetPose

NODE = "/target"  # node name in the viser scene
_SIZE = 0.22  # size of the handles in robot sizes
_SETTLED = 0.5  # [s] time for a controller to accept a dragged target
_SAME = 1e-6  # smaller changes are not sent


class TargetGizmo:
    """Draggable handles at the target pose; without a drag they follow the target of the controller.

    Attributes:
        handles: viser handles; None before the first target.
    """

    def __init__(self, page: Page, follower: Follower, size: float) -> None:
        """Prepare the handles."""
        self.handles: Any = None
        self._page, self._follower, self._size = page, follower, size
        self._shown: Array | None = None  # in the world frame
        self._target: TargetPose | None = None
        self._base = np.eye(4)  # pose of the target's reference frame in the world frame
        self._is_held = False
        self._kept_until = -math.inf

    def tick(self, poses: Mapping[str, Array]) -> None:
        """Per-frame update."""
        self._target = target = self._follower.target_pose()
        if target is None:
            self._is_held = False
        if self.handles is not None and self.handles.visible != (target is not None):
            self.handles.visible = target is not None
        if target is None:
            return
        self._base = poses.get(target.frame, np.eye(4))
        place = self._base @ target.pose
        if self.handles is None:
            self._add(place)
        elif not self._is_held and self._page.clock.now() > self._kept_until:
            with self._page.server.atomic():
                self._move(place)

    def remove(self) -> None:
        """Remove the handles."""
        if self.handles is not None:
            self.handles.remove()
            self.handles = None

    # --- handles ----------------------------------------------------------------------------------------------------
    def _add(self, place: Array) -> None:
        self.handles = self._page.scene.add_transform_controls(
            NODE, scale=_SIZE * self._size, depth_test=False, wxyz=to_quaternion(place[:3, :3]), position=place[:3, 3]
        )
        self._shown = place
        self.handles.on_update(self.take)

    async def take(self, event: Any) -> None:  # coroutines run in the order of arrival, unlike functions
        """Queue a drag of the handles, given as a viser event."""
        pose = np.eye(4)
        w, x, y, z = event.target.wxyz
        pose[:3, :3] = from_quaternion(float(x), float(y), float(z), float(w))
        pose[:3, 3] = event.target.position
        is_end = event.phase == "end"
        if self._page.guard(event.client_id):
            if is_end:  # reported once per drag
                self._page.refuses(event)
            self._page.note("target", self._revert)
            return
        self._page.note("target", lambda: self._drag(pose, is_end))

    def _move(self, place: Array) -> None:
        if self._shown is None or np.abs(place - self._shown).max() > _SAME:
            self._shown = place
            self.handles.wxyz = to_quaternion(place[:3, :3])
            self.handles.position = place[:3, 3]

    # --- dragging ---------------------------------------------------------------------------------------------------
    def _drag(self, pose: Array, is_end: bool) -> None:
        self._is_held = not is_end
        self._kept_until = self._page.clock.now() + _SETTLED
        self._shown = pose
        self._send(pose)

    def _revert(self) -> None:
        """Return the handles to the target of the controller after a refused drag."""
        self._is_held, self._shown = False, None

    def _send(self, pose: Array) -> None:
        if self._target is None:
            raise InputError(f"{self._follower.name} follows no target pose.")
        self._follower.follow_pose(TargetPose(self._target.frame, np.linalg.inv(self._base) @ pose))
