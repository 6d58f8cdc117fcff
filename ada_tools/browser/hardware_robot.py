# SPDX-License-Identifier: Apache-2.0
"""A real robot, or an emulated one, as far as its own topics tell: seen, and moved by the hardware's panel alone.

It cannot be paused, set back to a start, or pushed with the mouse. A controller that drives it keeps its target here.
"""

from __future__ import annotations

from typing import Any

from ada_dynamics.arrays import Array
from ada_tools.browser.grabs import Pull
from ada_tools.browser.joint_targets import JointTargets
from ada_tools.browser.marks_layer import MarksPanel
from ada_tools.browser.motion_page import FirstPush
from ada_tools.browser.remote_robot import RemoteRobotPage
from ada_tools.browser.target_gizmo import TargetGizmo


class HardwareRobotPage(RemoteRobotPage):
    """A robot page without what only simulations can do."""

    _began: float | None = None  # [s] of the first reading

    def _draw(self, t: float, q: Array, v: Array | None, pace: str) -> None:
        """From the first reading on: stamps of real devices are seconds since 1970."""
        if self._began is None and self.seen is not None:
            self._began = t
        super()._draw(t - (self._began or t), q, v, pace)

    def begin_push(self, first: FirstPush) -> None:
        """There is nothing to push with."""

    def _add_controls(self, gui: Any) -> None:
        self.com = gui.add_checkbox("centre of mass", False)
        self.page.when(self.com, self.show)

    def _add_push(self, gui: Any) -> None:
        """There is none."""

    def _add_own(self, gui: Any) -> None:
        self.marks = MarksPanel(self.page, self.plant)
        if self.follower is not None:
            self.gizmo = TargetGizmo(self.page, self.follower, self.scene.size)
            self.targets = JointTargets(self.page, self.model, self.follower)

    def _show_speed(self) -> None:
        """Time cannot be made slower."""

    def _show_playing(self) -> None:
        """Nor stopped."""

    def _clicked(self, link: str, origin: Array, direction: Array) -> None:
        """A click pushes nothing."""

    def _set_pull(self, pull: Pull) -> None:
        """Nor does dragging."""
