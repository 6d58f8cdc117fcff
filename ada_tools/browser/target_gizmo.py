# SPDX-License-Identifier: Apache-2.0
"""Handles for the target pose of a controller, and the distance of the robot from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import to_quaternion
from ada_dynamics.spatial.rotation import from_quaternion
from ada_robot.messages.incoming import apart
from ada_tools.browser.page import Page, TextBox
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
        """Create hidden handles.

        Args:
            page: page to draw on.
            follower: controller with the target.
            size: size of the robot [m].
        """
        self.handles: Any = None
        self._page, self._follower, self._size = page, follower, size
        self._shown: Array | None = None  # in the world frame
        self._target: TargetPose | None = None
        self._base = np.eye(4)  # pose of the target's reference frame in the world frame
        self._is_held = False
        self._kept_until = -math.inf
        self._folder = page.gui.add_folder("target", visible=False)
        with self._folder:
            self.words = TextBox(page.gui, 3)
            self.box = page.gui.add_checkbox("handles", True, hint="drag them to move the target")
            self.stay = page.gui.add_button("stay here", hint="set the target to the present pose of the robot")
        page.when(self.box, lambda: None)
        page.when(self.stay, self._stay, moves=True)
        self._present: Array | None = None  # pose of the link in the world frame

    def tick(self, poses: Mapping[str, Array]) -> None:
        """Per-frame update.

        Args:
            poses: poses of all links in the world frame.
        """
        self._target = target = self._follower.target_pose()
        self._present = poses.get(self._follower.link)
        is_there = target is not None
        if self._folder.visible != is_there:
            self._folder.visible = is_there
            self._is_held = False
        if target is None:
            self._hide()
            return
        self._base = poses.get(target.frame, np.eye(4))
        place = self._base @ target.pose
        if self.handles is None:
            self._add(place)
        is_wanted = bool(self.box.value)
        with self._page.server.atomic():
            if self.handles.visible != is_wanted:
                self.handles.visible = is_wanted
            if not self._is_held and self._page.clock.now() > self._kept_until:
                self._move(place)
            self._say(place)

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

    def _hide(self) -> None:
        if self.handles is not None and self.handles.visible:
            self.handles.visible = False

    def _move(self, place: Array) -> None:
        if self._shown is None or np.abs(place - self._shown).max() > _SAME:
            self._shown = place
            self.handles.wxyz = to_quaternion(place[:3, :3])
            self.handles.position = place[:3, 3]

    def _say(self, place: Array) -> None:
        words = f"of {self._follower.name}"
        if self._present is not None:
            way, turn = apart(place, self._present)
            distance = f"**{1e3 * way:.1f} mm** and **{math.degrees(turn):.1f} deg**"
            words = f"{self._follower.link} is {distance} from the target {words}"
        self.words.content = words

    # --- dragging ---------------------------------------------------------------------------------------------------
    def _drag(self, pose: Array, is_end: bool) -> None:
        self._is_held = not is_end
        self._kept_until = self._page.clock.now() + _SETTLED
        self._shown = pose
        self._send(pose)

    def _revert(self) -> None:
        """Return the handles to the target of the controller after a refused drag."""
        self._is_held, self._shown = False, None

    def _stay(self) -> None:
        if self._present is None:
            raise InputError("link of the target is unknown: set the parameter target_link of the view node.")
        self._send(self._present)

    def _send(self, pose: Array) -> None:
        if self._target is None:
            raise InputError(f"{self._follower.name} follows no target pose.")
        self._follower.follow_pose(TargetPose(self._target.frame, np.linalg.inv(self._base) @ pose))
