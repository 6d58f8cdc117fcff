# SPDX-License-Identifier: Apache-2.0
"""`ada view ROBOT`: a robot with a slider for each coordinate; where loops stay closed, some follow the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_dynamics.view.browser.page import HOST, PORT, Page, SharedNumber
from ada_dynamics.view.browser.posing import Knob, Posing
from ada_dynamics.view.browser.scene import Scene

Array = NDArray[np.float64]

_STEPS = 1000  # of a slider, from end to end


class PosePage:
    """Sliders beside the robot."""

    def __init__(self, page: Page, model: Model, q: Array | None = None) -> None:
        """Draw the robot and its sliders.

        Args:
            page: to draw on.
            model: the robot.
            q: where it starts; loops are closed from there.
        """
        self.page = page
        dynamics = Dynamics(model)
        self.posing = Posing(model, q, dynamics)
        self.scene = Scene(page.server, model, dynamics)
        self._start = self.posing.q.copy()
        gui = page.gui
        self.status = gui.add_markdown("")
        self.sliders: list[tuple[Knob, Any]] = []
        self._numbers: dict[Knob, SharedNumber] = {}
        with gui.add_folder("joints"):
            self._add_sliders(gui, [knob for knob in self.posing.knobs if knob.leads])
        followers = [knob for knob in self.posing.knobs if not knob.leads]
        if followers:
            with gui.add_folder("joints that follow", expand_by_default=len(followers) <= 6):
                self._add_sliders(gui, followers)
        home = gui.add_button("back to the start")
        page.when(home, self.reset)
        com = gui.add_checkbox("centre of mass", False)
        page.when(com, partial(self._show_com, com))
        self.refresh()

    def _add_sliders(self, gui: Any, knobs: list[Knob]) -> None:
        for knob in knobs:
            value, unit = _shown(knob, self.posing.value(knob)), "deg" if knob.is_angle else "m"
            low, high = _shown(knob, knob.lower), _shown(knob, knob.upper)
            low, high = min(low, math.floor(value * 10) / 10), max(high, math.ceil(value * 10) / 10)
            step = (high - low) / _STEPS or 1.0 / _STEPS
            slider = gui.add_slider(f"{knob.label} [{unit}]", low, high, min(step, 0.1), value, disabled=not knob.leads)
            self.sliders.append((knob, slider))
            self._numbers[knob] = SharedNumber(slider)
            if knob.leads:
                self.page.when(slider, partial(self.move, knob))

    def move(self, knob: Knob) -> None:
        """Follow a slider; it springs back where the loops do not let the joint go on."""
        number = self._numbers[knob]
        wanted = number.read()
        if not number.control.min <= wanted <= number.control.max:
            return  # the first digits of a number that is typed; the browser keeps it within the range at the end
        arrived = self.posing.move(knob, math.radians(wanted) if knob.is_angle else wanted)
        unit = "deg" if knob.is_angle else "m"
        self.refresh(
            ""
            if arrived
            else f"**{knob.label}** cannot reach {wanted:.4g} {unit} with the loops closed; "
            f"it stops at {_shown(knob, self.posing.value(knob)):.4g} {unit}."
        )

    def reset(self) -> None:
        """Back to the first pose."""
        self.posing.q = self._start.copy()
        self.refresh()

    def refresh(self, remark: str = "") -> None:
        """Show the present pose, in the scene and on all sliders."""
        self.scene.show(self.posing.q)
        with self.page.server.atomic():
            for knob, number in self._numbers.items():
                number.show(_shown(knob, self.posing.value(knob)))
            loops = f"loops: largest gap **{self.scene.gap:.1e}** [m, rad]" if self.posing.model.loops else ""
            self.status.content = "\n\n".join(text for text in (loops, remark) if text)

    def _show_com(self, box: Any) -> None:
        self.scene.has_com = box.value
        self.refresh()


def _shown(knob: Knob, value: float) -> float:
    return math.degrees(value) if knob.is_angle else value


def pose(
    model: Model,
    q: Array | None = None,
    *,
    host: str = HOST,
    port: int = PORT,
    open_browser: bool = True,
    duration: float | None = None,
    on_start: Callable[[PosePage], None] | None = None,
) -> None:
    """Show a robot with sliders until Ctrl-C, or for some seconds.

    Args:
        model: the robot.
        q: where it starts; loops are closed from there.
        host: address to listen on.
        port: to listen on; 0 takes any free one.
        open_browser: open the page, where there is a screen.
        duration: [s]; without one it goes on.
        on_start: called with the page before it runs.

    Raises:
        InputError: viser is not installed, or host or port are not to be had.
        ModelError: no pose closes the loops.
    """
    with Page(model.name, host, port) as page:
        shown = PosePage(page, model, q)
        if on_start:
            on_start(shown)
        page.invite(open_browser)
        page.run(duration=duration)
