# SPDX-License-Identifier: Apache-2.0
"""Controls of a hardware node: lifecycle phases, STOP, the hold-to-run button, joint sliders and force sensors.

STOP is requested on the server thread, independent of the page thread and of other browser messages; see
stop_button.py. All motion requires the hold-to-run button; see hold_button.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

from ada_dynamics.arrays import Array
from ada_robot.node_state import (
    ACTIVE,
    CLOSED,
    INACTIVE,
    STARTING,
    STOPPED,
    STOPPING,
    UNCONFIGURED,
    DeviceState,
    HardwareState,
)
from ada_tools.browser.hold_button import HoldButton
from ada_tools.browser.page import Page, TextBox
from ada_tools.browser.plots import LivePlot
from ada_tools.browser.robot_node import ReceivedPositions, Request, RobotNode
from ada_tools.browser.sliders import MotorSliders
from ada_tools.browser.stop_button import StopButton

STOP, HOLD = "STOP", "hold to move"
GREEN, BLUE, AMBER, RED, GREY = "#1a8f3c", "#1c6fd0", "#c77700", "#cc1122", "#6b7280"
_COLOURS = {ACTIVE: GREEN, "reading": GREEN, INACTIVE: BLUE, STARTING: AMBER, STOPPING: AMBER, "silent": AMBER}
_COLOURS |= {STOPPED: RED, "lost": RED}
_NONE = -1  # no press yet
_REPEATS, _AGAIN = 10.0, 0.5  # [s] repeat a stop request for this time, at this interval, until the node confirms it
_ONE_PRESS = 0.1  # [s] events of one STOP press, by button and key, arrive within this time
_FRESH = 1.0  # [s] maximum age of valid positions
_TRANSITIONS: tuple[Request, ...] = ("configure", "activate", "deactivate")
_PRESS_ANEW = "release the button and press it again to arm the robots"
_PLOTTED = 0.1  # [s] between updates of a plot


class ForcePlot:
    """Plots of the force and the moment of a sensor."""

    def __init__(self, page: Page, node: RobotNode, sensor: str) -> None:
        """Add the plots of a sensor that a node reads."""
        self._page, self._node, self._sensor = page, node, sensor
        self._drawn_at = -math.inf
        self.folder = page.gui.add_folder(f"{sensor}: forces", order=-2.0)
        with self.folder:
            self.force = LivePlot(page.gui, "force [N]", ("Fx", "Fy", "Fz"))
            self.moment = LivePlot(page.gui, "moment [N m]", ("Mx", "My", "Mz"))
            zero = page.gui.add_button("zero the sensors", hint="~/bias: of all sensors; they must be unloaded")
        page.when(zero, lambda: node.ask("bias", lambda problem: page.say(problem or "Sensors zeroed.")))

    def tick(self) -> None:
        """Per-frame update."""
        wrench, now = self._node.wrench(self._sensor), self._page.clock.now()
        if wrench is None:
            return
        self.force.add(wrench.arrived, wrench.values[:3].tolist())
        self.moment.add(wrench.arrived, wrench.values[3:].tolist())
        if now - self._drawn_at >= _PLOTTED:
            self._drawn_at = now
            self.force.draw()
            self.moment.draw()


class DevicePanel:
    """Controls of one hardware node; empty until the node is detected.

    Attributes:
        node: connection to the hardware node.
        state: latest state of the node.
        sliders: joint sliders by robot.
        move: hold-to-run button for slider motion; None before the node is detected.
        stop_button: stops all robots; None before the node is detected.
    """

    def __init__(self, page: Page, node: RobotNode) -> None:
        """Create an empty panel of a hardware node."""
        self._page, self.node = page, node
        self.state: HardwareState | None = None
        self.sliders: dict[str, MotorSliders] = {}
        self.move: HoldButton | None = None
        self.stop_button: StopButton | None = None
        self._forces: list[ForcePlot] = []
        self._shape: tuple[object, ...] | None = None  # device layout currently on the page
        self._press = _NONE  # number of the current press
        # done in the current press: "say", "activate", "arm", "failed", "active"
        self._done: set[str] = set()
        self._refusals = 0  # number of reported refusals
        self._stop_until = self._stopped_at = -math.inf  # [s] on the page clock

        async def gone(client: Any) -> None:
            if self.move is not None:
                self.move.release(client.client_id)
            if self.stop_button is not None:
                self.stop_button.forget(client.client_id)

        page.server.on_client_disconnect(gone)

    @property
    def is_seen(self) -> bool:
        """Return True once the hardware node was detected; from then on only it may command its robots."""
        return self.state is not None

    # --- layout -------------------------------------------------------------------------------------------------
    def build(self) -> None:
        """Build the panel, also after the page was cleared; no effect before the node is detected."""
        self.close()
        self.sliders.clear()
        self._forces.clear()
        self._shape = None
        self._press = _NONE  # the new button counts presses from the start
        if not self.is_seen:
            return
        gui, page = self._page.gui, self._page
        panel = gui.add_panel()
        with panel.add_tab(self.node.driver):
            self.stop_button = StopButton(page, STOP, "stop all robots, in every state", self._stop)
            self.move = HoldButton(
                page, HOLD, color="green", hint="robots move to their sliders only while this is held"
            )
            self._says = TextBox(gui, 4)
            self.buttons = {name: gui.add_button(name) for name in (*_TRANSITIONS, "arm", "reset")}
            self._status = gui.add_html("")  # last: its height depends on the devices and alarms
        panel.dock_left()
        panel.expand()  # folded by default on phones

        for name in _TRANSITIONS:
            page.when(self.buttons[name], self._asking(name), moves=name != "deactivate")
        page.when(self.buttons["arm"], self._asking("arm"), moves=True)
        page.when(self.buttons["reset"], self._reset, moves=True)
        self._status_text = ""

    def _build_devices(self, state: HardwareState) -> None:
        """Build the sliders and the plots of sensors, again whenever the set of devices changes."""
        shape = tuple((one.name, one.kind, one.motors) for one in state.devices.values())
        if shape == self._shape:
            return
        self._shape = shape
        for sliders in self.sliders.values():
            sliders.remove()
        self.sliders.clear()
        for plot in self._forces:
            plot.folder.remove()
        self._forces = [
            ForcePlot(self._page, self.node, one.name) for one in state.devices.values() if not one.is_robot
        ]
        for device in state.devices.values():
            if device.is_robot and "position" in device.modes:
                send = partial(self.node.command, device=device.name)
                self.sliders[device.name] = MotorSliders(self._page, f"{device.name}: joints", device.motors, send)

    def close(self) -> None:
        """Stop all commands."""
        for sliders in self.sliders.values():
            sliders.end()

    # --- once a frame -------------------------------------------------------------------------------------------
    def tick(self) -> None:
        """Per-frame update: read the node state and send commands."""
        was_seen = self.is_seen
        self.state = self.node.state
        if self.state is None:
            return
        if not was_seen or self.move is None:
            self.build()
        self._build_devices(self.state)
        self._repeat_stop(self.state)
        is_held = self._tick_move(self.state)
        for name, sliders in self.sliders.items():
            self._tick_sliders(sliders, self.state.devices[name], is_held)
        self._show(self.state)
        for plot in self._forces:
            plot.tick()

    def _tick_sliders(self, sliders: MotorSliders, device: DeviceState, is_held: bool) -> None:
        """Send commands while the button is held; a device that stopped or is lost loses its targets."""
        present = self._fresh(sliders, self.node.measured(device.name))
        before = self._fresh(sliders, self.node.commanded(device.name))
        if sliders.wanted and (device.phase in (STOPPED, CLOSED) or present is None):
            sliders.forget()
        sliders.tick(present, is_enabled=is_held and device.phase == ACTIVE, before=before)

    def _fresh(self, sliders: MotorSliders, received: ReceivedPositions | None) -> Array | None:
        """Recent positions of all motors; None if they are outdated."""
        is_fresh = received is not None and self._page.clock.now() - received.arrived <= _FRESH
        return sliders.positions(received.positions) if is_fresh and received is not None else None

    def _tick_move(self, state: HardwareState) -> bool:
        """Return True if commands may be sent; the first press of the button activates an inactive node.

        If the robots must be armed, a second press, started while they are active, arms them.
        """
        hold = self.move
        if hold is None or not hold.is_held:
            refusal = self._refusal()
            self._says.show(f"held, but nothing moves: {refusal}" if refusal else "released: nothing moves", GREY)
            return False
        if hold.presses != self._press:
            self._press, self._done = hold.presses, set()
        problem = self._blocking_reason(state)
        if problem:
            self._says.show(f"held, but nothing moves: {problem}", AMBER)
            if self._is_first("say"):
                self._page.say(f"Nothing moves: {problem}")
            return False
        if state.phase == ACTIVE and not _is_armed(state):
            if self._is_first("arm"):
                self._asking("arm")()
            self._says.show("held: waiting for the robots to be armed", AMBER)
            return False
        if state.phase == ACTIVE:
            self._done.add("active")
            self._says.show("held: robots move to their sliders", GREEN)
            return True
        if self._is_first("activate"):
            self.node.ask("activate", partial(self._activated, hold.presses))
        self._says.show("held: waiting for the robots to be active", AMBER)
        return False

    def _refusal(self) -> str:
        """Reason why a browser's press is refused; reported to all browsers once per press."""
        if self.move is None:
            return ""
        why, refusals = self.move.refusal, self.move.refusals
        if refusals != self._refusals:
            self._refusals = refusals
            if why:
                self._page.say(why)
        return why

    def _activated(self, press: int, problem: str | None) -> None:
        if problem is not None:
            if press == self._press:
                self._done.add("failed")
            self._answer("activate")(problem)

    def _is_first(self, what: str) -> bool:
        """Return True if this action was not yet done in the current press."""
        is_first = what not in self._done
        self._done.add(what)
        return is_first

    def _blocking_reason(self, state: HardwareState) -> str:
        """Reason why no command may be sent, or "" if commands are allowed once the robots are active."""
        if not self.node.is_there:
            return f"{self.node.driver} is not available"
        if state.stopped:
            return f"stopped: {state.stopped}; press reset first"
        fallen = [f"{one.name} is stopped: {one.reason}" for one in state.devices.values() if one.phase == STOPPED]
        if fallen:
            return f"{'; '.join(fallen)}; press reset first"
        if state.phase not in (ACTIVE, INACTIVE):
            return f"{self.node.driver} is {state.phase}: press configure first"
        if not self.sliders:
            return "no robot accepts position commands"
        if "failed" in self._done:
            return f"the robots did not become active: {state.problem or 'see above'}"
        if state.phase == INACTIVE and "active" in self._done:
            reasons = "; ".join(f"{name} is {one.phase}: {one.reason}" for name, one in state.devices.items())
            return f"{reasons}; release the button and press it again"
        if state.phase == ACTIVE and not _is_armed(state) and self._done & {"activate", "active"}:
            return _PRESS_ANEW
        for name in self.sliders:
            others = self.node.others.get(name)
            if others:
                return f"{', '.join(others)} already commands {name}: stop that node or use its controls"
        return ""

    # --- requests and messages ----------------------------------------------------------------------------------
    def _stop(self) -> None:
        """Request a stop (on the server thread)."""
        now = self._page.clock.now()
        if now - self._stopped_at < _ONE_PRESS:
            return
        self._stop_until, self._stopped_at = now + _REPEATS, now
        self.node.ask("stop", self._answer(STOP))

    def _repeat_stop(self, state: HardwareState) -> None:
        """Repeat the stop request until the node reports the latched stop; a message may get lost or arrive early."""
        now = self._page.clock.now()
        if state.stopped:
            self._stop_until = -math.inf
        elif now < self._stop_until and now - self._stopped_at > _AGAIN:
            self._stopped_at = now
            self.node.ask("stop", lambda problem: None)  # the first request already reports errors

    def _reset(self) -> None:
        self._stop_until = -math.inf
        self._asking("reset")()

    def _asking(self, request: Request) -> Callable[[], None]:
        return lambda: self.node.ask(request, self._answer(request))

    def _answer(self, what: str) -> Callable[[str | None], None]:
        def then(problem: str | None) -> None:
            if problem is not None:
                self._page.say(f"{what}: {problem}")

        return then

    def _show(self, state: HardwareState) -> None:
        is_there = self.node.is_there
        text = status_html(self.node.driver, state, is_there=is_there)
        if text != self._status_text:
            self._status_text = self._status.content = text
        may = {
            "configure": state.phase == UNCONFIGURED,
            "activate": state.phase == INACTIVE and not state.stopped,
            "deactivate": state.phase == ACTIVE,
            "arm": state.phase == ACTIVE and not _is_armed(state),
            "reset": state.phase != ACTIVE,
        }
        for name, button in self.buttons.items():
            is_off = not (may[name] and is_there)
            if button.disabled != is_off:
                button.disabled = is_off


