# SPDX-License-Identifier: Apache-2.0
"""Wrenches of force sensors: bars on the page, and an arrow at the link that carries the sensor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import FORCE, Mark, arrow_mark
from ada_tools.browser.device_status import wrench_html
from ada_tools.browser.marks_layer import MarksLayer
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import RobotNode

_FRESH = 1.0  # [s] maximum age of a wrench
_SHOWN = 0.2  # [s] display period
_LEAST = (10.0, 1.0)  # [N, N m] minimum full scale
_LONGEST = 0.3  # length of a full-scale arrow in robot sizes
ORDER = -2.0  # order on the page: above the sliders


class SensorBars:
    """Bars and arrows of all sensors, and a button that zeroes them."""

    def __init__(self, page: Page, node: RobotNode, sensors: list[str]) -> None:
        """Add the bars to the page.

        Args:
            page: page to draw on.
            node: node that reads the sensors.
            sensors: names of the sensors.
        """
        self._page, self._node = page, node
        self._greatest = dict.fromkeys(sensors, _LEAST)
        self._arrows = MarksLayer(page.server, "/wrench")
        self._shown_at = -math.inf
        self._folder = page.gui.add_folder("forces", order=ORDER)
        with self._folder:
            self.bars = {name: page.gui.add_html("") for name in sensors}
            self.bias = page.gui.add_button("zero the sensors", hint="~/bias: of all sensors; they must be unloaded")
        page.when(self.bias, lambda: node.bias(self._said))

    def tick(self, poses: Mapping[str, Array], size: float) -> None:
        """Per-frame update.

        Args:
            poses: link poses in the world frame; empty without a displayed robot.
            size: size of the robot [m].
        """
        now = self._page.clock.now()
        if now - self._shown_at < _SHOWN:
            return
        self._shown_at = now
        arrows: list[Mark] = []
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
                if wrench is not None and wrench.frame in poses:  # frame is part of the robot
                    pose = poses[wrench.frame]
                    reach = _LONGEST * size / self._greatest[name][0] * pose[:3, :3] @ wrench.values[:3]
                    arrows.append(arrow_mark(name, 0, pose[:3, 3], reach, size, FORCE))
        self._arrows.show(arrows)

    def remove(self) -> None:
        """Remove the bars and arrows."""
        self._folder.remove()
        self._arrows.remove()

    def _said(self, problem: str | None) -> None:
        self._page.say(problem or "Sensors zeroed at their present readings.")


def _grown(greatest: tuple[float, float], values: Array) -> tuple[float, float]:
    """Full scale of the bars, doubled until it covers the values."""
    found = []
    for scale, part in zip(greatest, (values[:3], values[3:]), strict=True):
        doublings = max(0, math.ceil(math.log2(max(float(np.abs(part).max()), 1e-9) / scale)))
        found.append(scale * 2.0**doublings)
    return found[0], found[1]
