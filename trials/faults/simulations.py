# SPDX-License-Identifier: Apache-2.0
"""Faults of a simulated arm that is moved by a controller and recorded."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ada_dynamics.errors import AdaError, RecordingCutShortWarning
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.recorder import CHUNK_SECONDS
from benchmarks.ros.world import Process
from trials.faults.case import ENDS, HOST, STOP, TRIES, WATCHED, Case, Outcome
from trials.faults.graph import CONTROLLER, DYNAMICS, Graph, moves
from trials.faults.nodes import BEGINS, GOAL, SLOW

MOVES, RESTS = 0.05, 0.005  # [rad/s]
SEEN = 0.25  # [s] until a state is observed and recorded


class Scene(NamedTuple):
    """Processes that can fail."""

    graph: Graph
    node: Process
    controller: Process


Fault = Callable[[Scene], object]
End = Callable[[Scene, float], tuple[str, float, str]]


def _start(graph: Graph) -> Scene:
    values = {"robot": "pa10", "record": graph.folder / "run.mcap"}
    graph.observe()
    node = graph.node(DYNAMICS, values)
    slow = {"controller": "joint_trajectory", **SLOW, "state_timeout": STOP / 2.0, "timeout_clock": "machine"}
    controller = graph.node(CONTROLLER, {"robot": "pa10", **slow})
    graph.processes.start("benchmarks.ros.participants", "referee", "1000", GOAL, name="referee").ready()
    graph.wait(moves(MOVES), timeout=BEGINS)
    time.sleep(2.0 * CHUNK_SECONDS)  # until a part is on the disk
    return Scene(graph, node, controller)


def _trial(fault: Fault, end: End, *, wakes: Fault | None = None) -> Callable[[int], Outcome]:
    def run(_: int) -> Outcome:
        why = ""
        for _ in range(TRIES):
            with Graph() as graph:
                try:
                    scene = _start(graph)
                except AdaError as problem:  # the machine was too busy before the fault
                    why = str(problem)
                    continue
                at = time.monotonic()
                fault(scene)
                state, seconds, reason = end(scene, at)
                if wakes is not None:
                    wakes(scene)
                return Outcome(state, seconds, _lost(scene), reason)
        return Outcome("not moving", 0.0, [f"the robot did not move in {TRIES} tries: {why}"])

    return run


def _lost(scene: Scene) -> list[str]:
    """Losses of the recording; a killed node may lose the open chunk."""
    killed = scene.node.code() == -signal.SIGKILL
    if not killed:
        scene.node.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingCutShortWarning)
        log = Log.load(scene.graph.folder / "run.mcap")
    if not killed:
        return [] if log.info["complete"] else [f"{log.info.get('lost', 0)} states, or the end, are not in it"]
    seen = [one for one in scene.graph.events if "joints" in one]
    off = [float(np.max(np.abs(log.q[-1] - one["joints"]["position"]))) for one in seen]
    lost = seen[-1]["at"] - seen[int(np.argmin(off))]["at"]
    return [f"the last {lost:.3g} s of the recording are lost"] if lost > CHUNK_SECONDS + SEEN else []


def _controller_ends(scene: Scene, at: float) -> tuple[str, float, str]:
    """The controller reports that it receives no states."""
    found = scene.graph.wait(lambda one: one.get("life", {}).get("controller_node") == "inactive", at, ENDS)
    return "inactive", found["at"] - at, "the controller received no states"


def _rests(scene: Scene, at: float) -> tuple[str, float, str]:
    """The arm holds where it is."""
    found = scene.graph.wait(lambda one: "joints" in one and not moves(RESTS)(one), at, ENDS)
    return "holds", found["at"] - at, ""


def _wakes(scene: Scene) -> None:
    """The simulation resumes, and the arm does not move."""
    scene.node.send(signal.SIGCONT)
    woke = time.monotonic()
    scene.graph.wait(lambda one: "joints" in one, woke, ENDS)
    time.sleep(WATCHED)
    if moves(RESTS)(scene.graph.newest(lambda one: "joints" in one)):
        raise AdaError("the arm moves without a controller after its simulation has resumed")


def _send(number: int, *, to_controller: bool = False) -> Fault:
    return lambda scene: (scene.controller if to_controller else scene.node).send(number)


CASES = (
    Case("simulation killed", ("inactive",), HOST, _trial(_send(signal.SIGKILL), _controller_ends)),
    Case(
        "simulation frozen, wakes up",
        ("inactive",),
        HOST,
        _trial(_send(signal.SIGSTOP), _controller_ends, wakes=_wakes),
    ),
    Case("its controller killed", ("holds",), HOST, _trial(_send(signal.SIGKILL, to_controller=True), _rests)),
)
