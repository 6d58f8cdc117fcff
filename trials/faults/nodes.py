# SPDX-License-Identifier: Apache-2.0
"""Faults of ROS 2 nodes: an emulated PA-10 at some speed, its node, and a commander over DDS."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from benchmarks.ros.world import Process
from trials.faults.case import ENDS, HOST, TRIES, WATCHED, Case, Outcome
from trials.faults.graph import CONTROLLER, Graph, in_phase, moves, phase_of
from trials.faults.participants import SPEED

AGAIN = 1.5  # [s] without motion after a frozen process has resumed
BEGINS = 20.0  # [s] until the robot moves
STILL = 1e-6  # [rad]
GOAL = "0.6,0.6,0.6,0.6,0.6,0.6,0.6"  # [rad]
SLOW = {"joint_trajectory.speed_scale": 0.1}  # of the controller


class Scene(NamedTuple):
    """A robot that moves, and the processes that can fail."""

    graph: Graph
    device: EmulatorProcess
    node: Process
    commander: Process


Start = Callable[[Graph, EmulatorProcess], Scene]
Fault = Callable[[Scene], object]
End = Callable[[Scene, float], tuple[str, float, str]]


def commanded(kind: str = "plain") -> Start:
    """An arm, and a program that commands velocities."""

    def start(graph: Graph, device: EmulatorProcess) -> Scene:
        robot = graph.arm(device)
        graph.observe()
        return Scene(graph, device, robot, graph.commander(kind))

    return start


def controlled(graph: Graph, device: EmulatorProcess) -> Scene:
    """An arm, and a controller on the way to a goal."""
    robot = graph.arm(device)
    graph.observe()
    values = {"robot": "pa10", "controller": "joint_trajectory", "state_source": "joint_states", **SLOW}
    controller = graph.node(CONTROLLER, {**values, "state_timeout": 2.0})
    graph.wait(in_phase("active"))
    graph.processes.start("benchmarks.ros.participants", "referee", "1000", GOAL, name="referee").ready()
    return Scene(graph, device, robot, controller)


def told(scene: Scene, at: float) -> tuple[str, float, str]:
    """The end reported by the node."""
    found = scene.graph.wait(in_phase("inactive", "stopped", "closed"), at, ENDS)
    return phase_of(found), found["at"] - at, str(found["state"]["devices"]["pa10"]["reason"])


def braked(scene: Scene, at: float) -> tuple[str, float, str]:
    """The end shown by the device."""
    while set(scene.device.state()["ways"]) != {"braked"} and time.monotonic() < at + ENDS:
        time.sleep(0.005)
    is_braked = set(scene.device.state()["ways"]) == {"braked"}
    return "braked" if is_braked else "moves", time.monotonic() - at, ""


def goes_on(scene: Scene, at: float) -> tuple[str, float, str]:
    """The fault is tolerated, or the node reports another end."""
    time.sleep(max(0.0, at + WATCHED - time.monotonic()))
    found = scene.graph.newest(phase_of)
    return phase_of(found), 0.0, str(found["state"]["devices"]["pa10"]["reason"])


def trial(start: Start, fault: Fault, end: End, wakes: Fault | None = None) -> Callable[[int], Outcome]:
    """A robot that moves, a fault, its end; and rest afterwards."""

    def run(seed: int) -> Outcome:
        why = ""
        for _ in range(TRIES):
            with Graph() as graph, EmulatorProcess("pa10", seed=seed) as device:
                try:
                    scene = start(graph, device)
                    graph.wait(in_phase("active"), timeout=BEGINS)
                    graph.wait(moves(0.5 * SPEED), timeout=BEGINS)
                except AdaError as problem:  # the machine was too busy before the fault
                    why = str(problem)
                    continue
                at = time.monotonic()
                fault(scene)
                state, seconds, reason = end(scene, at)
                problems = [] if state == "active" else _rests(scene, wakes)
                return Outcome(state, seconds, problems + [one.text for one in device.violations()], reason)
        return Outcome("not moving", 0.0, [f"the robot did not move in {TRIES} tries: {why}"])

    return run


def _rests(scene: Scene, wakes: Fault | None) -> list[str]:
    """Violations of rest after the end, also when a frozen process resumes."""
    before = scene.device.state()
    if max(map(abs, before["velocity"])) > SPEED / 10.0:
        return [f"it still moves at {before['velocity']} rad/s"]
    if wakes is None:
        return []
    wakes(scene)
    time.sleep(AGAIN)
    after = scene.device.state()
    way = max(abs(a - b) for a, b in zip(after["position"], before["position"], strict=True))
    return [f"it moved by {way:.3g} rad afterwards"] if way > STILL else []


def _send(number: int, *, to_node: bool = False) -> Fault:
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
)
