# SPDX-License-Identifier: Apache-2.0
"""A PA-10 of our own under the safe cycle, in lock step."""

from __future__ import annotations

import math

import numpy as np

from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.contract import Mode
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from peers.clock import LockStepWire
from peers.pa10 import AT, Pa10Peer
from peers.pa10_body import gravity
from peers.pa10_witness import Pa10Witness, bounds, is_safe
from peers.scene import Scene
from peers.stream_judge import Bounds, StreamJudge

SETTLES = {"ce": 0.12, "7c": 0.8}  # [s] until an arm whose brakes closed is seen to stand: a 7C reports no speeds
WATCHDOGS = {"ce": 0.010, "7c": 0.400}  # [s] of the controllers, the longer one where sources disagree


class Pa10Scene(Scene):
    """Opened and inactive."""

    STEPS = (3, 5)

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
        longest = WATCHDOGS[layout] if watchdog is None else watchdog
        super().__init__()
        self.settles = SETTLES[layout]
        driver_settings = Pa10Settings(variant=layout, **{"device_timeout": longest, **settings})  # type: ignore[arg-type]
        self.period = driver_settings.period
        self.judge = StreamJudge(bounds() if judged is None else judged, self.period)
        self.witness = Pa10Witness(self.judge)
        self.peer = Pa10Peer(layout, watchdog=longest, start=start, witness=self.witness)
        self.wire = LockStepWire(self.clock, lambda now, data: self.peer.hear(now, "the host", data))
        self.settings, self.safety = driver_settings, safety or SafetySettings(tool_speed=0.0, record_seconds=0.0)
        self.restart()

    def restart(self) -> None:
        """A new process: it knows nothing of the one before, which may have ended as it liked."""
        self.driver = Pa10Driver(self.settings, wire=self.wire, clock=self.clock.now)
        self.cycle = SafeCycle(self.driver, self.safety, on_phase=self.on_phase, clock=self.clock)
        self.judge.asked_to_stop(self.now)
        self.begin()

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

    @property
    def is_safe(self) -> bool:
        """True if the arm stands and is not commanded to move."""
        return is_safe(self.peer)

    def safe_after(self, began: float) -> float:
        """How long after that the arm was last unsafe [s]; inf where it still is."""
        return max(0.0, self.witness.unsafe_at - began) if self.is_safe else math.inf


def _eased(seconds: float) -> float:
    """A second's worth of way per second, begun softly."""
    return seconds - 0.2 * (1.0 - math.exp(-seconds / 0.2))
