# SPDX-License-Identifier: Apache-2.0
"""Physics thread: advances a plant in step with a clock, publishes its state and reports its status; no ROS.

While the plant is being compiled, the thread publishes the initial configuration.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.processes import COMPILER
from ada_robot.ros.status import MOST_MISSED, Level, Status, period_values, since
from ada_robot.simulated.plant import Plant, Snapshot
from ada_robot.timing.deadlines import DeadlineLoop, Stamps

T = TypeVar("T")
FollowedClock = Callable[[], float | None]  # present time [s]; None if unknown
MOST_BEHIND = 0.2  # maximum lag behind a followed clock before time is dropped [s]
PATIENCE = 5.0  # timeout of requests to the physics thread [s]
REST = 0.04  # period of states published while paused [s]
_FACTOR_OVER = 1.0  # averaging time of the real-time factor [s]
WIDEST_GAP = 1e-6  # tolerance of the closure error [m, rad]


@dataclass(frozen=True)
class Blueprint:
    """Plant to be created.

    Attributes:
        start: initial state.
        step: time step [s].
        make: creates the plant, in a separate thread; its argument raises `NotReadyError` to abort.
    """

    start: Snapshot
    step: float
    make: Callable[[Callable[[], None]], Plant]


class NotReadyError(AdaError):
    """The plant is not created yet."""


class PlantLoop:
    """Runs a plant in a separate thread.

    Attributes:
        loop: periodic thread.
        latest: latest published state, readable from any thread.
        is_paused: whether steps are taken on request only.
        every: steps between published states.
        requested_factor: requested real-time factor; 0 for as fast as possible. See `set_real_time_factor`.
        factor: measured real-time factor, averaged over about a second; 0 while paused.
        jumps: number of backward jumps of the followed clock.
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
        """Configure the thread; `start` starts it.

        Args:
            plant: plant, or how to create it.
            publish: called in the physics thread with each state to be published.
            listen: called in the physics thread before the steps of each wake-up, to pass commands to the plant.
            every: number of steps between published states.
            real_time_factor: simulated time per real time; 0 for as fast as possible.
            paused: whether to start paused.
            follows: clock to follow instead of the steady one.
            stamps: converts deadlines to times on the clock of the stamps; None if stamps are simulated time.
            priority: see `DeadlineLoop`.
            on_ready: called in the physics thread with a plant that had to be created, before its first step.
            on_failure: called with the exception that ended the physics thread or the creation, in that thread.
            clock: steady clock.
        """
        self._publish, self._listen, self.every = publish, listen, every
        self._stamps, self._on_ready, self._on_failure = stamps, on_ready, on_failure
        self._step = plant.step if isinstance(plant, Blueprint) else plant.simulation.step_length
        self._follows, self._clock = follows, clock
        self._offset: float | None = None  # followed clock minus simulated time [s]
        self.requested_factor = real_time_factor
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
        self._began, self._made = self._clock.now(), None if self._plant is None else self._clock.now()
        self._measured = self._began, self.latest.step
        self.loop = DeadlineLoop(
            period, self._tick, name="physics", priority=priority, on_failure=on_failure, clock=clock
        )

    def _period(self, factor: float) -> float:
        if self._follows is not None:
            return self._step
        return self._step / factor if factor > 0.0 else 0.0

    # --- creation of the plant ----------------------------------------------------------------------------------
    @property
    def is_ready(self) -> bool:
        """True if the plant is created."""
        return self._plant is not None

    @property
    def compiled_for(self) -> float:
        """Duration of the compilation so far, or in total [s]."""
        return (self._clock.now() if self._made is None else self._made) - self._began

    @property
    def plant(self) -> Plant:
        """The plant, which belongs to the physics thread: use `post` while it runs.

        Raises:
            NotReadyError: if it is not created yet.
        """
        if self._plant is None:
            raise NotReadyError(
                f"the physics is being compiled, for {self.compiled_for:.1f} s so far (the first start of a robot "
                "takes longest). The request was not executed; repeat it later."
            )
        return self._plant

    def _make(self, blueprint: Blueprint) -> None:
        """Create the plant, in a separate thread."""
        try:
            plant = blueprint.make(self._leave_off)
        except BaseException as problem:
            if not self._is_ending.is_set() and self._on_failure is not None:
                self._on_failure(problem)
            return
        self.loop.post(lambda: self._adopt(plant))

    def _leave_off(self) -> None:
        if self._is_ending.is_set():
            raise NotReadyError("the physics ended before its first step.")

    def _adopt(self, plant: Plant) -> None:
        self._made = self._clock.now()
        try:
            if self._on_ready is not None:
                self._on_ready(plant)
        except Exception as problem:
            if self._on_failure is not None:
                self._on_failure(problem)
            return
        self._plant = plant
        self.loop.period = self._period(self.requested_factor)
        self.loop.statistics.restart()
        self._measured = self._clock.now(), plant.steps
        self._publish_state()

    # --- from any thread ----------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start; a plant that has to be created is published in its initial configuration first."""
        if self._plant is None:
            self._publish_state()
        self.loop.start()
        if self._blueprint is not None and self._maker is None:
            # no daemon thread: the interpreter must not end while LLVM is compiling
            self._maker = threading.Thread(target=self._make, args=(self._blueprint,), name=COMPILER)
            self._maker.start()

    def run(self, duration: float = math.inf) -> None:
        """Run an existing plant in the calling thread; see `DeadlineLoop.run`."""
        self.loop.run(duration)

    def stop(self) -> bool:
        """End after the present step; return whether the thread has ended. The creation is not waited for."""
        self._is_ending.set()
        return self.loop.stop()

    def post(self, action: Callable[[], T]) -> Future[T]:
        """Execute an action on the plant in the physics thread, between two steps.

        The future raises `NotReadyError` if the plant is not created yet.
        """

        def act() -> T:
            _ = self.plant
            return action()

        return self.loop.post(act)

    def set_real_time_factor(self, factor: float) -> None:
        """Change the real-time factor."""
        self.requested_factor = factor
        if self.is_ready:
            self.loop.period = self._period(factor)

    @property
    def dropped(self) -> float:
        """Simulated time dropped since the start because of overload [s]."""
        return self._behind + self.loop.statistics.summary().slipped_s

    def pause(self, paused: bool) -> Future[None]:
        """Pause or resume."""

        def act() -> None:
            self.is_paused = paused
            self._offset = None  # the pause is not made up for
            self._publish_state()

        return self.post(act)

    def step(self, count: int) -> Future[Snapshot]:
        """Take steps while paused, and publish the last state.

        Raises (by the future):
            InputError: if it is not paused, or the simulation has failed.
        """

        def act() -> Snapshot:
            if not self.is_paused:
                raise InputError("the simulation is running; pause it first (service ~/pause with data: true).")
            self._advance(count, self._clock.now_ns())
            if self._left != self.every:
                self._publish_state()
            if self.plant.failure is not None:
                raise InputError(f"{self.plant.failure} Reset it (service ~/reset).")
            return self.latest

        return self.post(act)

    def change(self, action: Callable[[], T]) -> Future[T]:
        """Execute an action that changes the state of the plant, and publish the new state."""

        def act() -> T:
            result = action()
            self._offset = None
            self._publish_state()
            return result

        return self.post(act)

    # --- in the physics thread ----------------------------------------------------------------------------------
    def _tick(self, due: int) -> None:
        if self._listen is not None:
            self._listen()
        if self._plant is None or self.is_paused or self._plant.failure is not None:
            self._rest()
            return
        self._advance(due if self._follows is None else self._owed(), self.loop.deadline)
        self._measure()

    def _rest(self) -> None:
        """Publish the unchanged state at intervals."""
        now = self._clock.now()
        self.factor, self._measured, self._offset = 0.0, (now, self.latest.step), None
        if now - self._published_at >= max(REST, self.every * self._step):
            self._publish_state()

    def _advance(self, steps: int, until: int) -> None:
        """Take steps, and publish the states due in between.

        Args:
            steps: number of steps.
            until: deadline of the last step on the steady clock [ns].
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
        """Publish the present state. Args: its deadline on the steady clock [ns]; None for the last deadline."""
        self._left = self.every
        snapshot = self.latest if self._plant is None else self._plant.snapshot()
        self.latest = self._stamped(snapshot, self.loop.deadline if due is None else due)
        self._published_at = self._clock.now()
        self._publish(self.latest)

    def _stamped(self, snapshot: Snapshot, due: int) -> Snapshot:
        """Add the stamp of a deadline to a state."""
        if self._follows is not None:
            now, t = (self._follows() or 0.0, 0.0) if self._offset is None else (self._offset, snapshot.t)
            # rounded separately, because seconds since 1970 as a float do not resolve steps
            return snapshot._replace(stamp=round(now * NANOSECONDS) + round(t * NANOSECONDS))
        if self._stamps is None:
            return snapshot  # stamps are simulated time
        return snapshot._replace(stamp=self._stamps.due(due))

    def _owed(self) -> int:
        """Return the number of steps to catch up with the followed clock."""
        assert self._follows is not None
        now = self._follows()
        if now is None:
            return 0
        t = self.plant.t
        if self._offset is None:
            self._offset = now - t
        behind = now - self._offset - t
        if behind < -self._step:  # the clock jumped backwards: continue from here
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
        now = self._clock.now()
        if now - began >= _FACTOR_OVER:
            self.factor = (self.plant.steps - steps) * self._step / (now - began)
            self._measured = now, self.plant.steps


def done(future: Future[Any]) -> Any:
    """Wait for the result of a request to the physics thread.

    Raises:
        AdaError: if it was refused, or the thread has ended or is too slow.
    """
    try:
        return future.result(PATIENCE)
    except CancelledError:
        raise AdaError("the physics has ended; restart the node.") from None
    except FutureTimeoutError:
        future.cancel()
        raise AdaError(
            f"the physics did not execute the request within {PATIENCE:g} s: it is overloaded by a small step or a "
            "large robot. Lower real_time_factor or physics_rate."
        ) from None


class PhysicsStatus:
    """Status of the physics thread: timing and failures."""

    def __init__(self, loop: PlantLoop) -> None:
        """Args: physics thread."""
        self._loop = loop
        self._before = loop.loop.statistics.summary()
        self._dropped = 0.0

    def __call__(self) -> Status:
        """Return the status."""
        loop = self._loop
        summary = loop.loop.statistics.summary()
        new, self._before = since(self._before, summary), summary
        before, self._dropped = self._dropped, loop.dropped
        dropped = max(self._dropped - before, 0.0)
        values: dict[str, object] = {
            "simulated time [s]": loop.latest.t,
            "steps": loop.latest.step,
            "real-time factor": loop.factor,
            "real-time factor wanted": loop.requested_factor or "as fast as it goes",
            "time dropped since the last report [s]": dropped,
            "periods missed since the last report": max(new.missed, 0),
            **period_values(summary),
            "clock": "monotonic",
        }
        if loop.jumps:
            values["backward jumps of the followed clock"] = loop.jumps
        try:
            failure = loop.plant.failure
        except NotReadyError as problem:
            return Status(Level.WARN, str(problem), values)
        if failure is not None:
            return Status(Level.ERROR, f"the motion has stopped: {failure} Reset it (service ~/reset).", values)
        if loop.loop.failure is not None:
            return Status(Level.ERROR, f"the physics thread has ended: {loop.loop.failure}", values)
        if loop.is_paused:
            return Status(Level.OK, "paused", values)
        if dropped > 0.0:
            text = (
                f"too slow: {dropped:.3g} s dropped since the last report, real-time factor {loop.factor:.3g}; lower "
                "physics_rate, or real_time_factor to what the machine can do"
            )
            return Status(Level.WARN, text, values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report, and made up for", values)
        return Status(Level.OK, "in time", values)


def loop_status(model: Model, loop: PlantLoop) -> Callable[[], Status]:
    """Return a function for the diagnostic status of loop closure."""
    names = model.loop_names

    def report() -> Status:
        if not loop.is_ready:
            return Status(Level.OK, "the physics does not run yet", {"loops": ", ".join(names)})
        dynamics = loop.plant.dynamics
        gap = float(np.max(dynamics.constraints.closure_error(loop.latest.q)))
        values = {"largest gap [m, rad]": gap, "loops": ", ".join(names)}
        if gap > WIDEST_GAP:
            return Status(Level.ERROR, f"a loop has a closure error of {gap:.3g} [m, rad]", values)
        return Status(Level.OK, "all loops are closed", values)

    return report
