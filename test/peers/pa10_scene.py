# SPDX-License-Identifier: Apache-2.0
"""A PA-10 of our own under the safe cycle, in lock step: what a program does with it, and what is done to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from peers.clock import Clock, LockStepPackets
from peers.pa10 import AT, Pa10Peer
from peers.pa10_body import gravity
from peers.pa10_witness import Pa10Witness, bounds, is_safe
from peers.stream_judge import Bounds, StreamJudge

Values = np.ndarray | Callable[[], np.ndarray]
SETTLES = {"ce": 0.12, "7c": 0.8}  # [s] until an arm whose brakes closed is seen to stand: a 7C tells no speeds
WATCHDOGS = {"ce": 0.010, "7c": 0.400}  # [s] of the controllers, the longer one where sources disagree


class Scene:
    """Opened and inactive.

    Attributes:
        clock, peer, judge, driver, cycle: the parts.
        wire: to the peer.
        period: [s].
    """

    def __init__(
        self,
        layout: str = "ce",
        *,
        safety: SafetySettings | None = None,
        judged: Bounds | None = None,
        start: np.ndarray = AT,
        watchdog: float | None = None,
        **settings: object,
    ) -> None:
        """Prepare and open. settings: of the driver."""
        longest = WATCHDOGS[layout] if watchdog is None else watchdog
        self.clock = Clock()
        driver_settings = Pa10Settings(variant=layout, **{"device_timeout": longest, **settings})  # type: ignore[arg-type]
        self.period = driver_settings.period
        self.judge = StreamJudge(bounds() if judged is None else judged, self.period)
        self.witness = Pa10Witness(self.judge)
        self.peer = Pa10Peer(layout, watchdog=longest, start=start, witness=self.witness)
        self.wire = LockStepPackets(self.clock, self.peer.hear, "the host")
        self.settings, self.safety = driver_settings, safety or SafetySettings(tool_speed=0.0, record_seconds=0.0)
        self.host_seen_at: float | None = None
        self.restart()

    def restart(self) -> None:
        """A new process: it knows nothing of the one before, which may have ended as it liked."""
        self.driver = Pa10Driver(self.settings, wire=self.wire, clock=self.clock.now)
        self.cycle = SafeCycle(self.driver, self.safety, on_phase=self._phase)
        self._due = self.clock.now()
        self.judge.asked_to_stop(self.now)
        self.cycle.open(self.now)
        self._due = self.now

    def _phase(self, phase: Phase) -> None:
        now = self.clock.now()
        if phase in (Phase.STOPPING, Phase.STOPPED, Phase.INACTIVE):
            self.judge.asked_to_stop(now)

    @property
    def now(self) -> float:
        return self.clock.now()

    @property
    def phase(self) -> Phase:
        return self.cycle.phase

    # --- the program ----------------------------------------------------------------------------------------------
    def step(self, mode: Mode | None = None, values: Values | None = None) -> None:
        """One cycle, with a command in it, or none."""
        now = self.now
        commands: Sequence[Demand] = ()
        if mode is not None:
            commands = [Demand(mode, np.asarray(values() if callable(values) else values, dtype=float), now)]
        self.cycle.step(now, commands, self.host_seen_at)
        self._due += self.period
        if self._due < self.now:  # the cycle is late: it takes up from here
            self._due = self.now
        self.clock.wait_until(self._due)
        self.peer.advance(self.now)

    def run(self, seconds: float, mode: Mode | None = None, values: Values | None = None) -> None:
        """Cycles for so long."""
        for _ in range(max(1, round(seconds / self.period))):
            self.step(mode, values)

    def freeze(self, seconds: float) -> None:
        """Nobody runs: neither cycle nor program."""
        self.clock.wait(seconds)
        self.peer.advance(self.now)

    def activate(self) -> None:
        """Ask for it as a program does, and stand for a moment.

        Raises:
            HardwareError: it is refused.
        """
        for _ in range(3):
            self.step()
        self.judge.activated(self.now)
        try:
            self.cycle.activate(self.now)
        finally:
            self._due = self.now
        for _ in range(5):
            self.step()

    def rest(self, seconds: float = 2.0) -> None:
        """Cycles until nothing is driven any more."""
        for _ in range(round(seconds / self.period)):
            if not self.phase.is_driven:
                return
            self.step()

    def hold(self) -> np.ndarray:
        """A program's gravity compensation, with some damping, from what was measured."""
        feedback = self.cycle.feedback
        lift, _ = gravity(self.peer.layout, feedback.position)
        return lift - 5.0 * np.nan_to_num(feedback.velocity) * np.array([1, 1, 0.3, 0.3, 0.01, 0.01, 0.01])

    def drive(self, mode: Mode, seconds: float, speed: float = 0.3) -> None:
        """Move as a program does: a velocity, a position that goes along, or torques that hold."""
        if mode is Mode.EFFORT:
            self.run(seconds, mode, self.hold)
        elif mode is Mode.VELOCITY:
            self.run(seconds, mode, np.full(7, speed))
        else:
            start, since = self.cycle.feedback.position.copy(), self.now
            self.run(seconds, mode, lambda: start + _eased(self.now - since) * speed)

    def recover(self) -> str:
        """What a person does: close the wire's matter, reset, activate; "" where it is ACTIVE then, else why not."""
        self.rest()
        self.host_seen_at = None
        try:
            if self.phase is Phase.CLOSED:
                self.cycle.open(self.now)
            if self.phase is Phase.STOPPED:
                self.cycle.reset(self.now)
            self._due = self.now
            self.run(SETTLES[self.peer.layout])
            self.activate()
        except HardwareError as problem:
            return f"{type(problem).__name__}: {problem}"
        return "" if self.phase is Phase.ACTIVE else f"it is {self.phase.value}: {self.cycle.reason}"

    # --- what can be seen from outside ----------------------------------------------------------------------------
    @property
    def is_safe(self) -> bool:
        """Whether the arm stands, and nothing tells it to move."""
        return is_safe(self.peer)

    def safe_after(self, began: float) -> float:
        """How long after that the arm was last unsafe [s]; inf where it still is."""
        return max(0.0, self.witness.unsafe_at - began) if self.is_safe else math.inf


def _eased(seconds: float) -> float:
    """A second's worth of way per second, begun softly."""
    return seconds - 0.2 * (1.0 - math.exp(-seconds / 0.2))
