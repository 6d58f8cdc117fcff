# SPDX-License-Identifier: Apache-2.0
"""`ada view LOG`: playback of a recorded motion with time slider, plots and event list."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.analysis.balance import UP, plane_axes, support_polygon
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation.log import Log
from ada_tools.browser.overlays import Overlays
from ada_tools.browser.page import Page, TextBox, serve
from ada_tools.browser.plots import LogPlot
from ada_tools.browser.robot_page import KEYS, PLAY
from ada_tools.browser.scene import Arrow, Scene
from ada_tools.browser.sliders import Slider

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4", "10")
_CURSORS_PER_SECOND = 10.0
_PLOTTED = 400  # rows used for joint wrenches
_SLIDER_STEPS = 2000
_FRAMED = 20  # configurations used to frame the camera view
_LISTED = 200  # events
_COMPONENTS = ("fx [N]", "fy [N]", "fz [N]", "nx [N m]", "ny [N m]", "nz [N m]")
_NONE = "-"


class Clock:
    """Displayed time, and its progress."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end
        self.now = begin
        self.speed = 1.0
        self.is_playing = False
        self.repeats = False

    def play(self) -> None:
        """Start playing, from the beginning if the end is reached."""
        self.is_playing = True
        if self.now >= self.end:
            self.now = self.begin

    def jump(self, t: float) -> None:
        """Jump to another time."""
        self.now = min(max(t, self.begin), self.end)

    def advance(self, elapsed: float) -> None:
        """Advance by elapsed real time [s]."""
        if not self.is_playing:
            return
        self.now += elapsed * self.speed
        if self.now < self.end:
            return
        if self.repeats and self.end > self.begin:
            self.now = self.begin + (self.now - self.begin) % (self.end - self.begin)
        else:
            self.now, self.is_playing = self.end, False


