# SPDX-License-Identifier: Apache-2.0
"""Joint sliders of a device: its joints move towards the sliders while a button is held.

A slider displays its joint position until the user moves it; it then defines a target, which is kept when the button
is released. The motion can thus be resumed after a pause, or discarded with a button. When the robot is stopped or
lost, all targets are discarded, so that no motion resumes unexpectedly.
"""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.node_state import ACTIVE, CLOSED, STOPPED, DeviceState
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Positions, ReceivedPositions, RobotNode
from ada_tools.browser.sliders import LOOK, PERIOD, JointSliders

_FRESH = 1.0  # [s] maximum age of valid positions
_SPEED, _FASTEST = 15.0, 60.0  # [deg/s] joint speed: initial and maximum
_SHARE = 0.5  # maximum fraction of the joint velocity limit
_LONGEST = 1.5 * PERIOD  # [s] maximum time step of one command
_SAME = math.radians(0.05)  # threshold between position and target
_ORDER = -1.0  # order on the page: above the general sections
_LINE = (  # fixed height, so that the controls below do not shift
    '<div style="margin:-0.35em 0.8em 0.5em 0.8em;font-size:0.75em;color:#666;text-align:right;height:1.5em;'
    'white-space:nowrap;overflow:hidden;text-overflow:ellipsis">{}</div>'
)


class DeviceSliders(JointSliders):
    """Sliders of one device.

    Attributes:
        wanted: indices of the sliders moved by the user.
        is_commanding: whether commands are being sent.
    """

    lead = 0.3  # less than the jump limit of the node

    def __init__(self, page: Page, node: RobotNode, device: DeviceState) -> None:
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            node: node that drives the device.
            device: state of the robot.
        """
        super().__init__(page, device.motors, lambda positions: node.command(positions, device.name))
        self._node, self.device = node, device
        self._fastest = self.speeds
        self.wanted: set[int] = set()
        self.is_commanding = False
        self._last = self._shown_at = -math.inf
        self._lines: list[Any] = []
        self._folder = page.gui.add_folder(f"{device.name}: joints", order=_ORDER)
        with self._folder:
            self.speed = page.gui.add_slider("speed [deg/s]", 1.0, _FASTEST, 1.0, _SPEED)
            self.back = page.gui.add_button("sliders back to the robot")
            self.add(self.wanted.add, lambda: self._lines.append(page.gui.add_html(_LINE.format(""))))
        page.when(self.back, self.forget)

    def remove(self) -> None:
        """Remove the sliders from the page."""
        self.end()
        self._folder.remove()

    def forget(self) -> None:
        """Discard all targets; the sliders display the joint positions again."""
        self.goal()  # discard pending slider values
        self.wanted.clear()
        self._shown_at = -math.inf

    @property
    def wishes(self) -> dict[str, float]:
        """Target positions set by the user, by joint [rad]."""
        positions = self.goal()
        return {self.motors[i].name: float(positions[i]) for i in sorted(self.wanted)}

    def differs(self, present: Positions) -> bool:
        """Return True if a target differs from the joint position."""
        return any(abs(value - present.get(name, value)) > _SAME for name, value in self.wishes.items())

    # --- once a frame -------------------------------------------------------------------------------------------
    def tick(self, device: DeviceState, *, is_held: bool) -> None:
        """Send commands while the button is held; otherwise display the joint positions.

        Args:
            device: latest state of the device.
            is_held: whether the robot may move now.
        """
        self.device = device
        present = self._all(self._fresh(self._node.measured(device.name)))
        if device.phase in (STOPPED, CLOSED) or present is None:
            self.end()
            if self.wanted:
                self.forget()
        elif is_held and device.phase == ACTIVE:
            self._command(present)
        else:
            self.end()
        if self._page.clock.now() - self._shown_at > LOOK:
            self._shown_at = self._page.clock.now()
            self._show(present)

    def end(self) -> None:
        """Stop sending commands; the robot holds the last commanded position."""
        if self.is_commanding:
            self.is_commanding = False
            self._send(None)

    def _fresh(self, heard: ReceivedPositions | None) -> Positions:
        """Recent positions; empty if they are outdated."""
        return heard.positions if heard is not None and self._page.clock.now() - heard.arrived <= _FRESH else {}

    def _all(self, positions: Positions) -> Array | None:
        """Positions of all joints; None if any is unknown."""
        found = np.array([positions.get(motor.name, math.nan) for motor in self.motors])
        return found if np.isfinite(found).all() else None

    def _command(self, present: Array) -> None:
        now = self._page.clock.now()
        if not self.is_commanding:
            # Start from the commanded positions: a joint sagging under load would sink further with each start.
            before = self._all(self._fresh(self._node.commanded(self.device.name)))
            is_near = before is not None and bool((np.abs(before - present) < self.lead).all())
            self.commanded = before if is_near and before is not None else present.copy()
            self.is_commanding, self._last = True, now
        goal = self.commanded.copy()
        if self.wanted:
            rows = sorted(self.wanted)
            goal[rows] = self.goal()[rows]
        self.speeds = np.minimum(_SHARE * self._fastest, math.radians(float(self.speed.value)))
        elapsed, self._last = min(now - self._last, _LONGEST), now
        self.advance(goal, present, elapsed)

    def _show(self, present: Array | None) -> None:
        commanded = self._fresh(self._node.commanded(self.device.name))
        with self._page.server.atomic():
            for i, motor in enumerate(self.motors):
                if present is not None and i not in self.wanted:
                    self.show(i, float(present[i]))
                at = None if present is None else float(present[i])
                content = _LINE.format(html.escape(self._beside(motor.name, at, commanded.get(motor.name))))
                if content != self._lines[i].content:
                    self._lines[i].content = content

    def _beside(self, joint: str, at: float | None, commanded: float | None) -> str:
        """Measured and commanded position of a joint, and its servo angle."""
        if at is None:
            return "not measured"
        parts = [f"is {_degrees(at):.1f} deg"]
        if commanded is not None:
            parts.append(f"commanded {_degrees(commanded):.1f}")
        scale = self.device.servos.get(joint)
        if scale is not None:
            parts.append(f"servo {scale.angle(at):.0f} deg")
        return ", ".join(parts)


def _degrees(angle: float) -> float:
    """Degrees rounded to one decimal, without -0.0."""
    return round(math.degrees(angle), 1) + 0.0
