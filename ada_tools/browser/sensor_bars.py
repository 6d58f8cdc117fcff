# SPDX-License-Identifier: Apache-2.0
"""Wrenches of a hardware node's sensors: bars beside the scene, and an arrow at the link that carries the sensor."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_tools.browser.device_status import wrench_html
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import RobotNode, Wrench

_FRESH = 1.0  # [s] that a wrench counts
_SHOWN = 0.2  # [s] between looks
_LEAST = (10.0, 1.0)  # [N, N m] of a whole bar, at least
_LONGEST = 0.3  # of the robot's size: the arrow of a whole bar
ORDER = -2.0  # on the page: above the sliders
_COLOUR = (220, 60, 30)


class SensorBars:
    """Bars and arrows of all sensors, and the button that takes what they measure now for zero."""

    def __init__(self, page: Page, node: RobotNode, sensors: list[str]) -> None:
        """Add them to the page.

        Args:
            page: to draw on.
            node: that reads the sensors.
            sensors: their names.
        """
        self._page, self._node = page, node
        self._greatest = dict.fromkeys(sensors, _LEAST)
        self._arrows: dict[str, Any] = {}
        self._shown_at = -math.inf
        self._folder = page.gui.add_folder("forces", order=ORDER)
        with self._folder:
            self.bars = {name: page.gui.add_html("") for name in sensors}
            self.bias = page.gui.add_button(
                "take this for zero", hint="~/bias: of all sensors; nothing must touch them"
            )
        page.when(self.bias, lambda: node.bias(self._said))

    def tick(self, poses: Mapping[str, Array], size: float) -> None:
        """Once a frame.

        Args:
            poses: of the robot's links in the world; none where no robot is shown.
            size: of the robot [m].
        """
        now = time.monotonic()
        if now - self._shown_at < _SHOWN:
            return
        self._shown_at = now
        with self._page.server.atomic():
            for name, bars in self.bars.items():
                wrench = self._node.wrench(name)
                if wrench is not None and now - wrench.arrived > _FRESH:
                    wrench = None
                if wrench is not None:
                    self._greatest[name] = _grown(self._greatest[name], wrench.values)
                text = wrench_html(name, wrench, self._greatest[name])
                if text != bars.content:
                    bars.content = text
                self._draw(name, wrench, poses, size)

    def remove(self) -> None:
        """Take them off the page."""
        self._folder.remove()
        for arrow in self._arrows.values():
            arrow.remove()
        self._arrows.clear()

    def _draw(self, name: str, wrench: Wrench | None, poses: Mapping[str, Array], size: float) -> None:
        """The force as an arrow, where the scene has its frame."""
        arrow = self._arrows.get(name)
        if wrench is None or wrench.frame not in poses:
            if arrow is not None:
                arrow.visible = False
            return
        pose = poses[wrench.frame]
        reach = _LONGEST * size / self._greatest[name][0] * wrench.values[:3]
        points = np.array([[pose[:3, 3], pose[:3, 3] + pose[:3, :3] @ reach]], dtype=np.float32)
        if arrow is None:
            width = 0.008 * size
            self._arrows[name] = self._page.scene.add_arrows(
                f"/wrench/{name}", points, _COLOUR, shaft_radius=width, head_radius=2.5 * width, head_length=5.0 * width
            )
            return
        arrow.points, arrow.visible = points, True

    def _said(self, problem: str | None) -> None:
        self._page.say(problem or "What the sensors measure now is zero from now on.")


def _grown(greatest: tuple[float, float], values: Array) -> tuple[float, float]:
    """The scale of the bars: what was measured so far, in steps of a doubling."""
    found = []
    for scale, part in zip(greatest, (values[:3], values[3:]), strict=True):
        doublings = max(0, math.ceil(math.log2(max(float(np.abs(part).max()), 1e-9) / scale)))
        found.append(scale * 2.0**doublings)
    return found[0], found[1]
