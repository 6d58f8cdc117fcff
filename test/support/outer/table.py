# SPDX-License-Identifier: Apache-2.0
"""Every outer interface in every state of a robot: from the act until the arm is told to move no more, and rests."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from std_srvs.srv import Trigger

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.errors import NoAnswer
from ada_tools.browser.hold_button import EXPIRES
from outer.scene import Nodes, Page, Program, Scene, Spoiled, WebDriverException

WATCHED = 1.2  # [s] after the act, commanded all the while
RESUMED = 0.3  # [s] of commands at the end, from whoever had fallen silent
ATTEMPTS = 3  # where the machine stands still before the act
CONTROLLED = "moving under a controller"
LED = "led by a page"
MOVING = ("moving", CONTROLLED, LED)


def _nothing(scene: Scene) -> None:
    """Nothing is to be undone."""


class Way(NamedTuple):
    """An interface: the scene that has it, what is done, within which time [s], and in which states alone."""

    scene: type[Scene]
    act: Callable[[Any], object]
    limit: float
    states: Sequence[str] = ()
    undo: Callable[[Any], object] = _nothing


class Row(NamedTuple):
    """A trial: until when the arm was told to move, and moved, after the act [s], and what else was wrong."""

    way: str
    state: str
    told: float
    moved: float
    limit: float
    problems: list[str]
    left_out: str = ""


STATES: dict[str, Callable[[Any], object]] = {
    "unconfigured": lambda scene: None,
    "inactive": lambda scene: scene.inactive(),
    "arming window open": lambda scene: scene.active(),
    "armed, at rest": lambda scene: scene.armed(),
    "moving": lambda scene: (scene.armed(), scene.moves()),
    CONTROLLED: lambda scene: scene.controlled(),
    LED: lambda scene: scene.led(),
    "holding": lambda scene: (scene.armed(), scene.holds()),
    "fault latched": lambda scene: (scene.armed(), scene.faults()),
}


ASKED, SILENT, LONE = 0.5, 0.5, 0.8  # [s]; see docs/safety_scope.md
LEASED = EXPIRES + SILENT  # the button counts as held for so long; then commands cease


def _going_on(of: str) -> Callable[[Any], object]:
    return lambda scene: getattr(scene, of)(signal.SIGCONT)


def _sent(number: int, to: str) -> Callable[[Any], object]:
    return lambda scene: os.kill(getattr(scene, to).pid, number)


def _ended(name: str, scene: type[Scene], to: str, limit: float, states: Sequence[str] = ()) -> dict[str, Way]:
    """Ctrl-C, SIGTERM, kill -9 and a freeze, after which it goes on."""
    return {
        f"Ctrl-C of {name}": Way(scene, _sent(signal.SIGINT, to), limit, states),
        f"SIGTERM of {name}": Way(scene, _sent(signal.SIGTERM, to), limit, states),
        f"kill -9 of {name}": Way(scene, _sent(signal.SIGKILL, to), limit, states),
        f"{name} frozen": Way(scene, _sent(signal.SIGSTOP, to), limit, states, _sent(signal.SIGCONT, to)),
    }


WAYS: dict[str, Way] = {
    "service ~/stop": Way(Nodes, lambda scene: scene.stop.call_async(Trigger.Request()), ASKED),
    "lifecycle deactivate": Way(Nodes, lambda scene: scene.ask("deactivate"), ASKED),
    **_ended("hardware_node", Nodes, "node", ASKED),
    "kill -9 of the cycle": Way(Nodes, lambda scene: os.kill(scene.cycle, signal.SIGKILL), LONE, tuple(STATES)[1:]),
    "emergency stop of the arm": Way(Nodes, lambda scene: scene.device.fault("emergency_stop", 1.0), ASKED),
    "network lost": Way(Nodes, lambda scene: scene.device.fault("disconnect", 1.0), LONE),
    "commands cease": Way(Nodes, lambda scene: scene.command(False), SILENT, ("moving",)),
    **_ended("controller_node", Nodes, "controller", SILENT, (CONTROLLED,)),
    **{
        f"program: {name}": Way(Program, lambda scene, order=order: scene.say(order), ASKED)
        for name, order in (
            ("Robot.stop", "stop"),
            ("Robot.deactivate", "deactivate"),
            ("with-block left", "leave"),
            ("exception", "raise"),
        )
    },
    **_ended("program", Program, "process", SILENT),
    "page: STOP touched": Way(Page, lambda scene: scene.stops(), ASKED),
    "page: Esc": Way(Page, lambda scene: scene.escapes(), ASKED, ("moving", CONTROLLED, LED)),
    **{
        f"page: {name}": Way(Page, act, limit, (LED,), undo)
        for name, act, limit, undo in (
            ("button let go", lambda scene: scene.lets_go(), SILENT, _nothing),
            ("tab closed", lambda scene: scene.browser.close(), SILENT, _nothing),
            ("reloaded", lambda scene: scene.browser.refresh(), SILENT, lambda scene: scene.returns()),
            (
                "another tab in front",
                lambda scene: scene.is_in_front(False),
                LEASED,
                lambda scene: scene.is_in_front(True),
            ),
            ("hangs", lambda scene: scene.hangs(), LEASED, _nothing),
            ("connection frozen", lambda scene: scene.network(signal.SIGSTOP), LEASED, _going_on("network")),
            ("connection cut", lambda scene: scene.network(signal.SIGKILL), SILENT, lambda scene: scene.returns()),
            ("browser frozen", lambda scene: scene.everything(signal.SIGSTOP), LEASED, _going_on("everything")),
            ("kill -9 of the browser", lambda scene: scene.everything(signal.SIGKILL), SILENT, _nothing),
        )
    },
    **_ended("view_node", Page, "view", SILENT, (LED,)),
}
_LACKS: dict[type[Scene], Sequence[str]] = {Nodes: (LED,), Program: (CONTROLLED, LED, "unconfigured"), Page: ()}


def rows(ways: Sequence[str] = tuple(WAYS), states: Sequence[str] = tuple(STATES)) -> Iterator[Row]:
    """Each of these ways in each of these states that it can be in."""
    for way in ways:
        for state in states:
            if state in (WAYS[way].states or STATES) and state not in _LACKS[WAYS[way].scene]:
                yield _row(way, state)


def _row(way: str, state: str) -> Row:
    """A trial, anew where the machine stood still before the act."""
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            return _tried(_kept.scene(WAYS[way].scene), way, state)
        except pytest.skip.Exception as missing:
            return Row(way, state, 0.0, 0.0, WAYS[way].limit, [], str(missing))
        except (NoAnswer, Spoiled, WebDriverException, pytest.fail.Exception) as spoiled:
            problem = str(spoiled)
            _kept.end()
    return Row(way, state, 0.0, 0.0, WAYS[way].limit, [f"not tried: {problem}"])


class _Kept:
    """The scene of the trial before, where the next one can begin in it."""

    def __init__(self) -> None:
        self._scene: Scene | None = None
        self._stack = contextlib.ExitStack()
        atexit.register(self.end)

    def end(self) -> None:
        self._scene = None
        self._stack.close()

    def scene(self, kind: type[Scene]) -> Scene:
        try:
            if type(self._scene) is kind and self._scene.is_renewed():
                return self._scene
        except (Spoiled, pytest.fail.Exception):
            pass
        self.end()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a killed browser may still write into it
        self._scene = kind(Path(self._stack.enter_context(folder)), self._stack)
        return self._scene


_kept = _Kept()


def end_scene() -> None:
    """End the programs of the last trial, which else wait for another one."""
    _kept.end()


def _tried(scene: Scene, way: str, state: str) -> Row:
    _, act, limit, _, undo = WAYS[way]
    STATES[state](scene)
    if (scene.told_ago() < 0.1) != (state in MOVING):
        raise Spoiled(f"it is not {state}")
    at = time.monotonic()
    if state not in (CONTROLLED, LED):
        scene.command(True)
    found = act(scene)
    at = found if isinstance(found, float) else at
    SYSTEM_CLOCK.sleep(WATCHED)
    seen = scene.device.state()
    told, moved = (max(0.0, float(seen[name]) - at) for name in ("told_at", "moved_at"))
    undo(scene)
    scene.command(True)
    SYSTEM_CLOCK.sleep(RESUMED)
    problems = [one.text for one in scene.device.violations()[:2]]
    problems += ["it moves again by itself"] if float(scene.device.state()["told_at"]) - at > limit else []
    problems += [f"later than {limit:g} s"] if max(told, moved) > limit else []
    return Row(way, state, told, moved, limit, problems)
