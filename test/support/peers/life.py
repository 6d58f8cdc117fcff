# SPDX-License-Identifier: Apache-2.0
"""Random life of a PA-10: motion, faults, stops, restarts; however a round ends, a documented action leads back."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from peers.pa10_body import LIMITS, SPEEDS
from peers.pa10_scene import Pa10Scene

V, P, E = Mode.VELOCITY, Mode.POSITION, Mode.EFFORT
ALARMS = (0x060, 0x0E0, 0x090)
ROOM = 0.1  # [rad] to the limits, within which a life goes on; beyond, it is led back first


class Life(NamedTuple):
    """Result of a life."""

    rounds: int
    phases: Counter[str]
    actions: Counter[str]
    unsafe: list[str]


class _Round:
    """One round: actions that can happen in it; each takes some time."""

    def __init__(self, scene: Pa10Scene, chance: random.Random, modes: Iterable[Mode]) -> None:
        self.scene, self.chance, self.modes = scene, chance, list(modes)

    def actions(self) -> dict[str, Callable[[], object]]:
        scene, peer, chance = self.scene, self.scene.peer, self.chance
        return {
            "move": self.move,
            "move on": self.move,
            "move again": self.move,
            "activate": lambda: self.asks(scene.activate),
            "stop": lambda: scene.cycle.stop(scene.now, "life"),
            "deactivate": lambda: self.asks(lambda: scene.cycle.deactivate(scene.now)),
            "reset": lambda: self.asks(lambda: scene.cycle.reset(scene.now)),
            "close and open": self.close_and_open,
            "kill the cycle": self.kill,
            "freeze": lambda: self.fault(lambda: scene.freeze(chance.choice((0.003, 0.007, 0.012, 0.1)))),
            "host is silent": lambda: scene.run(chance.choice((0.02, 0.2, 0.7))),
            "device silent": lambda: self.passing("is_silent", True, False),
            "fibre cut": lambda: self.passing("is_deaf", True, False),
            "late answers": lambda: self.passing("answer_after", chance.choice((0.001, 0.004)), 2e-4),
            "losses": lambda: self.passing("lose", 0.3, 0.0),
            "damage": lambda: self.passing("mangle", lambda data, _: data[: chance.randrange(len(data))], None),
            "wrong numbers": lambda: self.passing("shift", 1, 0),
            "alarm": lambda: self.fault(lambda: peer.raise_alarm(chance.randrange(7), chance.choice(ALARMS))),
            "power": lambda: self.fault(lambda: (peer.power(on=False), scene.run(0.01), peer.power(on=True))),
            "button": self.button,
            "cable": self.cable,
        }  # fmt: skip

    def asks(self, action: Callable[[], object]) -> None:
        with contextlib.suppress(HardwareError):
            action()
        self.scene.run(0.01)

    def fault(self, action: Callable[[], object]) -> None:
        self.scene.judge.faulted(self.scene.now)
        action()
        self.move()

    def passing(self, name: str, value: object, usual: object) -> None:
        self.scene.judge.faulted(self.scene.now)
        setattr(self.scene.peer, name, value)
        self.move()
        setattr(self.scene.peer, name, usual)
        self.move()

    def button(self) -> None:
        self.fault(lambda: self.scene.peer.trouble("emergency stop"))
        self.scene.peer.trouble()

    def cable(self) -> None:
        self.scene.wire.is_pulled = True
        self.scene.judge.faulted(self.scene.now)
        self.move()
        self.scene.wire.is_pulled = False

    def close_and_open(self) -> None:
        self.scene.judge.faulted(self.scene.now)  # `close` says that it gives no ramp
        self.scene.cycle.close(self.scene.now)
        self.asks(lambda: self.scene.cycle.open(self.scene.now))

    def kill(self) -> None:
        """The process is gone at once; a new one comes up later."""
        self.scene.judge.faulted(self.scene.now)
        self.scene.freeze(self.chance.choice((0.05, 0.5)))
        self.asks(self.scene.restart)

    def move(self) -> None:
        """Something that a program might send, for some cycles."""
        scene, mode = self.scene, self.chance.choice(self.modes)
        seconds = 0.002 * self.chance.randrange(3, 40)
        if mode is V:
            share = self.chance.choice((0.05, 0.3, 1.0))
            scene.run(seconds, V, share * SPEEDS * np.array([self.chance.uniform(-1.0, 1.0) for _ in range(7)]))
        elif mode is P:
            slope = 0.5 * SPEEDS * np.array([self.chance.uniform(-1.0, 1.0) for _ in range(7)])
            start, since = np.clip(scene.cycle.feedback.position, -LIMITS, LIMITS), scene.now
            scene.run(seconds, P, lambda: np.clip(start + slope * (scene.now - since), -LIMITS, LIMITS))
        else:
            scene.run(seconds, E, scene.hold)


def live(rounds: int, seed: int, *, layout: str = "ce", modes: Iterable[Mode] = (V, P, E)) -> Life:
    """Live so many rounds, one after another, with the same arm."""
    chance = random.Random(seed)
    scene = Pa10Scene(layout)
    phases, actions, unsafe = Counter[str](), Counter[str](), []
    for number in range(rounds):
        seen, done = len(scene.judge.unsafe), []
        one = _Round(scene, chance, modes)
        possible = one.actions()
        for _ in range(chance.randrange(2, 6)):
            name = chance.choice(list(possible))
            done.append(name)
            actions[name] += 1
            possible[name]()
        phases[scene.phase.value] += 1
        problem = _back(scene)
        found = [f"{broken.rule}: {broken.text}" for broken in scene.judge.unsafe[seen:]]
        found += [f"no way back from {problem}"] if problem else []
        unsafe += [f"round {number} ({', '.join(done)}): {text}" for text in found[:2]]
        if problem or len(scene.judge.unsafe) >= scene.judge.most or np.abs(scene.peer.body.q).max() > 10.0:
            scene = Pa10Scene(layout)  # a life that cannot go on, or a judge that is full
    return Life(rounds, phases, actions, unsafe)


def _back(scene: Pa10Scene) -> str:
    """Recover as a person does, by the book: "" if the arm is active then and can be moved."""
    scene.rest()
    before = f"{scene.phase.value} ({scene.cycle.reason})"
    problem = scene.recover()
    if problem:
        return f"{before}: {problem}"
    lead = np.clip(-scene.peer.body.q, -0.3, 0.3) * (np.abs(scene.peer.body.q) > LIMITS - ROOM)
    scene.run(0.1, V, lead)
    return "" if scene.phase is Phase.ACTIVE else f"{before}: active, then {scene.phase.value}: {scene.cycle.reason}"
