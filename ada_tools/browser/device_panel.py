# SPDX-License-Identifier: Apache-2.0
"""Controls of a hardware node: lifecycle phases, STOP, hold-to-run buttons, joint sliders and a commanded ghost.

STOP is requested on the server thread, independent of the page thread and of other browser messages; see
stop_button.py. All motion requires a hold-to-run button; see hold.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from ada_robot.node_state import (
    ACTIVE,
    INACTIVE,
    STOPPED,
    UNCONFIGURED,
    DeviceState,
    HardwareState,
)
from ada_tools.browser.device_sliders import DeviceSliders
from ada_tools.browser.device_status import AMBER, GREEN, GREY, SensorBars, status_html
from ada_tools.browser.hold_button import HoldButton
from ada_tools.browser.overlays import GhostRobot
from ada_tools.browser.page import Page, TextBox
from ada_tools.browser.robot_node import Positions, RobotNode
from ada_tools.browser.robot_page import RobotPage
from ada_tools.browser.stop_button import StopButton

STOP = "STOP"
HOLD, PLAY = "hold to move", "hold to play"
_ORDER = -3.0  # order of the motion folder: above the sliders
_NONE = -1  # no press yet
_REPEATS, _AGAIN = 10.0, 0.5  # [s] repeat a stop request for this time, at this interval, until the node confirms it
_ONE_PRESS = 0.1  # [s] events of one STOP press, by button and key, arrive within this time
_TRANSITIONS = ("configure", "activate", "deactivate")
_PRESS_ANEW = "release the button and press it again to arm the robots"


class DevicePanel:
    """Controls of one hardware node; empty until the node is detected.

    Attributes:
        node: connection to the hardware node.
        state: latest state of the node.
        sliders: joint sliders by robot.
        move: hold-to-run button for slider motion; None before the node is detected.
        play: hold-to-run button for recorded motions; None if no robot has any.
        stop_button: stops all robots; None before the node is detected.
    """

    def __init__(self, page: Page, node: RobotNode) -> None:
        """Create an empty panel.

        Args:
            page: page to draw on.
            node: connection to the hardware node.
        """
        self._page, self.node = page, node
        self.state: HardwareState | None = None
        self.sliders: dict[str, DeviceSliders] = {}
        self.move: HoldButton | None = None
        self.play: HoldButton | None = None
        self.stop_button: StopButton | None = None
        self._sensors: SensorBars | None = None
        self._shape: tuple[object, ...] | None = None  # device layout currently on the page
        self._press = self._played_in = _NONE  # number of the current press, and of the press that started a motion
        # done in the current press: "say", "activate", "arm", "failed", "active"
        self._done: set[str] = set()
        self._played_by = ""
        self._refusals = 0  # number of reported refusals
        self._stop_until = self._stopped_at = -math.inf  # [s] on the page clock

        async def gone(client: Any) -> None:
            for hold in (self.move, self.play):
                if hold is not None:
                    hold.release(client.client_id)
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
        self._remove_play()
        self._sensors = None
        self._shape = None
        self._press = _NONE  # the new button counts presses from the start
        if not self.is_seen:
            return
        gui, page = self._page.gui, self._page
        self._panel = gui.add_panel()
        with self._panel.add_tab(self.node.driver):
            self.stop_button = StopButton(page, STOP, "stop all robots, in every state", self._stop)
            self.move = HoldButton(
                page, HOLD, color="green", hint="robots move to their sliders only while this is held"
            )
            self._says = TextBox(gui, 4)
            self.buttons = {name: gui.add_button(name) for name in (*_TRANSITIONS, "arm", "reset")}
            self._status = gui.add_html("")  # last: its height depends on the devices and alarms
        self._panel.dock_left()
        self._panel.expand()  # folded by default on phones

        for name in _TRANSITIONS:
            page.when(self.buttons[name], self._asking(name), moves=name != "deactivate")
        page.when(self.buttons["arm"], lambda: self.node.arm(self._answer("arm")), moves=True)
        page.when(self.buttons["reset"], self._reset, moves=True)
        self._status_text = ""

    def _build_devices(self, state: HardwareState) -> None:
        """Build sliders, motions and sensor bars, again whenever the set of devices changes."""
        shape = tuple((one.name, one.kind, one.motors, one.motions) for one in state.devices.values())
        if shape == self._shape:
            return
        self._shape = shape
        for sliders in self.sliders.values():
            sliders.remove()
        self.sliders.clear()
        if self._sensors is not None:
            self._sensors.remove()
            self._sensors = None
        if self.play is not None:
            self._motions.remove()
            self._remove_play()
        players = [one for one in state.devices.values() if one.motions]
        if players:
            self._add_motions(players[0])
        sensors = [one.name for one in state.devices.values() if not one.is_robot]
        if sensors:
            self._sensors = SensorBars(self._page, self.node, sensors)
        for device in state.devices.values():
            if device.is_robot and "position" in device.modes:
                self.sliders[device.name] = DeviceSliders(self._page, self.node, device)

    def _add_motions(self, device: DeviceState) -> None:
        gui = self._page.gui
        self._motions = gui.add_folder(f"{device.name}: motions", order=_ORDER)
        self._played_by = device.name
        with self._motions:
            self._paths = _by_name(device.motions)
            self.motion = gui.add_dropdown("motion", tuple(self._paths), initial_value=next(iter(self._paths)))
            self.play = HoldButton(
                self._page, PLAY, hint="releasing it deactivates the robot, which then holds its position"
            )

    def _remove_play(self) -> None:
        """Remove the play button: treat it as released and end its motion."""
        if self.play is not None and self._played_in == self.play.presses:
            player = self.state.devices.get(self._played_by) if self.state is not None else None
            if self.play.is_held or (player is not None and player.plays):
                self.node.change("deactivate", self._answer("deactivate"))
        self._played_in, self.play = _NONE, None

    def close(self) -> None:
        """Stop all commands."""
        for sliders in self.sliders.values():
            sliders.end()

    # --- once a frame -------------------------------------------------------------------------------------------
    def tick(self, robot: RobotPage | None) -> None:
        """Per-frame update: read the node state and send commands.

        Args:
            robot: displayed robot; None without one.
        """
        was_seen = self.is_seen
        self.state = self.node.state()
        if self.state is None:
            return
        if not was_seen or self.move is None:
            self.build()
        self._build_devices(self.state)
        self._repeat_stop(self.state)
        is_held = self._tick_move(self.state)
        for name, sliders in self.sliders.items():
            sliders.tick(self.state.devices[name], is_held=is_held)
        self._tick_play(self.state)
        self._show(self.state)
        if self._sensors is not None:
            scene = robot.scene if robot is not None else None
            self._sensors.tick(scene.poses if scene else {}, scene.size if scene else 1.0)
        if robot is not None and robot.ghost is not None:
            self._show_ghost(robot, robot.ghost)

    def _tick_move(self, state: HardwareState) -> bool:
        """Return True if commands may be sent; the first press while the node is inactive activates it.

        If the robots must be armed, a second press, started while they are active, arms them.
        """
        hold = self.move
        if hold is None or not hold.is_held:
            refusal = self._refusal()
            self._show_remark(f"held, but nothing moves: {refusal}" if refusal else "released: nothing moves", GREY)
            return False
        if hold.presses != self._press:
            self._press, self._done = hold.presses, set()
        problem = self._blocking_reason(state)
        if problem:
            self._show_remark(f"held, but nothing moves: {problem}", AMBER)
            if self._is_first("say"):
                self._page.say(f"Nothing moves: {problem}")
            return False
        if state.phase == ACTIVE and not _is_armed(state):
            if self._is_first("arm"):
                self.node.arm(self._answer("arm"))
            self._show_remark("held: waiting for the robots to be armed", AMBER)
            return False
        if state.phase == ACTIVE:
            self._done.add("active")
            self._show_remark("held: robots move to their sliders", GREEN)
            return True
        if self._is_first("activate"):
            self.node.change("activate", partial(self._activated, hold.presses))
        self._show_remark("held: waiting for the robots to be active", AMBER)
        return False

    def _refusal(self) -> str:
        """Reason why a browser's press is refused; reported to all browsers once per press."""
        holds = [hold for hold in (self.move, self.play) if hold is not None]
        why = next((hold.refusal for hold in holds if hold.refusal), "")
        refusals = sum(hold.refusals for hold in holds)
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
            if state.devices[name].plays:
                return f"{name} plays {state.devices[name].plays}"
            others = self.node.others(name)
            if others:
                return f"{', '.join(others)} already commands {name}: stop that node or use its controls"
        return ""

    def _tick_play(self, state: HardwareState) -> None:
        """Play a motion while its button is held; on release, or if the browser disconnects, deactivate the robot."""
        hold = self.play
        if hold is None:
            return
        device = state.devices[self._played_by]
        if hold.is_held and self._played_in != hold.presses:
            self._played_in = hold.presses
            play = partial(self.node.play, self._paths[str(self.motion.value)], self._answer("play"))
            if state.phase == ACTIVE and not _is_armed(state):
                self.node.arm(lambda problem: self._answer("arm")(problem) if problem or not hold.is_held else play())
            else:
                play()
        elif not hold.is_held and device.plays and self._played_in == hold.presses:
            self._played_in = _NONE
            self.node.change("deactivate", self._answer("deactivate"))

    # --- the ghost ----------------------------------------------------------------------------------------------
    def _show_ghost(self, robot: RobotPage, ghost: GhostRobot) -> None:
        """Show the slider targets as a ghost, or the commanded positions if the sliders have no target."""
        shown: Positions | None = None
        for name, sliders in self.sliders.items():
            if all(motor.name in robot.model.joints for motor in sliders.motors):
                measured, commanded = self.node.measured(name), self.node.commanded(name)
                if sliders.differs(measured.positions if measured is not None else {}):
                    shown = {**(commanded.positions if commanded else {}), **sliders.wishes}
                    break
                if commanded is not None and self.state is not None and self.state.phase == ACTIVE:
                    shown = commanded.positions
                    break
        ghost.show(robot.q, shown)

    # --- requests and messages ----------------------------------------------------------------------------------
    def _stop(self) -> None:
        """Request a stop (on the server thread)."""
        now = self._page.clock.now()
        if now - self._stopped_at < _ONE_PRESS:
            return
        self._stop_until, self._stopped_at = now + _REPEATS, now
        self.node.stop(self._answer(STOP))

    def _repeat_stop(self, state: HardwareState) -> None:
        """Repeat the stop request until the node reports the latched stop; a message may get lost or arrive early."""
        now = self._page.clock.now()
        if state.stopped:
            self._stop_until = -math.inf
        elif now < self._stop_until and now - self._stopped_at > _AGAIN:
            self._stopped_at = now
            self.node.stop(lambda problem: None)  # the first request already reports errors

    def _reset(self) -> None:
        self._stop_until = -math.inf
        self.node.reset(self._answer("reset"))

    def _asking(self, transition: str) -> Callable[[], None]:
        return lambda: self.node.change(transition, self._answer(transition))

    def _answer(self, what: str) -> Callable[[str | None], None]:
        def then(problem: str | None) -> None:
            if problem is not None:
                self._page.say(f"{what}: {problem}")

        return then

    def _show_remark(self, text: str, colour: str) -> None:
        self._says.show(text, colour)

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


def _by_name(paths: Sequence[str]) -> dict[str, str]:
    """Map paths by file name; by the full path if two files share a name."""
    names = [PurePath(path).name for path in paths]
    return {name if names.count(name) == 1 else path: path for name, path in zip(names, paths, strict=True)}
