# SPDX-License-Identifier: Apache-2.0
"""Ends of a PA-10's ways, axes that are held, rates, stops at any moment, and strangers on its wire."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers import pa10_words as words
from peers.fault import EITHER, GOES_ON, STOPS, Do, Fault, Outcome, nothing
from peers.pa10 import AT
from peers.pa10_body import LIMITS
from peers.pa10_faults import ALL, SHORT, E, P, V, rows
from peers.pa10_scene import Pa10Scene
from peers.pa10_witness import bounds


def limits() -> list[Fault]:
    five = SafetySettings(tool_speed=0.0, max_acceleration=5.0, max_deceleration=5.0, record_seconds=0.0)
    gentle = {"safety": five, "scene": {"judged": bounds(acceleration=5.0)}}
    found = [
        Fault("a joint one count beyond its limit is activated, and led back", _beyond(words.ANGLE), is_cheap=True),
        Fault("a joint 1.1 mrad beyond its limit is activated, and led back", _beyond(1.1e-3)),
        Fault("full speed into every limit, velocity ce", _into_limits(V), is_cheap=True),
        Fault("full speed into every limit, position ce", _into_limits(P), is_cheap=True),
        *rows("reversal at once", (V,), _reversal, speed=0.9, expect=GOES_ON, **gentle, cheap=(V,)),
        *rows("first torque is far from none", (E,), nothing, expect=GOES_ON, cheap=(E,)),
        *rows("a command jumps by 100 N m", (E,), _torque_jump, expect=EITHER, lasts=0.01, cheap=(E,)),
    ]
    for speed in (0.05, 0.3, 0.9):
        name, expect = f"an axis is held for 0.15 s at {speed:g} rad/s, and freed", STOPS if speed >= 0.3 else EITHER
        passing = {"lasts": 0.15, "expect": EITHER, "speed": speed, **gentle, "cheap": (V, P) if speed == 0.9 else ()}
        found += rows(name, (V, P), _hold_axis(1), _free, **passing)
        lasting = {"within": 2.5, "expect": expect, "speed": speed, "cheap": (V, P) if speed == 0.3 else ()}
        found += rows(f"an axis is held at {speed:g} rad/s", (V, P), _hold_axis(3), _free, **lasting)
    return found


def _reversal(scene: Pa10Scene) -> None:
    scene.run(0.3, V, np.full(7, -0.9))


def _beyond(far: float) -> Callable[[int], Outcome]:
    def run(number: int) -> Outcome:
        axis, side = number % 7, 1.0 if number // 7 % 2 == 0 else -1.0
        start = AT.copy()
        start[axis] = side * (LIMITS[axis] + far)
        scene, unsafe = Pa10Scene(start=start), []
        out, back = side * 0.2 * np.eye(7)[axis], -side * 0.2 * np.eye(7)[axis]
        try:
            scene.activate()
            scene.run(0.2, V, out)
            if side * (scene.peer.body.q[axis] - start[axis]) > 1e-4:
                unsafe.append("driven farther out")
            scene.run(0.5, V, back)
            reaction = f"{scene.phase.value}; {np.abs(scene.peer.body.q[axis]) - LIMITS[axis]:.3g} rad beyond"
            if np.abs(scene.peer.body.q[axis]) > LIMITS[axis] - 0.01:
                unsafe.append(f"not led back: {scene.phase.value}: {scene.cycle.reason}")
        except HardwareError as problem:
            reaction = f"refused: {problem}"
            unsafe.append(f"no way back: {problem}")
        return scene.end(reaction, unsafe)

    return run


def _into_limits(mode: Mode) -> Callable[[int], Outcome]:
    def run(number: int) -> Outcome:
        side = 1.0 if number % 2 == 0 else -1.0
        scene = Pa10Scene(start=side * (LIMITS - 0.4))
        limits = np.array([limit.velocity for limit in scene.driver.limits])
        scene.activate()
        if mode is V:
            scene.run(1.0, V, side * limits)
        else:
            place = scene.cycle.feedback.position.copy()

            def onward() -> np.ndarray:
                nonlocal place
                place = place + side * limits * scene.period
                return np.clip(place, -LIMITS, LIMITS)

            scene.run(1.0, P, onward)
        unsafe = [] if scene.phase is Phase.ACTIVE else [f"{scene.phase.value}: {scene.cycle.reason}"]
        left = float((LIMITS - np.abs(scene.peer.body.q)).max())
        if scene.phase is Phase.ACTIVE:
            scene.run(0.3, V, -side * 0.2 * np.ones(7))
            scene.cycle.deactivate(scene.now)
            scene.rest()
        unsafe += scene.brought_back()
        return scene.end(f"stands {left:.3g} rad before them at the most", unsafe)

    return run


def _torque_jump(scene: Pa10Scene) -> None:
    for _ in range(3):
        scene.step(E, scene.hold() + np.array([0.0, 100.0, 0, 0, 0, 0, 0]))


def _hold_axis(axis: int) -> Do:
    def do(scene: Pa10Scene) -> None:
        scene.peer.body.is_held[axis] = True

    return do


def _free(scene: Pa10Scene) -> None:
    scene.peer.body.is_held[:] = False


def stops() -> list[Fault]:
    """A program that stops, at any moment; somebody else on the wire."""
    found = []
    for mode in ALL:
        found.append(Fault(f"stop in motion, {SHORT[mode]} ce", _asked(mode, "stop"), is_cheap=True))
        found.append(Fault(f"deactivate in motion, {SHORT[mode]} ce", _asked(mode, "deactivate")))
        found.append(Fault(f"stop at full speed, {SHORT[mode]} ce", _asked(mode, "stop", 0.95)))
    for kind in ("E, S", "S", "C with brakes"):
        name, cheap = f"a stranger is heard: {kind}", (V, E) if kind != "S" else ()
        heard = _stranger(kind, is_seen=True)
        found += rows(name, (V, E), heard, within=0.05, prepared=_knows_stranger, cheap=cheap)
    name, unheard = "a stranger sends E, and S after 5 ms, unheard", _stranger("E, S", gap=0.006)
    return found + rows(name, (V, E), unheard, within=0.1, prepared=_knows_stranger, cheap=(V,))


def _asked(mode: Mode, what: str, speed: float = 0.4) -> Callable[[int], Outcome]:
    def run(number: int) -> Outcome:
        scene = Pa10Scene()
        scene.activate()
        scene.drive(mode, 0.3, speed if number % 2 == 0 else -speed)
        before = scene.now
        getattr(scene.cycle, what)(scene.now, "a test")
        while scene.now < before + 0.6:
            scene.step(V, np.full(7, speed))
        safe = scene.safe_after(before)
        unsafe = [] if safe < 0.45 else [f"not at rest {safe:.3g} s after the {what}"]
        wanted = Phase.STOPPED if what == "stop" else Phase.INACTIVE
        if scene.phase is not wanted:
            unsafe.append(f"it is {scene.phase.value}")
        unsafe += scene.brought_back()
        return scene.end(f"{wanted.value}", unsafe, safe)

    return run


def _knows_stranger(scene: Pa10Scene) -> None:
    scene.judge.strangers.add("a stranger")


def _stranger(kind: str, *, is_seen: bool = False, gap: float = 0.0) -> Do:
    """Packets of somebody else; on a wire that all share, their answers are heard by all."""

    def say(scene: Pa10Scene, letter: str) -> None:
        payload = bytes((0, words.BRAKE, 0, 0, 0, 0)) * 7 + b"\0\0" if letter == "C" else b""
        packet = words.packet(0x55, letter, payload, of_host=True)
        answers = list(scene.peer.hear(scene.now, "a stranger", packet))
        if is_seen:
            scene.wire.add(answers)

    def do(scene: Pa10Scene) -> None:
        for number, part in enumerate(kind.split(", ")):
            if number and gap:
                scene.run(gap)
            say(scene, part[0])

    return do


def motion_faults() -> list[Fault]:
    return [*limits(), *stops()]