class PlaybackPage:
    """Controls and plots of a recorded motion."""

    def __init__(self, page: Page, log: Log) -> None:
        """Display the first row of a log.

        Args:
            page: page to draw on.
            log: log with at least one row.
        """
        if not len(log):
            raise InputError(f"the log of {log.model.name!r} has no rows.")
        self.page, self.log = page, log
        self.clock = Clock(float(log.t[0]), float(log.t[-1]))
        self.scene = Scene(page.server, log.model, log.dynamics)
        self._thin = log[:: max(1, -(-len(log) // _PLOTTED))]
        self.scene.frame(list(self._thin.q[:: max(1, len(self._thin) // _FRAMED)]))
        self._plots: list[LogPlot] = []
        self._last = self.page.clock.now()
        self._cursor_due = 0.0
        gui = page.gui
        self.status = TextBox(gui, 2)
        self._add_controls(gui)
        self._add_events(gui)
        with gui.add_folder("plots"):
            self._add_plots(gui)
        self.show()

    # --- controls -----------------------------------------------------------------------------------------------
    def _add_controls(self, gui: Any) -> None:
        begin, end = self.clock.begin, self.clock.end
        step = (end - begin) / _SLIDER_STEPS or 1.0
        self.slider = gui.add_slider("time [s]", begin, max(end, begin + step), step, begin)
        self._time = Slider(self.slider)
        steps = {name: partial(self.step, name) for name in ("|<", "<", ">", ">|")}
        self.page.add_row("motion", {PLAY: self.toggle, **steps})
        for label, key, action in zip(("play or pause", "next row", "first row"), KEYS, (PLAY, ">", "|<"), strict=True):
            self.page.add_key(label, key, steps.get(action, self.toggle))
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self.repeats = gui.add_checkbox("repeat", False)
        self.forces = gui.add_checkbox("forces", bool(self.log.external or self.log.contact_wrenches))
        self.overlays = Overlays(self.page, self.scene, self.show)
        when = self.page.when
        when(self.slider, lambda: self.go_to(self._time.read()))
        when(self.speed, self._set_clock)
        when(self.repeats, self._set_clock)
        when(self.forces, self.show)

    def _set_clock(self) -> None:
        self.clock.speed, self.clock.repeats = float(self.speed.value), bool(self.repeats.value)

    def toggle(self) -> None:
        """Toggle play and pause."""
        if self.clock.is_playing:
            self.clock.is_playing = False
        else:
            self.clock.play()
        self.show()

    def go_to(self, t: float) -> None:
        """Pause at a time [s]."""
        self.clock.is_playing = False
        self.clock.jump(t)
        self.show()

    def step(self, which: str) -> None:
        """Jump to the first, last, next or previous row of the log."""
        t = self.log.t
        row = {
            "|<": 0,
            ">|": len(t) - 1,
            ">": int(np.searchsorted(t, self.clock.now, side="right")),
            "<": int(np.searchsorted(t, self.clock.now, side="left")) - 1,
        }[which]
        self.go_to(float(t[min(max(row, 0), len(t) - 1)]))

    def _add_events(self, gui: Any) -> None:
        happened = sorted(
            [(e.t, e.name) for e in self.log.events] + [(t, "singular configuration") for t in self.log.singular]
        )
        if not happened:
            return
        times = {f"{i + 1}: {t:.4g} s, {name}": t for i, (t, name) in enumerate(happened[:_LISTED])}
        with gui.add_folder("events"):
            if len(happened) > _LISTED:
                gui.add_markdown(f"the first {_LISTED} of {len(happened)}")
            self.events = gui.add_dropdown("go to", (_NONE, *times), initial_value=_NONE)
        self.page.when(self.events, lambda: self.go_to(times.get(str(self.events.value), self.clock.now)))

    # --- plots --------------------------------------------------------------------------------------------------
    def _add_plots(self, gui: Any) -> None:
        log, model = self.log, self.log.model
        energy = {"kinetic": log.energy.kinetic, "potential": log.energy.potential, "total": log.total_energy}
        self._plots.append(LogPlot(gui, "energy [J]", log.t, energy))
        names = [n for n in model.joint_names if model.joints[n].nq == 1]
        if names:
            positions = {n: log.q[:, model.q_index(n).start] for n in names}
            self._plots.append(LogPlot(gui, "joint positions [rad, m]", log.t, positions))
        if model.loops:
            tenths = np.log10(np.maximum(log.loop_gap, 1e-18))
            self._plots.append(LogPlot(gui, "loop closure error, log10 [m, rad]", log.t, {"error": tenths}))
        self._add_wrenches(gui)

    def _add_wrenches(self, gui: Any) -> None:
        try:
            wrenches = self._thin.wrenches
        except AdaError as problem:
            gui.add_markdown(f"no wrenches of joints: {problem}")
            return
        of_joint = {name: dict(zip(_COMPONENTS, w.T, strict=True)) for name, w in wrenches.items()}
        if not of_joint:
            return
        first = next(iter(of_joint))
        self.joint = gui.add_dropdown("wrench at joint", tuple(of_joint), initial_value=first)
        plot = LogPlot(gui, "wrench", self._thin.t, of_joint[first])
        self._plots.append(plot)
        self.page.when(self.joint, lambda: plot.replace(of_joint[str(self.joint.value)]))

    # --- showing ------------------------------------------------------------------------------------------------
    def tick(self) -> None:
        """Per-frame update: advance while playing."""
        now = self.page.clock.now()
        elapsed, self._last = now - self._last, now
        if self.clock.is_playing:
            self.clock.advance(elapsed)
            self.show()

    def show(self) -> None:
        """Update the scene, controls and plots to the present time."""
        t = self.clock.now
        q, _ = self.log.at(t)
        row = int(np.searchsorted(self.log.t, t, side="right")) - 1
        arrows, polygon = self._forces(row) if self.forces.value else ([], None)
        self.scene.show(q, arrows, polygon)
        with self.page.server.atomic():
            self._time.show(t)
            gap = f", closure error {self.scene.gap:.1e} [m, rad]" if self.log.model.loops else ""
            self.status.content = f"t = **{t:.3f}** s of {self.clock.end:.3f} s, row {row} of {len(self.log) - 1}{gap}"
            if not self.clock.is_playing or self.page.clock.now() >= self._cursor_due:
                self._cursor_due = self.page.clock.now() + 1.0 / _CURSORS_PER_SECOND
                for plot in self._plots:
                    plot.show(t)

    def _forces(self, row: int) -> tuple[list[Arrow], Array | None]:
        """External and contact forces of a row in the world frame, and the support polygon."""
        poses = self.log.dynamics.forward_kinematics(self.log.q[row])
        arrows, feet = [], []
        for link, wrenches in self.log.external.items():
            pose = poses[link]
            arrows.append(Arrow(pose[:3, 3], pose[:3, :3] @ wrenches[row, :3]))
        for name, wrenches in self.log.contact_wrenches.items():
            frame = self.log.contact_frames.get(name)
            if frame is None:
                continue
            pose = poses[frame.link]
            at, force = pose[:3, 3] + pose[:3, :3] @ np.asarray(frame.xyz), wrenches[row, :3]
            arrows.append(Arrow(at, force))
            if frame.other is None and np.any(force):
                feet.append(at)
        polygon = None
        if len(feet) > 1:
            flat = support_polygon(np.array(feet))
            polygon = flat @ plane_axes(UP) + float(min(p[2] for p in feet)) * np.asarray(UP, dtype=np.float64)
        return [arrow for arrow in arrows if np.any(arrow.force)], polygon


def play(log: Log, **options: Any) -> None:
    """Show a recorded motion.

    Args:
        log: recorded motion.
        options: options of `page.serve`, such as port and duration.

    Raises:
        InputError: the log is empty, or as `page.serve`.
    """
    serve(log.model.name, lambda page: PlaybackPage(page, log), **options)
