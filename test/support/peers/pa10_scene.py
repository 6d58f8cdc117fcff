# SPDX-License-Identifier: Apache-2.0
"""A PA-10 of our own under the safe cycle, in lock step: driven, disturbed by a fault, watched, brought back."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.contract import Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from peers.clock import LockStepWire
from peers.fault import GOES_ON, STOPS, Do, Outcome, nothing
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


RESTING = (Phase.STOPPED, Phase.INACTIVE)
FALL = 0.03  # [rad] that an axis may sink before its brake holds it
FALLING = 0.25  # [rad/s]
WATCHED = 0.12  # [s] after a fault is gone: nothing may begin by itself


def trial(
    scene: Pa10Scene,
    mode: Mode,
    fault: Do,
    *,
    expect: str = STOPS,
    within: float = 0.5,
    lasts: float = 0.1,
    mend: Do = nothing,
    speed: float = 0.3,
    says_nothing: bool = False,
) -> Outcome:
    """Drive, cause the fault, keep commanding, mend, check that nothing starts by itself, and activate again."""
    scene.activate()
    scene.drive(mode, 0.25, speed)
    before, began = scene.peer.body.q.copy(), scene.now
    scene.judge.faulted(began)
    watch = _Falling(scene, before) if mode is Mode.EFFORT else None
    go_on = _program(scene, mode, speed, silent=says_nothing)
    if watch is not None:
        go_on = watch.around(go_on)
    fault(scene)
    if watch is not None:
        watch.before = scene.peer.body.q.copy()  # what it did on torques of before, while nobody ran, is the arm's
    safe_after = math.nan
    if expect == STOPS:
        while scene.now < began + within and not (scene.is_safe and scene.phase in RESTING):
            go_on()
        safe_after = scene.safe_after(began)
        lasts = max(lasts, 0.1)
    end = max(scene.now, began + lasts)
    while scene.now < end:
        go_on()
    mend(scene)
    end = scene.now + WATCHED
    while scene.now < end:
        go_on()
    unsafe = [] if watch is None else list(watch.fallen)
    reaction = f"{scene.phase.value}: {scene.cycle.reason}" if scene.phase is not Phase.ACTIVE else "goes on"
    if expect == STOPS:
        if not safe_after <= within + 1e-6:
            unsafe.append(f"not safe within {within:g} s ({scene.phase.value}: {scene.cycle.reason})")
        if scene.phase is Phase.ACTIVE:
            unsafe.append("still active")
    elif expect == GOES_ON and scene.phase is not Phase.ACTIVE:
        unsafe.append(f"does not go on: {scene.phase.value}: {scene.cycle.reason}")
    if scene.phase in RESTING and not scene.is_safe:
        unsafe.append(f"{scene.phase.value}, but commanded to move")
    lost = scene.brought_back()
    if not lost:
        scene.drive(Mode.VELOCITY, 0.05, 0.1)
        scene.cycle.deactivate(scene.now)
        scene.rest()
    return scene.end(reaction, unsafe + lost, safe_after)


def _program(scene: Pa10Scene, mode: Mode, speed: float, *, silent: bool) -> Callable[[], None]:
    """Program that goes on sending, whatever happened."""
    if silent:
        return scene.step
    if mode is Mode.EFFORT:
        return lambda: scene.step(mode, scene.hold)
    if mode is Mode.VELOCITY:
        return lambda: scene.step(mode, np.full(7, speed))
    place = scene.cycle.feedback.position + scene.period * speed

    def one() -> None:
        nonlocal place
        place = place + scene.period * speed
        scene.step(mode, place)

    return one


class _Falling:
    """Watches if an arm that torques hold sinks."""

    def __init__(self, scene: Pa10Scene, before: np.ndarray) -> None:
        self._scene, self.before = scene, before
        self.fallen: list[str] = []

    def around(self, go_on: Callable[[], None]) -> Callable[[], None]:
        def one() -> None:
            go_on()
            self.look()

        return one

    def look(self) -> None:
        body = self._scene.peer.body
        sunk, speed = np.abs(body.q - self.before).max(), np.abs(body.v).max()
        if not self.fallen and (sunk > FALL or speed > FALLING):
            self.fallen.append(f"it falls: {sunk:.3g} rad at {speed:.3g} rad/s")