def _is_armed(state: HardwareState) -> bool:
    return all(one.is_armed for one in state.devices.values())


def _badge(name: str, phase: str) -> str:
    """Coloured label with a name and its phase."""
    return (
        f'<span style="background:{_COLOURS.get(phase, GREY)};color:#fff;border-radius:4px;padding:1px 8px;'
        f'font-weight:600">{escape(name)}: {escape(phase)}</span>'
    )


def status_html(name: str, state: HardwareState | None, *, is_there: bool) -> str:
    """Latest status of the node and its devices, and whether the node is available now."""
    if state is None or not is_there:
        gone = _badge(name, "unavailable" if state is not None else "not detected")
        return _box([_line(gone + " its robots stop automatically; STOP on this page has no effect.")])
    lines = [_line(_badge(name, state.phase) + (" dry run: no port is open" if state.is_dry else ""))]
    if state.stopped:
        lines.append(_line(f"stopped: {escape(state.stopped)}; reset it before the next motion.", RED))
    if state.problem:
        lines.append(_line(escape(state.problem), RED))
    for device in state.devices.values():
        lines += _device_lines(device)
    return _box(lines)


def _device_lines(device: DeviceState) -> list[str]:
    lines = [_line(f"{_badge(device.name, device.phase)} {escape(device.reason)}")]
    lines += [_line(f"alarm: {escape(alarm)}", RED) for alarm in device.alarms]
    if device.passed_limit:
        lines.append(_line(f"limit passed: {escape(device.passed_limit)}", RED))
    if device.last_refusal:
        lines.append(_line(f"last refused: {escape(device.last_refusal)}", AMBER))
    return lines


def _line(content: str, colour: str = "") -> str:
    style = f"margin:2px 0;{f'color:{colour}' if colour else ''}"
    return f'<div style="{style}">{content}</div>'


def _box(lines: list[str]) -> str:
    return f'<div style="margin:0 0.8em 0.5em 0.8em;font-size:0.85em;overflow-wrap:anywhere">{"".join(lines)}</div>'
