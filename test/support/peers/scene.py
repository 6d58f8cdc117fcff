# SPDX-License-Identifier: Apache-2.0
"""A robot of our own under the safe cycle, in lock step: what a program does with it, and what is done to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from peers.clock import START
from peers.fault import Outcome
from peers.judge import Judge

Values = np.ndarray | Callable[[], np.ndarray]


class Scene:
    """Clock, peer, judge, driver and cycle; subclasses make them."""

    peer: Any
    judge: Judge
    driver: Any
    cycle: SafeCycle
    wire: Any
    period: float
    settles: float
    STEPS = (2, 2)  # before and after activation

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.host_seen_at: float | None = None

    def begin(self) -> None:
        self.cycle.open(self.now)
        self._due = self.now

    def on_phase(self, phase: Phase) -> None:
        if phase in (Phase.STOPPING, Phase.STOPPED, Phase.INACTIVE):
            self.judge.asked_to_stop(self.now)

    @property
    def now(self) -> float:
        return self.clock.now()

    @property
    def phase(self) -> Phase:
        return self.cycle.phase

    def step(self, mode: Mode | None = None, values: Values | None = None) -> None:
        now = self.now
        commands: Sequence[Demand] = ()
        if mode is not None:
            commands = [Demand(mode, np.asarray(values() if callable(values) else values, dtype=float), now)]
        self.cycle.step(now, commands, self.host_seen_at)
        self._due = max(self._due + self.period, self.now)  # a late cycle takes up from here
        self.clock.advance(self._due - self.clock.now())
        self.peer.advance(self.now)

    def run(self, seconds: float, mode: Mode | None = None, values: Values | None = None) -> None:
        for _ in range(max(1, round(seconds / self.period))):
            self.step(mode, values)

    def freeze(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.peer.advance(self.now)

    def activate(self) -> None:
        """Ask for it as a program does, and stand for a moment."""
        before, after = self.STEPS
        for _ in range(before):
            self.step()
        self.judge.activated(self.now)
        try:
            self.cycle.activate(self.now)
        finally:
            self._due = self.now
        for _ in range(after):
            self.step()

    def rest(self, seconds: float = 2.0) -> None:
        for _ in range(round(seconds / self.period)):
            if not self.phase.is_driven:
                return
            self.step()

    def recover(self) -> str:
        """Do what a person does: open, reset, activate; "" if it is ACTIVE then, else the reason."""
        self.rest()
        self.host_seen_at = None
        try:
            if self.phase is Phase.CLOSED:
                self.cycle.open(self.now)
            if self.phase is Phase.STOPPED:
                self.cycle.reset(self.now)
            self._due = self.now
            self.run(self.settles)
            self.activate()
        except HardwareError as problem:
            return f"{type(problem).__name__}: {problem}"
        return "" if self.phase is Phase.ACTIVE else f"it is {self.phase.value}: {self.cycle.reason}"

    def brought_back(self) -> list[str]:
        problem = self.recover()
        return [f"no way back: {problem}"] if problem else []

    def end(self, reaction: str, unsafe: list[str], safe_after: float = math.nan) -> Outcome:
        self.cycle.close(self.now)
        return Outcome(reaction, safe_after, unsafe + [f"{one.rule}: {one.text}" for one in self.judge.unsafe[:3]])
