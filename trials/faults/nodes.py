# SPDX-License-Identifier: Apache-2.0
"""Faults of ROS 2 nodes: an emulated or simulated PA-10 at some speed, its node, and a commander over DDS."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from benchmarks.ros.world import MeasuredProcess
from trials.faults.case import ENDS, HOST, STOP, TRIES, WATCHED, Case, Outcome
from trials.faults.graph import CONTROLLER, DYNAMICS, Graph, in_phase, moves, phase_of
from trials.faults.participants import SPEED

AGAIN = 1.5  # [s] without motion after a frozen process has resumed
BEGINS = 120.0  # [s] until the robot moves; its controller may have to be compiled
STILL = 1e-6  # [rad]
GOAL = {"joints": "[s1,s2,s3,e1,e2,w1,w2]", "positions": "[0.6,0.6,0.6,0.6,0.6,0.6,0.6]"}  # [rad]
RESTS = 0.005  # [rad/s]
SLOW = {"joint_trajectory.speed_scale": 0.1}  # of the controller


class Scene(NamedTuple):
    """A robot that moves: its node, the program or controller that commands it, and its device unless simulated."""

    graph: Graph
    node: MeasuredProcess
    commander: MeasuredProcess
    device: EmulatorProcess | None = None


Start = Callable[[Graph, int], Scene]  # with a seed
Fault = Callable[[Scene], object]
End = Callable[[Scene, float], tuple[str, float, str]]
Check = Callable[[Scene, str, "Fault | None"], list[str]]


def commanded(kind: str = "plain") -> Start:
    """An arm, and a program that commands velocities."""

    def start(graph: Graph, seed: int) -> Scene:
        device, robot = graph.arm(seed)
        graph.observe()
        scene = Scene(graph, robot, graph.commander(kind), device)
        graph.wait(in_phase("active"), timeout=BEGINS)
        graph.wait(moves(0.5 * SPEED), timeout=BEGINS)
        return scene

    return start


def controlled(graph: Graph, seed: int) -> Scene:
    """An arm, and a controller on the way to a goal."""
    device, robot = graph.arm(seed)
    graph.observe()
    values = {"robot": "pa10", "controller": "joint_trajectory", "state_source": "joint_states", **SLOW}
    controller = graph.node(CONTROLLER, {**values, "state_timeout": 2.0})
    graph.wait(in_phase("active"))
    graph.node("ada_tools.nodes.target_node", GOAL)
    graph.wait(moves(0.5 * SPEED), timeout=BEGINS)
    return Scene(graph, robot, controller, device)


def simulated(graph: Graph, _: int) -> Scene:
    """A simulated arm, and a controller on the way to a goal."""
    graph.observe()
    node = graph.node(DYNAMICS, {"robot": "pa10"})
    slow = {"controller": "joint_trajectory", **SLOW, "state_timeout": STOP / 2.0, "timeout_clock": "machine"}
    controller = graph.node(CONTROLLER, {"robot": "pa10", **slow})
    graph.node("ada_tools.nodes.target_node", GOAL)
    graph.wait(moves(0.5 * SPEED), timeout=BEGINS)
    time.sleep(2.0)  # until the observer has found the topics of the controller
    return Scene(graph, node, controller)


def told(scene: Scene, at: float) -> tuple[str, float, str]:
    """The end reported by the node."""
    found = scene.graph.wait(in_phase("inactive", "stopped", "closed"), at, ENDS)
    return phase_of(found), found["at"] - at, str(found["state"]["devices"]["pa10"]["reason"])


def braked(scene: Scene, at: float) -> tuple[str, float, str]:
    """The end shown by the device."""
    assert scene.device is not None
    while set(scene.device.state()["ways"]) != {"braked"} and time.monotonic() < at + ENDS:
        time.sleep(0.005)
    is_braked = set(scene.device.state()["ways"]) == {"braked"}
    return "braked" if is_braked else "moves", time.monotonic() - at, ""


def goes_on(scene: Scene, at: float) -> tuple[str, float, str]:
    """The fault is tolerated, or the node reports another end."""
    time.sleep(max(0.0, at + WATCHED - time.monotonic()))
    found = scene.graph.newest(phase_of)
    return phase_of(found), 0.0, str(found["state"]["devices"]["pa10"]["reason"])


def _controller_ends(scene: Scene, at: float) -> tuple[str, float, str]:
    """The controller reports that it receives no states."""
    found = scene.graph.wait(lambda one: one.get("life", {}).get("controller_node") == "inactive", at, ENDS)
    return "inactive", found["at"] - at, "the controller received no states"


def _holds(scene: Scene, at: float) -> tuple[str, float, str]:
    """The arm holds where it is."""
    found = scene.graph.wait(lambda one: "joints" in one and not moves(RESTS)(one), at, ENDS)
    return "holds", found["at"] - at, ""


def trial(
    start: Start, fault: Fault, end: End, wakes: Fault | None = None, check: Check | None = None
) -> Callable[[int], Outcome]:
    """A robot that moves, a fault, its end, and a check of what follows; by default of rest."""

    def run(seed: int) -> Outcome:
        why = ""
        for _ in range(TRIES):
            with Graph() as graph:
                try:
                    scene = start(graph, seed)
                except AdaError as problem:  # the machine was too busy before the fault
                    why = str(problem)
                    continue
                at = time.monotonic()
                fault(scene)
                state, seconds, reason = end(scene, at)
                return Outcome(state, seconds, (check or _rests)(scene, state, wakes), reason)
        return Outcome("not moving", 0.0, [f"the robot did not move in {TRIES} tries: {why}"])

    return run


def _rests(scene: Scene, state: str, wakes: Fault | None) -> list[str]:
    """Messages that the device refuses, and motion after the end, also when a frozen process resumes."""
    assert scene.device is not None
    problems = [one.text for one in scene.device.violations()]
    before = scene.device.state()
    if state == "active":
        return problems
    if max(map(abs, before["velocity"])) > SPEED / 10.0:
        return [*problems, f"it still moves at {before['velocity']} rad/s"]
    if wakes is None:
        return problems
    wakes(scene)
    time.sleep(AGAIN)
    after = scene.device.state()
    way = max(abs(a - b) for a, b in zip(after["position"], before["position"], strict=True))
    return [*problems, f"it moved by {way:.3g} rad afterwards"] if way > STILL else problems


def _is_still(scene: Scene, _: str, wakes: Fault | None) -> list[str]:
    """Motion after a simulation has resumed."""
    if wakes is not None:
        wakes(scene)
        scene.graph.wait(lambda one: "joints" in one, time.monotonic(), ENDS)
        time.sleep(WATCHED)
        if moves(RESTS)(scene.graph.newest(lambda one: "joints" in one)):
            return ["the arm moves without a controller after its simulation has resumed"]
    return []


def _send(number: signal.Signals, *, to_node: bool = False) -> Fault:
    return lambda scene: (scene.node if to_node else scene.commander).send(number)


FREEZE, THAW = _send(signal.SIGSTOP), _send(signal.SIGCONT)
FREEZE_NODE, THAW_NODE = _send(signal.SIGSTOP, to_node=True), _send(signal.SIGCONT, to_node=True)
KILL, KILL_NODE = _send(signal.SIGKILL), _send(signal.SIGKILL, to_node=True)
INACTIVE = ("inactive",)

CASES = (
    Case("controller node killed", INACTIVE, HOST, trial(controlled, KILL, told)),
    Case("controller node frozen, wakes up", INACTIVE, HOST, trial(controlled, FREEZE, told, THAW)),
    Case("commander frozen, wakes up", INACTIVE, HOST, trial(commanded(), FREEZE, told, THAW)),
    Case("robot's node killed", ("braked",), HOST, trial(commanded(), KILL_NODE, braked)),
    Case("robot's node frozen, wakes up", ("braked",), HOST, trial(commanded(), FREEZE_NODE, braked, THAW_NODE)),
    Case("commands doubled", ("active",), WATCHED, trial(commanded("doubled"), lambda _: None, goes_on)),
    Case("commands out of order", ("active",), WATCHED, trial(commanded("swapped"), lambda _: None, goes_on)),
    Case("simulation killed", INACTIVE, HOST, trial(simulated, KILL_NODE, _controller_ends, check=_is_still)),
    Case(
        *("simulation frozen, wakes up", INACTIVE, HOST),
        trial(simulated, FREEZE_NODE, _controller_ends, THAW_NODE, _is_still),
    ),
    Case("its controller killed", ("holds",), HOST, trial(simulated, KILL, _holds, check=_is_still)),
)
