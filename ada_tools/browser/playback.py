# SPDX-License-Identifier: Apache-2.0
"""`ada view LOG`: playback of a recorded motion, with a time slider and a list of events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.drawing.marks import FORCE, Mark, arrow_mark
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import reach_of
from ada_dynamics.simulation.log import Log
from ada_robot.messages.wrenches import passive_efforts
from ada_robot.simulated.plant import Snapshot
from ada_tools.browser.live import KnownForces
from ada_tools.browser.page import Page, serve
from ada_tools.browser.robot_node import Answer, Moment, ObservedState, Request
from ada_tools.browser.robot_page import RobotPage
from ada_tools.browser.sliders import Slider

_PLOTTED = 400  # rows used for plots
_SLIDER_STEPS = 2000
_LISTED = 200  # events
_ARROW = 0.5  # length of an external force of one weight, in robot sizes
_NONE = "-"


class Recording(KnownForces):
    """Recorded motion that is played at a selected speed.

    Attributes:
        t: displayed time [s].
        repeats: whether the motion starts again at its end.
    """

    name = "the recording"

    def __init__(self, log: Log, clock: Clock = SYSTEM_CLOCK) -> None:
        """Start at the first row.

        Raises:
            InputError: the log is empty.
        """
        if not len(log):
            raise InputError(f"the log of {log.model.name!r} has no rows.")
        self._log, self._clock = log, clock
        self.dynamics, self.contacts = log.dynamics, log.contact_frames
        self.efforts = passive_efforts(log.model)
        self._thin = log[:: -(-len(log) // _PLOTTED)]
        self.begin, self.end = float(log.t[0]), float(log.t[-1])
        self.t, self._speed, self.repeats = self.begin, 1.0, False
        self.is_running: bool = False
        self._last = clock.now()

    # --- state --------------------------------------------------------------------------------------------------
    def newest(self) -> ObservedState:
        """Advance to the present time and return the state."""
        now = self._clock.now()
        elapsed, self._last = now - self._last, now
        if self.is_running:
            self.t += elapsed * self._speed
            if self.t >= self.end and self.repeats and self.end > self.begin:
                self.t = self.begin + (self.t - self.begin) % (self.end - self.begin)
            self.is_running = self.t < self.end
            self.t = min(self.t, self.end)
        q, v = self._log.at(self.t)
        return ObservedState(now, self.t, q, v, self._log.tau[self._row(self.t)])

    def moments(self) -> list[Moment]:
        """States for plots of the whole recording."""
        rows = zip(self._thin.t.tolist(), self._thin.q, self._thin.v, self._thin.tau, strict=True)
        return [Moment(*row) for row in rows]

    def loads(self, t: float) -> Mapping[str, Array]:
        """Wrenches of the joints in the last of these states before a time."""
        row = int(np.searchsorted(self._thin.t, t, side="right")) - 1
        return {name: wrenches[row] for name, wrenches in self._thin.wrenches.items()}

    def snapshot(self, t: float | None = None) -> Snapshot | None:
        """State of the last row before a time, with its forces."""
        log, row = self._log, self._row(self.t if t is None else t)
        external = {link: wrenches[row] for link, wrenches in log.external.items()}
        contact = {name: wrenches[row] for name, wrenches in log.contact_wrenches.items()}
        state = float(log.t[row]), log.q[row], log.v[row], np.nan_to_num(log.tau[row])
        return Snapshot(row, *state, external, contact)

    def marks(self, wanted: Collection[str]) -> Sequence[Mark]:
        """External forces, and forces at contacts and in joints."""
        state = self.snapshot()
        assert state is not None
        model, poses = self.dynamics.model, self.dynamics.forward_kinematics(state.q)
        size = reach_of(model)
        scale = _ARROW * size / max(model.total_mass * float(np.linalg.norm(model.gravity)), 1.0)
        found = list(super().marks(wanted))
        for i, (link, wrench) in enumerate(state.external.items()):
            if np.any(wrench[:3]):
                pose = poses[link]
                found.append(arrow_mark("external", i, pose[:3, 3], scale * pose[:3, :3] @ wrench[:3], size, FORCE))
        return found

    def _row(self, t: float) -> int:
        return max(int(np.searchsorted(self._log.t, t, side="right")) - 1, 0)

    # --- requests -----------------------------------------------------------------------------------------------
    def go_to(self, t: float) -> None:
        """Pause at a time [s]."""
        self.is_running, self.t = False, min(max(t, self.begin), self.end)

    def ask(self, request: Request, then: Answer) -> None:
        """Pause, resume (from the beginning if the end is reached), or go to the next or the first row."""
        if request == "step":
            self.go_to(float(self._log.t[min(self._row(self.t) + 1, len(self._log) - 1)]))
        elif request == "reset":
            self.go_to(self.begin)
        else:
            if request == "resume" and self.t >= self.end:
                self.t = self.begin
            self.is_running, self._last = request == "resume", self._clock.now()
        then(None)

    def set_speed(self, factor: float, then: Answer) -> None:
        """Set the ratio of recorded to real time."""
        self._speed = factor
        then(None)


class PlaybackPage(RobotPage):
    """Page of a recorded motion."""

    source: Recording

    def __init__(self, page: Page, log: Log) -> None:
        """Display the first row of a log."""
        self._events = sorted([(e.t, e.name) for e in log.events] + [(t, "singular") for t in log.singular])
        source = Recording(log, page.clock)
        super().__init__(page, source, log.dynamics, recorded=source.moments())

    def _add_buttons(self, gui: Any) -> None:
        begin, end = self.source.begin, self.source.end
        step = (end - begin) / _SLIDER_STEPS or 1.0
        self.slider = gui.add_slider("time [s]", begin, max(end, begin + step), step, begin)
        self._time = Slider(self.slider)
        self.page.when(self.slider, lambda: self.go_to(self._time.read()))
        super()._add_buttons(gui)
        self.repeats = gui.add_checkbox("repeat", False)
        self.page.when(self.repeats, lambda: setattr(self.source, "repeats", bool(self.repeats.value)))
        if self._events:
            times = {f"{i + 1}: {t:.4g} s, {name}": t for i, (t, name) in enumerate(self._events[:_LISTED])}
            more = f"the first {_LISTED} of {len(self._events)}" if len(self._events) > _LISTED else None
            self.events = gui.add_dropdown("event", (_NONE, *times), initial_value=_NONE, hint=more)
            self.page.when(self.events, lambda: self.go_to(times.get(str(self.events.value), self.source.t)))

    def go_to(self, t: float) -> None:
        """Pause at a time [s]."""
        self.source.go_to(t)
        self.tick()
        self.show()

    def show(self) -> None:
        """Update the scene, the controls and the plot to the present time."""
        self._time.show(self.now.t)
        super().show()


def play(log: Log, **options: Any) -> None:
    """Show a recorded motion. Options as `page.serve`.

    Raises:
        InputError: the log is empty, or as `page.serve`.
    """
    serve(log.model.name, lambda page: PlaybackPage(page, log), **options)
