# SPDX-License-Identifier: Apache-2.0
"""Ways to stop an arm, in each state of its robot: how long commands that move it still reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers.pa10_scene import Pa10Scene

WATCHED = 1.5  # [s] after the stop
RESUMED = 0.2  # [s] for which somebody commands it all the while, at the end
MOVES = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # [rad/s]


class Stopped(NamedTuple):
    """A row: what stopped it, in which state, until which cycle it was told to move [s], and what was unsafe."""

    way: str
    state: str
    last_motion: float
    limit: float
    unsafe: list[str]


class _Scene(Pa10Scene):
    """An arm whose program can be gone."""

    def __init__(self) -> None:
        super().__init__("ce", safety=SafetySettings(tool_speed=0.0, record_seconds=0.0, arm_within=5.0))
        self.moved_at = self.now

    def drive_on(self, seconds: float, *, silent: bool) -> None:
        for _ in range(round(seconds / self.period)):
            self.step(None if silent else Mode.VELOCITY, MOVES)
            if any(one.moves for one in self.peer.commands):
                self.moved_at = self.now


def _deactivate(scene: _Scene) -> None:
    scene.cycle.deactivate(scene.now)


def _press(scene: _Scene) -> None:
    scene.judge.faulted(scene.now)
    scene.peer.trouble("emergency stop")


def _gone(scene: _Scene) -> None:
    scene.host_seen_at = scene.now


WAYS: dict[str, tuple[Callable[[_Scene], object], float, bool]] = {  # what is done, within [s], whether commands end
    "stop is asked for": (lambda scene: scene.cycle.stop(scene.now, "table"), 0.13, False),
    "deactivation is asked for": (_deactivate, 0.13, False),
    "the arm's emergency stop": (_press, 0.03, False),
    "commands end": (lambda scene: None, 0.25, True),
    "no sign of the program": (_gone, 0.65, False),
}


def _disconnected(scene: _Scene) -> None:
    scene.cycle.close(scene.now)
    scene.cycle.open(scene.now)
    scene.run(0.05)


def _driven(scene: _Scene, *steps: Callable[[], object]) -> None:
    scene.activate()
    for step in steps:
        step()


STATES: dict[str, Callable[[_Scene], object]] = {
    "opened anew": _disconnected,
    "inactive": lambda scene: scene.run(0.05),
    "active, not armed": _driven,
    "armed, at rest": lambda scene: _driven(scene, lambda: scene.cycle.arm(scene.now)),
    "moving": lambda scene: _driven(scene, *_motion(scene)),
    "ramping": lambda scene: _driven(
        scene, *_motion(scene), lambda: scene.cycle.deactivate(scene.now), lambda: scene.step()
    ),
    "stopped": lambda scene: _driven(scene, *_motion(scene), lambda: scene.cycle.stop(scene.now, "before"), scene.rest),
}


def _motion(scene: _Scene) -> tuple[Callable[[], Any], ...]:
    return (lambda: scene.cycle.arm(scene.now), lambda: scene.drive_on(0.3, silent=False))


def rows(ways: Any = WAYS, states: Any = STATES) -> Iterator[Stopped]:
    for way in ways:
        for state in states:
            act, limit, ends = WAYS[way]
            scene = _Scene()
            STATES[state](scene)
            assert any(one.moves for one in scene.peer.commands) == (state in ("moving", "ramping"))
            began = scene.moved_at = scene.now
            try:
                act(scene)
            except HardwareError:
                assert scene.phase in (Phase.STOPPED, Phase.CLOSED)  # there is nothing to deactivate
            scene.drive_on(WATCHED, silent=ends)
            last = scene.moved_at - began
            scene.drive_on(RESUMED, silent=False)
            unsafe = [f"{one.rule}: {one.text}" for one in scene.judge.unsafe[:3]]
            unsafe += ["it moves again by itself"] if scene.moved_at - began > max(last, limit) else []
            yield Stopped(way, state, last, limit, unsafe)
