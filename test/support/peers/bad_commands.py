# SPDX-License-Identifier: Apache-2.0
"""Commands that must not be followed, by the million: none moves the arm, gets to the wire or ends the cycle."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers.pa10_body import LIMITS, SPEEDS, TORQUES
from peers.pa10_scene import Pa10Scene

AT_ONCE = 40  # commands in one cycle
NOT_NUMBERS = (math.nan, math.inf, -math.inf)
HUGE = (1e3, 1e9, 1e300, -1e3, -1e9, -1e300)


class Tally(NamedTuple):
    """Result of sending them."""

    sent: int
    by_kind: Counter[str]
    unsafe: list[str]


def _still(mode: Mode, at: np.ndarray) -> np.ndarray:
    return at.copy() if mode is Mode.POSITION else np.zeros(7)


def _kinds(chance: random.Random) -> dict[str, Callable[[Mode, np.ndarray, float], Demand]]:
    def with_one(value: float, mode: Mode, at: np.ndarray) -> np.ndarray:
        values = _still(mode, at)
        values[chance.randrange(7)] = value
        return values

    def over(mode: Mode, at: np.ndarray, now: float) -> Demand:
        axis, side = chance.randrange(7), chance.choice((-1.0, 1.0))
        most = {Mode.POSITION: LIMITS, Mode.VELOCITY: SPEEDS, Mode.EFFORT: TORQUES}[mode][axis]
        values = _still(mode, at)
        values[axis] = side * most * (1.0 + chance.choice((1e-6, 1e-3, 0.1, 1.0)))
        return Demand(mode, values, now)

    def too_far(mode: Mode, at: np.ndarray, now: float) -> Demand:
        values = at.copy()
        axis = chance.randrange(7)
        values[axis] += chance.choice((-1.0, 1.0)) * SPEEDS[axis] * 0.1 * chance.uniform(1.1, 5.0)
        return Demand(Mode.POSITION, values, now)

    def shape(mode: Mode, at: np.ndarray, now: float) -> Demand:
        shapes: list[Any] = [(0,), (1,), (6,), (8,), (100,), (7, 1), (1, 7), (7, 7), ()]
        return Demand(mode, np.zeros(chance.choice(shapes)), now)

    def stamp(mode: Mode, at: np.ndarray, now: float) -> Demand:
        stamps = (math.nan, -math.inf, math.inf, now - 0.11, now - 10.0, -1.0, 0.0, now + 0.5, now + 1e6, -1e300, 1e300)
        return Demand(mode, _still(mode, at) + (mode is not Mode.POSITION) * 0.01, chance.choice(stamps))

    def no_mode(mode: Mode, at: np.ndarray, now: float) -> Demand:
        modes: list[Any] = [None, "velocity", 0, 3, "", Mode, b"effort"]
        return Demand(chance.choice(modes), np.full(7, 0.01), now)

    return {
        "not finite": lambda mode, at, now: Demand(mode, with_one(chance.choice(NOT_NUMBERS), mode, at), now),
        "huge": lambda mode, at, now: Demand(mode, with_one(chance.choice(HUGE), mode, at), now),
        "over a limit": over,
        "too far": too_far,
        "shape": shape,
        "stamp": stamp,
        "mode": no_mode,
    }


def send(count: int, seed: int, layout: str = "ce") -> Tally:
    """Send so many to an arm that stands, active; beside each bunch there is one good command: to stand."""
    chance = random.Random(seed)
    kinds = _kinds(chance)
    names = sorted(kinds)
    scene = Pa10Scene(layout, safety=SafetySettings(tool_speed=0.0, record_seconds=0.0, hold_without_commands=True))
    scene.activate()
    start = scene.peer.body.q.copy()
    sent, by_kind, unsafe = 0, Counter[str](), []
    while sent < count and len(unsafe) < 20:
        at = scene.cycle.feedback.position
        commands = []
        for _ in range(min(AT_ONCE, count - sent)):
            name = chance.choice(names)
            by_kind[name] += 1
            commands.append(kinds[name](chance.choice(list(Mode)), at, scene.now))
        sent += len(commands)
        before = scene.cycle.check.accepted
        try:
            scene.cycle.step(scene.now, commands)
        except Exception as problem:  # whatever it is: in real life the cycle would have ended
            unsafe.append(_blamed(scene, commands, problem))
        if scene.cycle.check.accepted > before:
            unsafe.append(f"{scene.cycle.check.accepted - before} of {len(commands)} were accepted")
        scene.clock.advance(scene.period)
        if scene.phase is not Phase.ACTIVE:
            unsafe.append(f"{scene.phase.value}: {scene.cycle.reason}")
            break
    if np.abs(scene.peer.body.q - start).max() > 1e-4:
        unsafe.append(f"it moved by {np.abs(scene.peer.body.q - start).max():.3g} rad")
    scene.cycle.close(scene.now)
    return Tally(sent, by_kind, unsafe + [f"{one.rule}: {one.text}" for one in scene.judge.unsafe[:5]])


def _blamed(scene: Pa10Scene, commands: list[Demand], problem: Exception) -> str:
    for command in commands:
        try:
            scene.cycle.step(scene.now, [command])
        except Exception as again:
            return f"{type(again).__name__}: {again}; the command: {command!r:.120}"
    return f"{type(problem).__name__}: {problem}"
