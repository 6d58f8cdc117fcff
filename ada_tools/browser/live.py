# SPDX-License-Identifier: Apache-2.0
"""`ada sim ROBOT --view`: a simulation that runs in real time, can be paused, and pushed with the mouse or a button."""

from __future__ import annotations

import time
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation import Simulation
from ada_tools.browser.motion_page import MotionPage
from ada_tools.browser.page import RATE, Page, serve

_BUSY = 0.8  # of a frame, that may go into steps; the rest is for the page


class Pace:
    """How many steps bring a simulation up to the clock on the wall, and how fast that really is."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.speed = 1.0
        self.factor = 0.0  # simulated by passed time, over the last second or so
        self._owed = 0.0
        self._cost = 0.0  # [s] of one step
        self._simulated = self._passed = 0.0

    def due(self, elapsed: float) -> int:
        """Steps to take now, no more than fit into a frame; what does not fit is dropped: the motion is slower then.

        Args:
            elapsed: since the last call [s].
        """
        self._passed += elapsed
        self._owed += elapsed * self.speed / self.step
        steps = int(self._owed)
        if self._cost > 0.0:
            steps = min(steps, max(1, int(_BUSY / RATE / self._cost)))
        elif steps:
            steps = 1  # what a step costs is not known yet
        self._owed = min(self._owed - steps, self.speed / (RATE * self.step))
        return steps

    def took(self, steps: int, seconds: float) -> None:
        """Learn what steps cost."""
        if steps:
            self._cost = seconds / steps if not self._cost else 0.8 * self._cost + 0.2 * seconds / steps
        self._simulated += steps * self.step
        if self._passed >= 1.0:
            self.factor = self._simulated / self._passed
            self._simulated = self._passed = 0.0

    def forget(self) -> None:
        """After a pause: nothing is owed."""
        self._owed = self._simulated = self._passed = 0.0


class LivePage(MotionPage):
    """A simulation that runs, with controls and plots beside it."""

    def __init__(self, page: Page, simulation: Simulation, ground: float | None = None) -> None:
        """Draw the present state.

        Args:
            page: to draw on.
            simulation: that is run.
            ground: height of the grid [m].
        """
        self.simulation = simulation
        self.pace = Pace(simulation.step_length)
        self._last = time.monotonic()
        super().__init__(page, simulation.model, simulation.q, getattr(simulation, "dynamics", None), ground)
        self.show()

    def _set_speed(self) -> None:
        self.pace.speed = float(self.speed.value)

    def _add_own(self, gui: Any) -> None:
        """A simulation has no others."""

    def toggle(self) -> None:
        """Play or pause."""
        self.is_playing = not self.is_playing
        self._last = time.monotonic()
        self.pace.forget()
        self.show()

    def one_step(self) -> None:
        """Pause, and take one step."""
        self.is_playing = False
        self._advance(1)
        self.show()

    def reset(self) -> None:
        """Back to the start."""
        self.simulation.reset()
        self.pace.forget()
        self.show()

    def _apply(self, link: str, wrench: Array, duration: float) -> None:
        self.simulation.push(link, wrench, duration)

    def tick(self) -> None:
        """Once a frame: catch up with the clock."""
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        if not self.is_playing:
            return
        steps = self.pace.due(elapsed)
        self._pull_on(steps * self.pace.step)
        self._advance(steps)
        self.show()

    def _advance(self, steps: int) -> None:
        """Take steps; a simulation that fails is paused where it is."""
        begin = time.perf_counter()
        each = max(1, round(self.energy_plot.period / self.pace.step))
        try:
            for first in range(0, steps, each):
                self.simulation.step(min(each, steps - first))
                self._sample(float(self.simulation.t), self.simulation.q, self.simulation.v)
        except AdaError as problem:
            self.is_playing = False
            self.page.say(f"paused at t = {self.simulation.t:.4g} s: {problem}")
        self.pace.took(steps, time.perf_counter() - begin)

    def show(self) -> None:
        """Show the present state, everywhere."""
        pace = f", **{self.pace.factor:.2f}** x real time" if self.is_playing else ", paused"
        self._draw(float(self.simulation.t), self.simulation.q, self.simulation.v, pace)


def live(simulation: Simulation, *, ground: float | None = None, **options: Any) -> None:
    """Run a simulation in real time in the browser.

    Args:
        simulation: made with pushable=True.
        ground: height of the grid [m]; by default the robot's lowest point.
        options: of `page.serve`, such as port and duration.

    Raises:
        InputError: as `page.serve`.
    """

    def make(page: Page) -> LivePage:
        shown = LivePage(page, simulation, ground)
        shown.toggle()
        return shown

    serve(simulation.model.name, make, **options)
