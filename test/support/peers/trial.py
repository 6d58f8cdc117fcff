# SPDX-License-Identifier: Apache-2.0
"""One fault, tried once on a PA-10: driven, disturbed, watched, brought back."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ada_robot.contract import Mode
from ada_robot.safety.phases import Phase
from peers.fault import GOES_ON, STOPS, Do, Outcome, nothing
from peers.pa10_scene import Pa10Scene

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
