# SPDX-License-Identifier: Apache-2.0
"""The physics thread: a plant that moves in step with a clock, and publishes its state at a rate of its own; no ROS.

What the plant needs may have to be compiled. The thread runs meanwhile, and publishes the pose of the start.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, TypeVar

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_robot.interrupts import COMPILER
from ada_robot.node.stamps import Stamps
from ada_robot.simulated.plant import Plant, Snapshot
from ada_robot.timing.deadlines import DeadlineLoop

T = TypeVar("T")
FollowedClock = Callable[[], float | None]  # present time [s]; None while it is not known
MOST_BEHIND = 0.2  # [s] by which the physics may lag a followed clock before time is dropped
PATIENCE = 5.0  # [s] limit of a request that another thread waits for
REST = 0.04  # [s] between two states published while nothing moves: a sign of life
_FACTOR_OVER = 1.0  # [s] of passed time that the real-time factor is measured over


@dataclass(frozen=True)
class Blueprint:
    """A plant that is still to be made.

    Attributes:
        start: the state that it will start in.
        step: of its simulation [s].
        make: makes it, in a thread of its own; gets a function that raises `NotReadyError` where it is to stop.
    """

    start: Snapshot
    step: float
    make: Callable[[Callable[[], None]], Plant]


class NotReadyError(AdaError):
    """The plant is not made yet."""


class PlantLoop:
    """Runs a plant in a thread of its own.

    Attributes:
        loop: the thread.
        latest: the newest state published, for any thread.
        is_paused: whether steps are taken only when asked for.
        factor: simulated time per passed time, measured over the last second or so; 0 while nothing moves.
        jumps: how often the followed clock went backwards.
    """

    def __init__(
        self,
        plant: Plant | Blueprint,
        publish: Callable[[Snapshot], object],
        *,
        listen: Callable[[], object] | None = None,
        every: int = 1,
        real_time_factor: float = 1.0,
        paused: bool = False,
        follows: FollowedClock | None = None,
        stamps: Stamps | None = None,
        priority: int = 0,
        on_ready: Callable[[Plant], object] | None = None,
        on_failure: Callable[[BaseException], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            plant: what moves, or how it is made.
            publish: gets the state after every so many steps, in the physics thread.
            listen: called there before the steps of each wake-up; hands commands to the plant.
            every: steps between two published states.
            real_time_factor: simulated time per passed time; 0: as fast as it goes.
            paused: whether to wait.
            follows: a clock to keep up with, instead of the steady one.
            stamps: makes deadlines into times on the clock of the stamps; None: simulated time is it.
            priority: see `DeadlineLoop`.
            on_ready: called in the thread with a plant that had to be made, before its first step.
            on_failure: called in the thread with what ended it, or in that which made the plant.
            clock: steady time.
        """
        self._publish, self._listen, self._every = publish, listen, every
        self._stamps, self._on_ready, self._on_failure = stamps, on_ready, on_failure
        self._step = plant.step if isinstance(plant, Blueprint) else plant.simulation.step_length
        self._follows, self._clock = follows, clock
        self._offset: float | None = None  # of the followed clock from simulated time [s]
        self._wanted_factor = real_time_factor
        self.is_paused = paused
        self.jumps = 0
        self.factor = self._behind = 0.0
        self._left = every  # steps until the next published state
        self._published_at = -REST
        self._plant: Plant | None = None
        self._blueprint: Blueprint | None = None
        self._maker: threading.Thread | None = None
        self._is_ending = threading.Event()
        if isinstance(plant, Blueprint):
            self._blueprint, self.latest = plant, plant.start
            period = 0.5 * REST
        else:
            self._plant, self.latest = plant, plant.snapshot()
            period = self._period(real_time_factor)
        self._began, self._made = self._seconds(), None if self._plant is None else self._seconds()
        self._measured = self._began, self.latest.step
        self.loop = DeadlineLoop(
            period, self._tick, name="physics", priority=priority, on_failure=on_failure, clock=clock
        )

    def _period(self, factor: float) -> float:
        if self._follows is not None:
            return self._step
        return self._step / factor if factor > 0.0 else 0.0

    def _seconds(self) -> float:
        return self._clock.now()

    # --- a plant that has to be made ----------------------------------------------------------------------------
    @property
    def is_ready(self) -> bool:
        """True if there is a plant to move."""
        return self._plant is not None

    @property
    def compiled_for(self) -> float:
        """Time since the start of the compilation, until its end [s]."""
        return (self._seconds() if self._made is None else self._made) - self._began

    @property
    def plant(self) -> Plant:
        """The plant; it belongs to the thread while this runs: reach it by `post`.

        Raises:
            NotReadyError: it is not made yet.
        """
        if self._plant is None:
            raise NotReadyError(
                f"the physics does not run yet: it is being compiled, {self.compiled_for:.1f} s so far (a "
                "first start of a robot takes longest). Nothing was done; ask again in a moment."
            )
        return self._plant

    def _make(self, blueprint: Blueprint) -> None:
        """Make the plant, in a thread of its own."""
        try:
            plant = blueprint.make(self._leave_off)
        except BaseException as problem:
            if not self._is_ending.is_set() and self._on_failure is not None:
                self._on_failure(problem)
            return
        self.loop.post(lambda: self._adopt(plant))

    def _leave_off(self) -> None:
        if self._is_ending.is_set():
            raise NotReadyError("the physics ended before it began.")

    def _adopt(self, plant: Plant) -> None:
        self._made = self._seconds()
        try:
            if self._on_ready is not None:
                self._on_ready(plant)
        except Exception as problem:
            if self._on_failure is not None:
                self._on_failure(problem)
            return
        self._plant = plant
        self.loop.period = self._period(self._wanted_factor)
        self.loop.statistics.restart()
        self._measured = self._seconds(), plant.steps
        self._publish_state()

    # --- from any thread ----------------------------------------------------------------------------------------
    @property
    def every(self) -> int:
        """Steps between two published states."""
        return self._every

    def start(self) -> None:
        """Begin; a plant that has to be made is published in its start pose before anything else."""
        if self._plant is None:
            self._publish_state()
        self.loop.start()
        if self._blueprint is not None and self._maker is None:
            # no daemon: LLVM must not be at work in the end of an interpreter, which waits for this thread
            self._maker = threading.Thread(target=self._make, args=(self._blueprint,), name=COMPILER)
            self._maker.start()

    def run(self, duration: float = math.inf) -> None:
        """Run a plant that need not be made in the calling thread; see `DeadlineLoop.run`."""
        self.loop.run(duration)

    def stop(self) -> bool:
        """End after the present step; whether the thread has ended. That which makes the plant is not waited for."""
        self._is_ending.set()
        return self.loop.stop()

    def post(self, action: Callable[[], T]) -> Future[T]:
        """Run an action on the plant in the thread, between two steps.

        The future has a `NotReadyError` where the plant is not made yet.
        """
        if self.is_ready:
            return self.loop.post(action)
        refused: Future[T] = Future()
        try:
            _ = self.plant
        except NotReadyError as problem:
            refused.set_exception(problem)
            return refused
        return self.loop.post(action)  # the plant is ready

    def set_real_time_factor(self, factor: float) -> None:
        """Change the pace."""
        self._wanted_factor = factor
        if self.is_ready:
            self.loop.period = self._period(factor)

    def present(self) -> Future[Snapshot]:
        """The state at this step, without loads; the newest one that was published may be some steps older."""
        return self.post(lambda: self._stamped(self.plant.snapshot(loads=False), self.loop.deadline))

    @property
    def wanted_factor(self) -> float:
        """Simulated time per passed time that is wanted; 0: as much as can be."""
        return self._wanted_factor

    @property
    def dropped(self) -> float:
        """Time dropped since the physics began, as it could not be made up for [s]."""
        return self._behind + self.loop.statistics.summary().slipped_s

    def pause(self, paused: bool) -> Future[None]:
        """Stop or go on."""

        def act() -> None:
            self.is_paused = paused
            self._offset = None  # the time of the pause is not made up for
            self._publish_state()

        return self.post(act)

    def step(self, count: int) -> Future[Snapshot]:
        """Take steps in a pause, and publish the state after the last one.

        Raises (by the future):
            InputError: it is not paused, or the motion cannot go on.
        """

        def act() -> Snapshot:
            if not self.is_paused:
                raise InputError("the simulation is running; pause it first (service ~/pause with data: true).")
            self._advance(count, self._clock.now_ns())
            if self._left != self._every:
                self._publish_state()
            if self.plant.failure is not None:
                raise InputError(f"{self.plant.failure} Reset it (service ~/reset).")
            return self.latest

        return self.post(act)

    def change(self, action: Callable[[], T]) -> Future[T]:
        """Run an action in the thread that puts the plant into another state, and publish that."""

        def act() -> T:
            result = action()
            self._offset = None
            self._publish_state()
            return result

        return self.post(act)

    # --- the thread ---------------------------------------------------------------------------------------------
    def _tick(self, due: int) -> None:
        if self._listen is not None:
            self._listen()
        if self._plant is None or self.is_paused or self._plant.failure is not None:
            self._rest()
            return
        self._advance(due if self._follows is None else self._owed(), self.loop.deadline)
        self._measure()

    def _rest(self) -> None:
        """Publish the robot's state at intervals."""
        now = self._seconds()
        self.factor, self._measured, self._offset = 0.0, (now, self.latest.step), None
        if now - self._published_at >= max(REST, self._every * self._step):
            self._publish_state()

    def _advance(self, steps: int, until: int) -> None:
        """Take steps, and publish the states that are due between them.

        Args:
            steps: to take.
            until: when the last one is due, on the steady clock [ns].
        """
        plant, period = self.plant, self.loop.period * NANOSECONDS
        while steps > 0 and plant.failure is None:
            count = min(steps, self._left)
            before = plant.steps
            plant.advance(count)
            self._left -= count
            steps -= count
            if self._left <= 0 or plant.steps - before < count:
                self._publish_state(until - round(steps * period))

    def _publish_state(self, due: int | None = None) -> None:
        """Publish the present state. Args: when it was due, on the steady clock [ns]; None: at the last deadline."""
        self._left = self._every
        snapshot = self.latest if self._plant is None else self._plant.snapshot()
        self.latest = self._stamped(snapshot, self.loop.deadline if due is None else due)
        self._published_at = self._seconds()
        self._publish(self.latest)

    def _stamped(self, snapshot: Snapshot, due: int) -> Snapshot:
        """A state with the time at which it was due, on the clock of the stamps."""
        if self._follows is not None:
            now, t = (self._follows() or 0.0, 0.0) if self._offset is None else (self._offset, snapshot.t)
            # rounded separately: an offset in seconds since 1970 leaves no digits for steps
            return snapshot._replace(stamp=round(now * NANOSECONDS) + round(t * NANOSECONDS))
        if self._stamps is None:
            return snapshot  # simulated time is the clock
        return snapshot._replace(stamp=self._stamps.due(due))

    def _owed(self) -> int:
        """Steps that bring the plant up to the clock that it follows."""
        assert self._follows is not None
        now = self._follows()
        if now is None:
            return 0
        t = self.plant.t
        if self._offset is None:
            self._offset = now - t
        behind = now - self._offset - t
        if behind < -self._step:  # the clock went backwards: time goes on from here
            self.jumps += 1
            self._offset = now - t
            return 0
        if behind > MOST_BEHIND:
            self._behind += behind - MOST_BEHIND
            self._offset += behind - MOST_BEHIND
            behind = MOST_BEHIND
        return int(behind / self._step + 1e-6)

    def _measure(self) -> None:
        began, steps = self._measured
        now = self._seconds()
        if now - began >= _FACTOR_OVER:
            self.factor = (self.plant.steps - steps) * self._step / (now - began)
            self._measured = now, self.plant.steps


def done(future: Future[Any]) -> Any:
    """The result of a request to the physics thread.

    Raises:
        AdaError: it refused, has ended, or did not come to it in time.
    """
    try:
        return future.result(PATIENCE)
    except CancelledError:
        raise AdaError("the physics has ended; start the node anew.") from None
    except FutureTimeoutError:
        future.cancel()
        raise AdaError(
            f"the physics did not come to it within {PATIENCE:g} s; it is busy with too small a step or too large a "
            "robot. Lower real_time_factor or physics_rate."
        ) from None
