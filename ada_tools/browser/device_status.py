# SPDX-License-Identifier: Apache-2.0
"""Status of a hardware node: phases with colours, alarms and refused commands, and wrenches of force sensors.

A wrench is shown by bars on the page, and by an arrow at the link that carries the sensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import FORCE, Mark, arrow_mark
from ada_robot.node_state import ACTIVE, INACTIVE, STARTING, STOPPED, STOPPING, DeviceState, HardwareState
from ada_tools.browser.marks_layer import MarksLayer
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import RobotNode, Wrench

GREEN, BLUE, AMBER, RED, GREY = "#1a8f3c", "#1c6fd0", "#c77700", "#cc1122", "#6b7280"
_COLOURS = {ACTIVE: GREEN, "reading": GREEN, INACTIVE: BLUE, STARTING: AMBER, STOPPING: AMBER, "silent": AMBER}
_COLOURS |= {STOPPED: RED, "lost": RED}
_AXES = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
_UNITS = ("N", "N", "N", "N m", "N m", "N m")


def phase_colour(phase: str) -> str:
    """Colour of a phase: green active, blue ready, amber in transition, red stopped or lost, grey unavailable."""
    return _COLOURS.get(phase, GREY)


def badge(name: str, phase: str) -> str:
    """Coloured label with a name and its phase."""
    return (
        f'<span style="background:{phase_colour(phase)};color:#fff;border-radius:4px;padding:1px 8px;'
        f'font-weight:600">{escape(name)}: {escape(phase)}</span>'
    )


def status_html(name: str, state: HardwareState | None, *, is_there: bool) -> str:
    """Status of the node and its devices.

    Args:
        name: name of the node.
        state: latest state of the node.
        is_there: whether the node is available now.
    """
    if state is None or not is_there:
        gone = badge(name, "unavailable" if state is not None else "not detected")
        return _box([_line(gone + " its robots stop automatically; STOP on this page has no effect.")])
    lines = [_line(badge(name, state.phase) + (" dry run: no port is open" if state.is_dry else ""))]
    if state.stopped:
        lines.append(_line(f"stopped: {escape(state.stopped)}; reset it before the next motion.", RED))
    if state.problem:
        lines.append(_line(escape(state.problem), RED))
    for device in state.devices.values():
        lines += _device_lines(device)
    return _box(lines)


def _device_lines(device: DeviceState) -> list[str]:
    lines = [_line(f"{badge(device.name, device.phase)} {escape(device.reason)}")]
    lines += [_line(f"alarm: {escape(alarm)}", RED) for alarm in device.alarms]
    if device.passed_limit:
        lines.append(_line(f"limit passed: {escape(device.passed_limit)}", RED))
    if device.last_refusal:
        lines.append(_line(f"last refused: {escape(device.last_refusal)}", AMBER))
    return lines


def wrench_html(name: str, wrench: Wrench | None, scale: tuple[float, float]) -> str:
    """Six bars, one per wrench component, each with zero at its centre.

    Args:
        name: name of the sensor.
        wrench: latest measurement; None without a recent one.
        scale: full-scale force and moment [N, N m].
    """
    title = f"{escape(name)}: no measurement"
    if wrench is not None:
        title = f"{escape(name)} in {escape(wrench.frame)}, bars up to {scale[0]:g} N, {scale[1]:g} N m"
    rows = []
    for i, (axis, unit) in enumerate(zip(_AXES, _UNITS, strict=True)):
        value = 0.0 if wrench is None else float(wrench.values[i])
        share = float(np.clip(value / scale[i // 3], -1.0, 1.0))
        left, width = 50.0 + min(0.0, 50.0 * share), 50.0 * abs(share)
        rows.append(
            f'<div style="display:flex;align-items:center;gap:6px"><span style="width:1.6em">{axis}</span>'
            f'<div style="position:relative;flex:1;height:0.7em;background:#e5e7eb">'
            f'<div style="position:absolute;left:{left:.0f}%;width:{width:.0f}%;height:100%;background:{BLUE}"></div>'
            f'</div><span style="width:6.5em;text-align:right">{value:.2f} {unit}</span></div>'
        )
    # Keep the height without a reading, so that controls below do not shift.
    bars = f'<div style="visibility:{"hidden" if wrench is None else "visible"}">{"".join(rows)}</div>'
    title = f'<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis">{title}</div>'
    return _box([_line(title, AMBER if wrench is None else ""), bars])


def _line(content: str, colour: str = "") -> str:
    style = f"margin:2px 0;{f'color:{colour}' if colour else ''}"
    return f'<div style="{style}">{content}</div>'


def _box(lines: list[str]) -> str:
    return f'<div style="margin:0 0.8em 0.5em 0.8em;font-size:0.85em;overflow-wrap:anywhere">{"".join(lines)}</div>'


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
