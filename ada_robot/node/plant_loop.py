# SPDX-License-Identifier: Apache-2.0
"""Physics thread: advances a plant in step with a clock, publishes its state and reports its status; no ROS."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.ros.status import MOST_MISSED, Level, Status, period_values, since
from ada_robot.simulated.plant import Plant, Snapshot
from ada_robot.timing.deadlines import DeadlineLoop, Stamps, outcome

T = TypeVar("T")
PATIENCE = 5.0  # timeout of requests to the physics thread [s]
REST = 0.04  # period of states published while paused [s]
_FACTOR_OVER = 1.0  # averaging time of the real-time factor [s]
WIDEST_GAP = 1e-6  # tolerance of the closure error [m, rad]


class PlantLoop(DeadlineLoop):
    """Runs a plant in a separate thread; `post` executes actions on it between two steps.

    Attributes:
        plant: the plant, which belongs to the physics thread: use `post` while it runs.
        latest: latest published state, readable from any thread.
        is_paused: whether steps are taken on request only.
        every: steps between published states.
        requested_factor: requested real-time factor; 0 for as fast as possible. See `set_real_time_factor`.
        factor: measured real-time factor, averaged over about a second; 0 while paused.
    """

    def __init__(
        self,
        plant: Plant,
        publish: Callable[[Snapshot], object],
        *,
        listen: Callable[[], object] = lambda: None,
        every: int = 1,
        real_time_factor: float = 1.0,
        paused: bool = False,
        stamps: Stamps | None = None,
        priority: int = 0,
        on_failure: Callable[[BaseException], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Configure the thread; `start` starts it.

        Args:
            plant: simulated robot.
            publish: called in the physics thread with each state to be published.
            listen: called in the physics thread before the steps of each wake-up, to pass commands to the plant.
            every: number of steps between published states.
            real_time_factor: simulated time per real time; 0 for as fast as possible.
            paused: whether to start paused.
            stamps: converts deadlines to times on the clock of the stamps; None if stamps are simulated time.
            priority: see `DeadlineLoop`.
            on_failure: called with the exception that ended the physics thread, in that thread.
            clock: steady clock.
        """
        self._step = plant.simulation.step_length
        period = self._period(real_time_factor)
        super().__init__(
            period, self._take_steps, name="physics", priority=priority, on_failure=on_failure, clock=clock
        )
        self.plant, self.latest = plant, plant.snapshot()
        self._publish, self._listen, self.every = publish, listen, every
        self._stamps = stamps
        self.requested_factor = real_time_factor
        self.is_paused = paused
        self.factor = 0.0
        self._left = every  # steps until the next published state
        self._published_at = -REST
        self._measured = clock.now(), plant.steps

    def _period(self, factor: float) -> float:
        return self._step / factor if factor > 0.0 else 0.0

    # --- from any thread ----------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread; it publishes the present state before its first step."""
        if not self.is_running:
            self.post(lambda: self._publish_state(self._clock.now_ns()))
        super().start()

    def set_real_time_factor(self, factor: float) -> None:
        """Change the real-time factor."""
        self.requested_factor, self.period = factor, self._period(factor)

    def pause(self, paused: bool) -> Future[None]:
        """Pause or resume."""

        def act() -> None:
            self.is_paused = paused
            self._publish_state()

        return self.post(act)

    def step(self, count: int) -> Future[Snapshot]:
        """Take steps while paused, by the commands received before, and publish the last state.

        Raises (by the future):
            InputError: if it is not paused, or the simulation has failed.
        """

        def act() -> Snapshot:
            if not self.is_paused:
                raise InputError("the simulation is running; pause it first (service ~/pause with data: true).")
            self._listen()
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
            self._publish_state()
            return result

        return self.post(act)

    # --- in the physics thread ----------------------------------------------------------------------------------
    def _take_steps(self, due: int) -> None:
        self._listen()
        if self.is_paused or self.plant.failure is not None:
            self._rest()
            return
        self._advance(due, self.deadline)
        self._measure()

    def _rest(self) -> None:
        """Publish the unchanged state at intervals."""
        now = self._clock.now()
        self.factor, self._measured = 0.0, (now, self.latest.step)
        if now - self._published_at >= max(REST, self.every * self._step):
            self._publish_state()

    def _advance(self, steps: int, until: int) -> None:
        """Take steps, and publish the states due in between.

        Args:
            steps: number of steps.
            until: deadline of the last step on the steady clock [ns].
        """
        plant, period = self.plant, self.period * NANOSECONDS
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
        snapshot = self.plant.snapshot()
        if self._stamps is not None:  # otherwise stamps are simulated time
            snapshot = snapshot._replace(stamp=self._stamps.due(self.deadline if due is None else due))
        self.latest = snapshot
        self._published_at = self._clock.now()
        self._publish(self.latest)

    def _measure(self) -> None:
        began, steps = self._measured
        now = self._clock.now()
        if now - began >= _FACTOR_OVER:
            self.factor = (self.plant.steps - steps) * self._step / (now - began)
            self._measured = now, self.plant.steps


