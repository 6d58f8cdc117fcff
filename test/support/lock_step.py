# SPDX-License-Identifier: Apache-2.0
"""A safe cycle in lock step with an arm, on a clock that only its steps move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from arm_driver import ArmDriver, ArmSettings

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings


class Notes:
    """Takes what a recorder gets."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.phases: list[Phase] = []

    def cycle(self, now: float, phase: Phase, demand: object, feedback: Feedback) -> None:
        pass

    def event(self, now: float, text: str) -> None:
        self.events.append(text)


class LockStep:
    """An arm and its cycle."""

    def __init__(self, safety: SafetySettings | None = None, *, recorder: Any = None, **arm: Any) -> None:
        self.clock = ManualClock(100.0)
        self.arm = ArmDriver(ArmSettings(**arm), clock=self.clock)
        self.notes = recorder or Notes()
        self.phases = [Phase.CLOSED]
        self.cycle = SafeCycle(self.arm, safety, self.notes, self.phases.append, clock=self.clock)

    @property
    def now(self) -> float:
        return self.clock.now()

    def open(self) -> LockStep:
        self.cycle.open(self.now)
        self.steps(3)
        return self

    def active(self) -> LockStep:
        if self.cycle.phase is Phase.CLOSED:
            self.open()
        self.cycle.activate(self.now)
        return self

    def step(
        self,
        mode: Mode | None = None,
        values: Sequence[float] | None = None,
        *,
        after: float = 0.0,
        seen: float | None = None,
        age: float = 0.0,
    ) -> Feedback:
        self.clock.advance(after or self.arm.period)
        commands = []
        if mode is not None:
            numbers = np.array(values, dtype=np.float64)
            if numbers.shape == ():
                numbers = np.full(len(self.arm.joints), float(numbers))
            commands = [Demand(mode, numbers, self.now - age)]
        return self.cycle.step(self.now, commands, None if seen is None else self.now - seen)

    def steps(self, count: int, mode: Mode | None = None, values: Any = None) -> None:
        for _ in range(count):
            self.step(mode, values)

    def seconds(self, duration: float, mode: Mode | None = None, values: Any = None) -> None:
        self.steps(round(duration / self.arm.period), mode, values)

    def until_rest(self) -> None:
        for _ in range(2000):
            if not self.cycle.phase.is_driven:
                return
            self.step()
        raise AssertionError(f"still {self.cycle.phase} after {2000 * self.arm.period} s")

    @property
    def speeds(self) -> np.ndarray:
        """Velocities that the arm was told, a row per cycle; of demands of velocity."""
        return np.array([demand.values for demand in self.arm.demands if demand.mode is Mode.VELOCITY])

    @property
    def positions(self) -> np.ndarray:
        return np.array([demand.values for demand in self.arm.demands if demand.mode is Mode.POSITION])
