# SPDX-License-Identifier: Apache-2.0
"""`ada sim ROBOT --view`: a simulation in this process as the source of a robot page."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.contact.contact import ContactFrame, contact_frames
from ada_dynamics.drawing.marks import Mark
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation import Simulation
from ada_robot.messages.marks import Marks
from ada_robot.messages.wrenches import Efforts, JointLoads, passive_efforts
from ada_robot.simulated.plant import Snapshot
from ada_tools.browser.marks_layer import LOAD_MARKS
from ada_tools.browser.page import RATE, Page, serve
from ada_tools.browser.plots import POINT
from ada_tools.browser.robot_node import Answer, Moment, ObservedState, Request, RobotSource
from ada_tools.browser.robot_page import RobotPage

_BUSY = 0.8  # fraction of a frame used for simulation steps
_PUSH = 0.1  # [s] duration of a push


class KnownForces(RobotSource):
    """Source whose forces are known: contacts, and loads of joints.

    Attributes:
        dynamics: dynamics of the robot.
    """

    dynamics: Dynamics
    contacts: Mapping[str, ContactFrame]
    efforts: Efforts | None = None  # of joint stops and friction

    def snapshot(self, t: float | None = None) -> Snapshot | None:
        """State with its forces at a time, by default the present one; None if unknown."""
        raise NotImplementedError

    @property
    def loaded(self) -> Sequence[str]:
        """Joints that transmit forces."""
        return tuple(self._loads.links)

    @cached_property
    def _loads(self) -> JointLoads:
        return JointLoads(self.dynamics, contact_frames=self.contacts, efforts=self.efforts)

    def loads(self, t: float) -> Mapping[str, Array] | None:
        """Wrenches of the joints at a time; None if unknown."""
        state = self.snapshot(t)
        return None if state is None else self._loads.at(state)

    def marks(self, wanted: Collection[str]) -> Sequence[Mark]:
        """Forces at the contacts and, if wanted, in the joints."""
        has_loads = not LOAD_MARKS.isdisjoint(wanted)
        if not self.contacts and not has_loads:
            return ()
        state = self.snapshot()
        return () if state is None else (self._loaded_marks if has_loads else self._plain_marks).at(state)

    @cached_property
    def _plain_marks(self) -> Marks:
        return self._marks(None)

    @cached_property
    def _loaded_marks(self) -> Marks:
        return self._marks(self._loads)

    def _marks(self, loads: JointLoads | None) -> Marks:
        ground = 0.0 if self.contacts else None
        return Marks(self.dynamics, loads, contact_frames=self.contacts, ground=ground)


class LocalRobot(KnownForces):
    """Simulation advanced in real time on each read; if it is too slow, the motion slows down."""

    name = "the simulation"
    period = POINT  # [s] time between states for the plots

    def __init__(self, simulation: Simulation, say: Callable[[str], None], clock: Clock = SYSTEM_CLOCK) -> None:
        """Create a paused source; `say` displays a message to the user."""
        self.is_running: bool = False
        self.dynamics = simulation.dynamics
        self._simulation, self._say, self._clock = simulation, say, clock
        self.contacts = contact_frames(simulation.contact)
        self.efforts = passive_efforts(simulation.model, simulation.stops)
        self._speed, self._backlog = 1.0, 0.0  # simulated per real time, and time to simulate [s]
        self._last = self._clock.now()
        self._moments: list[Moment] = []

    # --- state --------------------------------------------------------------------------------------------------
    def newest(self) -> ObservedState:
        """Advance to the present time and return the state."""
        now = self._clock.now()
        elapsed, self._last = now - self._last, now
        if self.is_running:
            frame = 1.0 / RATE
            self._backlog += elapsed * self._speed
            self._backlog = min(self._backlog - self.advance(self._backlog, now + _BUSY * frame), self._speed * frame)
        return ObservedState(self._clock.now(), *self._moment())

    def passed(self) -> Sequence[Moment]:
        """Intermediate states since the last call."""
        moments, self._moments = self._moments, []
        return moments

    def snapshot(self, t: float | None = None) -> Snapshot | None:
        """Present state with its forces; None at another time."""
        simulation = self._simulation
        if t is not None and t != float(simulation.t):
            return None
        return Snapshot(0, *self._moment(), simulation.external_wrenches(), simulation.contact_wrenches())

    def _moment(self) -> tuple[float, Array, Array, Array]:
        simulation = self._simulation
        return float(simulation.t), simulation.q, simulation.v, simulation.tau

    def advance(self, duration: float, deadline: float = math.inf) -> float:
        """Simulate for a duration or until a time on the clock; pause if the simulation fails.

        Args:
            duration: simulated time [s]; whole steps are taken.
            deadline: real time at which to stop.

        Returns:
            Simulated time [s].
        """
        step = self._simulation.step_length
        steps, each = math.floor(duration / step + 1e-9), max(1, round(self.period / step))
        taken = 0
        try:
            while taken < steps and (not taken or self._clock.now() < deadline):
                self.prepare(float(self._simulation.t))
                count = min(each, steps - taken)
                self._simulation.step(count)
                taken += count
                self._moments.append(Moment(*self._moment()))
        except AdaError as problem:
            self.is_running = False
            self._say(f"paused at t = {self._simulation.t:.4g} s: {problem}")
        return taken * step

    def prepare(self, t: float) -> None:
        """Called before each period of a simulation."""

    # --- requests -----------------------------------------------------------------------------------------------
    def ask(self, request: Request, then: Answer) -> None:
        """Pause, resume, take one step, or restart from the initial state."""
        if request == "step":
            self.advance(self._simulation.step_length)
        elif request == "reset":
            self._simulation.reset()
            self._backlog = 0.0
        else:
            self.is_running, self._last, self._backlog = request == "resume", self._clock.now(), 0.0
        then(None)

    def set_speed(self, factor: float, then: Answer) -> None:
        """Set the ratio of simulated to real time."""
        self._speed = factor
        then(None)

    def push(self, link: str, wrench: Array) -> None:
        """Apply a wrench to a link for a short time, replacing the previous one."""
        self._simulation.push(link, wrench, _PUSH, frame="link", replaces=True)


def live(simulation: Simulation, **options: Any) -> Page:
    """Run a simulation, created with pushable=True, in real time from the page's thread. Options as `page.serve`.

    Raises:
        InputError: as `page.serve`.
    """

    def make(page: Page) -> RobotPage:
        shown = live_page(page, simulation)
        shown.toggle()
        return shown

    return serve(simulation.model.name, make, **options)


def live_page(page: Page, simulation: Simulation) -> RobotPage:
    """Page of a simulation, initially paused; without contact, the grid is at the lowest point of the robot."""
    robot = LocalRobot(simulation, page.say, page.clock)
    return RobotPage(page, robot, robot.dynamics, ground=None if simulation.contact is None else 0.0)