def done(future: Future[T]) -> T:
    """Wait for the result of a request to the physics thread; see `outcome`."""
    slow = (
        f"the physics did not execute the request within {PATIENCE:g} s: it is overloaded by a small step or a large "
        "robot. Lower real_time_factor or physics_rate."
    )
    return outcome(future, PATIENCE, "the physics has ended; restart the node.", slow)


class PhysicsStatus:
    """Status of the physics thread: timing and failures."""

    def __init__(self, loop: PlantLoop, *, warn: Callable[[str], object] | None = None) -> None:
        """Configure the reports.

        Args:
            loop: physics thread.
            warn: called when time is dropped for the first time, and when the total has doubled since the last call.
        """
        self._loop, self._warn = loop, warn
        self._before = loop.statistics.summary()
        self._dropped = self._next_warning = 0.0  # dropped while running [s]

    def __call__(self) -> Status:
        """Return the status."""
        loop = self._loop
        summary = loop.statistics.summary()
        new, self._before = since(self._before, summary), summary
        dropped = max(new.slipped_s, 0.0)
        values: dict[str, object] = {
            "simulated time [s]": loop.latest.t,
            "steps": loop.latest.step,
            "real-time factor": loop.factor,
            "requested real-time factor": loop.requested_factor or "as fast as possible",
            "time dropped since the last report [s]": dropped,
            "periods missed since the last report": max(new.missed, 0),
            **period_values(summary),
            "clock": "monotonic",
        }
        failure = loop.plant.failure
        if failure is not None:
            return Status(Level.ERROR, f"the motion has stopped: {failure} Reset it (service ~/reset).", values)
        if loop.failure is not None:
            return Status(Level.ERROR, f"the physics thread has ended: {loop.failure}", values)
        if loop.is_paused:
            return Status(Level.OK, "paused", values)
        if dropped > 0.0:
            text = (
                f"too slow: {dropped:.3g} s dropped since the last report, real-time factor {loop.factor:.3g}; lower "
                "physics_rate, or real_time_factor to what the machine can do"
            )
            self._dropped += dropped
            if self._warn is not None and self._dropped >= self._next_warning:
                self._next_warning = 2.0 * self._dropped
                self._warn(f"physics: {text}")
            return Status(Level.WARN, text, values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report, and made up for", values)
        return Status(Level.OK, "in time", values)


def loop_status(model: Model, loop: PlantLoop) -> Callable[[], Status]:
    """Return a function for the diagnostic status of loop closure."""
    names = model.loop_names

    def report() -> Status:
        dynamics = loop.plant.dynamics
        gap = float(np.max(dynamics.constraints.closure_error(loop.latest.q)))
        values = {"closure error [m, rad]": gap, "loops": ", ".join(names)}
        if gap > WIDEST_GAP:
            return Status(Level.ERROR, f"a loop has a closure error of {gap:.3g} [m, rad]", values)
        return Status(Level.OK, "all loops are closed", values)

    return report
