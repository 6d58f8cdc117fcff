# SPDX-License-Identifier: Apache-2.0
"""`ada sim ROBOT --view`: a simulation in this process as the source of a robot's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.drawing.marks import Mark
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation import Simulation
from ada_tools.browser.page import RATE, Page, serve
from ada_tools.browser.plots import POINT
from ada_tools.browser.robot_node import Answer, Moment, Positions
from ada_tools.browser.robot_page import RobotPage
from ada_tools.browser.seen import SeenState

_BUSY = 0.8  # share of a frame for steps; the rest is for the page
_PUSH = 0.1  # [s] a push takes


class Pace:
    """How many steps bring a simulation up to the clock on the wall."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.speed = 1.0
        self._owed = 0.0
        self._cost: float | None = None  # [s] of one step

    def due(self, elapsed: float) -> int:
        """Steps to take now, no more than fit into a frame; what does not fit is dropped: the motion is slower then.

        Args:
            elapsed: since the last call [s].
        """
        self._owed += elapsed * self.speed / self.step
        steps = int(self._owed)
        if self._cost is None:
            steps = min(steps, 1)  # what a step costs is not known yet
        elif self._cost > 0.0:
            steps = min(steps, max(1, int(_BUSY / RATE / self._cost)))
        self._owed = min(self._owed - steps, self.speed / (RATE * self.step))
        return steps

    def took(self, steps: int, seconds: float) -> None:
        """Learn the time of steps."""
        if steps:
            self._cost = seconds / steps if self._cost is None else 0.8 * self._cost + 0.2 * seconds / steps

    def forget(self) -> None:
        """Restart after a pause, without catching up."""
        self._owed = 0.0


class LocalRobot:
    """A simulation that catches up with the clock whenever it is looked at; it is a `RobotSource`.

    Attributes:
        name: for messages.
        goes_on: True unless it is paused.
    """

    name = "the simulation"

    def __init__(self, simulation: Simulation, say: Callable[[str], None], clock: Clock = SYSTEM_CLOCK) -> None:
        """Begin with a pause.

        Args:
            simulation: that is run.
            say: takes a message for the person who looks.
            clock: that it keeps up with.
        """
        self.goes_on = False
        self._simulation, self._say, self._clock = simulation, say, clock
        self._pace = Pace(simulation.step_length)
        self._last = self._clock.now()
        self._moments: list[Moment] = []

    # --- state --------------------------------------------------------------------------------------------------
    def newest(self) -> SeenState:
        """The state now."""
        now = self._clock.now()
        elapsed, self._last = now - self._last, now
        if self.goes_on:
            self.advance(self._pace.due(elapsed))
        return SeenState(self._clock.now(), *self._moment())

    def passed(self) -> Sequence[Moment]:
        """Moments between the last two states."""
        moments, self._moments = self._moments, []
        return moments

    def rate(self) -> float:
        """No rate: nothing is sent."""
        return 0.0

    def parameters(self) -> Mapping[str, object]:
        """The page's own values are right."""
        return {}

    def marks(self) -> Sequence[Mark]:
        """The scene draws all that there is."""
        return ()

    def watch_marks(self, is_on: bool) -> None:
        """No effect: there are no marks."""

    def _moment(self) -> Moment:
        return float(self._simulation.t), self._simulation.q, self._simulation.v

    def advance(self, steps: int) -> None:
        """Take steps; a simulation that fails is paused where it is."""
        begin = self._clock.now()
        each = max(1, round(POINT / self._pace.step))
        try:
            for first in range(0, steps, each):
                self._simulation.step(min(each, steps - first))
                self._moments.append(self._moment())
        except AdaError as problem:
            self.goes_on = False
            self._say(f"paused at t = {self._simulation.t:.4g} s: {problem}")
        self._pace.took(steps, self._clock.now() - begin)

    # --- requests -----------------------------------------------------------------------------------------------
    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""
        self.goes_on, self._last = not is_paused, self._clock.now()
        self._pace.forget()
        then(None)

    def step(self, then: Answer) -> None:
        """One step."""
        self.advance(1)
        then(None)

    def reset(self, then: Answer) -> None:
        """Back to the start."""
        self._simulation.reset()
        self._pace.forget()
        then(None)

    def set_speed(self, factor: float, then: Answer) -> None:
        """Time of the motion by time that passes."""
        self._pace.speed = factor
        then(None)

    def push(self, link: str, wrench: Array) -> None:
        """Let a wrench act on a link for a moment, in the place of one before."""
        self._simulation.push(link, wrench, _PUSH, frame="link", replaces=True)

    def command(self, positions: Positions | None, device: str = "") -> None:
        """Refused: its controller moves it."""
        if positions is not None:
            raise InputError("this simulation takes no commands: its controller moves it.")

    def set_state(self, positions: Positions) -> None:
        """Refused: it moves by itself."""
        raise InputError("this simulation takes no poses: it moves by itself.")


def live(simulation: Simulation, *, ground: float | None = None, **options: Any) -> None:
    """Run a simulation in real time in the browser.

    Args:
        simulation: made with pushable=True.
        ground: height of the grid [m]; by default the robot's lowest point.
        options: of `page.serve`, such as port and duration.

    Raises:
        InputError: as `page.serve`.
    """

    def make(page: Page) -> RobotPage:
        shown = live_page(page, simulation, ground)
        shown.toggle()
        return shown

    serve(simulation.model.name, make, **options)


def live_page(page: Page, simulation: Simulation, ground: float | None = None) -> RobotPage:
    """The page of a simulation, which is paused. Arguments as of `live`."""
    dynamics = getattr(simulation, "dynamics", None) or Dynamics(simulation.model)
    return RobotPage(page, LocalRobot(simulation, page.say, page.clock), dynamics, ground=ground)
