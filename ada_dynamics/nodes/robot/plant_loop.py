# SPDX-License-Identifier: Apache-2.0
"""The physics thread: a plant that moves in step with a clock, and tells its state at a rate of its own; no ROS."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.nodes.robot.plant import Plant, Snapshot
from ada_dynamics.timing.deadlines import DeadlineLoop

T = TypeVar("T")
FollowedClock = Callable[[], float | None]  # present time [s]; None while it is not known
MOST_BEHIND = 0.2  # [s] by which the physics may be behind a clock that it follows before it gives the time up
PATIENCE = 5.0  # [s] that the physics thread has for what somebody waits for
REST = 0.04  # [s] between two states told while nothing moves: who watches over them shall not think it dead
_FACTOR_OVER = 1.0  # [s] of passed time that the real-time factor is measured over


class PlantLoop:
    """Runs a plant in a thread of its own.

    Attributes:
        plant: belongs to the thread while this runs; reach it by `post`.
        loop: the thread.
        latest: the newest state told, for any thread.
        is_paused: whether steps are taken only when asked for.
        factor: simulated time per passed time, measured over the last second or so.
        jumps: how often the followed clock went backwards.
    """

    def __init__(
        self,
        plant: Plant,
        tell: Callable[[Snapshot], object],
        *,
        listen: Callable[[], object] | None = None,
        every: int = 1,
        real_time_factor: float = 1.0,
        paused: bool = False,
        follows: FollowedClock | None = None,
        priority: int = 0,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            plant: what moves.
            tell: gets the state after every so many steps, in the physics thread.
            listen: called there before the steps of each wake-up; hands commands to the plant.
            every: steps between two states told.
            real_time_factor: simulated time per passed time; 0: as fast as it goes.
            paused: whether to wait.
            follows: a clock to keep up with, instead of the steady one.
            priority: see `DeadlineLoop`.
            on_failure: called in the thread with what ended it.
        """
        self.plant, self._tell, self._listen, self._every = plant, tell, listen, every
        self._step = plant.simulation.step_length
        self._follows = follows
        self._offset: float | None = None  # of the followed clock from simulated time [s]
        self.is_paused = paused
        self.jumps = 0
        self.factor = 0.0
        self._left = every  # steps until the state is told
        self._told_at = -REST
        self._measured = time.monotonic(), plant.steps
        self.latest = plant.snapshot()
        self.loop = DeadlineLoop(
            self._period(real_time_factor), self._tick, name="physics", priority=priority, on_failure=on_failure
        )

    def _period(self, factor: float) -> float:
        if self._follows is not None:
            return self._step
        return self._step / factor if factor > 0.0 else 0.0

    # --- from any thread ----------------------------------------------------------------------------------------
    @property
    def every(self) -> int:
        """Steps between two states told."""
        return self._every

    def start(self) -> None:
        """Begin."""
        self.loop.start()

    def stop(self) -> bool:
        """End after the present step; whether the thread has ended."""
        return self.loop.stop()

    def post(self, action: Callable[[], T]) -> Future[T]:
        """Let the thread do something between two steps."""
        return self.loop.post(action)

    def set_real_time_factor(self, factor: float) -> None:
        """Change the pace."""
        self.loop.period = self._period(factor)

    def pause(self, paused: bool) -> Future[None]:
        """Stop or go on."""

        def act() -> None:
            self.is_paused = paused
            self._offset = None  # nothing is owed for the time of the pause
            self._tell_state()

        return self.post(act)

    def step(self, count: int) -> Future[Snapshot]:
        """Take steps in a pause, and tell the state after the last one.

        Raises (by the future):
            InputError: it is not paused, or the motion cannot go on.
        """

        def act() -> Snapshot:
            if not self.is_paused:
                raise InputError("the simulation is running; pause it first (service ~/pause with data: true).")
            self._advance(count)
            if self._left != self._every:
                self._tell_state()
            if self.plant.failure is not None:
                raise InputError(f"{self.plant.failure} Reset it (service ~/reset).")
            return self.latest

        return self.post(act)

    def change(self, action: Callable[[], T]) -> Future[T]:
        """Let the thread do something that puts the plant into another state, and tell it."""

        def act() -> T:
            result = action()
            self._offset = None
            self._tell_state()
            return result

        return self.post(act)

    # --- the thread ---------------------------------------------------------------------------------------------
    def _tick(self, due: int) -> None:
        if self._listen is not None:
            self._listen()
        if self.is_paused or self.plant.failure is not None:
            if time.monotonic() - self._told_at >= max(REST, self._every * self._step):
                self._tell_state()
            return
        self._advance(due if self._follows is None else self._owed())
        self._measure()

    def _advance(self, steps: int) -> None:
        """Take steps, and tell the states that are due between them."""
        while steps > 0 and self.plant.failure is None:
            count = min(steps, self._left)
            before = self.plant.steps
            self.plant.advance(count)
            self._left -= count
            steps -= count
            if self._left <= 0 or self.plant.steps - before < count:
                self._tell_state()

    def _tell_state(self) -> None:
        self._left = self._every
        self.latest = self.plant.snapshot()
        self._told_at = time.monotonic()
        self._tell(self.latest)

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
            self._offset += behind - MOST_BEHIND
            behind = MOST_BEHIND
        return int(behind / self._step + 1e-6)

    def _measure(self) -> None:
        began, steps = self._measured
        now = time.monotonic()
        if now - began >= _FACTOR_OVER:
            self.factor = (self.plant.steps - steps) * self._step / (now - began)
            self._measured = now, self.plant.steps


def done(future: Future[Any]) -> Any:
    """What the physics thread made of a request.

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
