# SPDX-License-Identifier: Apache-2.0
"""Graphs of ROS 2 nodes, each a process, on a DDS domain of this machine, and an observer of their reports.

with Graph() as graph:
    node = graph.node("ada_robot.node.dynamics_node", {"robot": "pa10"})
    graph.observe()
    graph.wait(lambda one: "joints" in one)
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros.environment import ros_problem
from benchmarks.ros.domains import own_domain
from benchmarks.ros.world import MeasuredProcess, Processes

HARDWARE = "ada_hardware.node.hardware_node"
DYNAMICS = "ada_robot.node.dynamics_node"
CONTROLLER = "ada_controllers.node.controller_node"
PARTICIPANTS = "trials.faults.participants"
LONGEST = 60.0  # [s] of a wait
LOOK = 0.002  # [s]
Event = dict[str, Any]  # with its time `at` [s]


class Graph:
    """Nodes on a domain of their own; they end with the `with` block.

    Attributes:
        folder: for their output.
        events: reports of nodes, in the order of time.
    """

    def __init__(self) -> None:
        """Check that ROS 2 is available.

        Raises:
            AdaError: it is not.
        """
        problem = ros_problem()
        if problem is not None:
            raise AdaError(problem)
        self.events: list[Event] = []
        self._last = contextlib.ExitStack()

    def __enter__(self) -> Graph:
        self.folder = Path(self._last.enter_context(tempfile.TemporaryDirectory()))
        domain = self._last.enter_context(own_domain())
        self.processes = self._last.enter_context(Processes(self.folder, domain))
        return self

    def __exit__(self, *_: object) -> None:
        self._last.close()

    # --- processes --------------------------------------------------------------------------------------------------
    def node(self, module: str, values: Mapping[str, object]) -> MeasuredProcess:
        """Start a node with parameters."""
        words = [word for name, value in values.items() for word in ("-p", f"{name}:={value}")]
        return self.processes.start(module, "--ros-args", *words, name=module.rpartition(".")[2])

    def arm(self, seed: int) -> tuple[EmulatorProcess, MeasuredProcess]:
        """Start an emulated PA-10 and its node."""
        device = self._last.enter_context(EmulatorProcess("pa10", seed=seed))
        values = {"device": "pa10", "url": device.url, "autostart": "commanded", "tf_rate": 0.0}
        return device, self.node(HARDWARE, {**values, "pa10.safety.record_folder": self.folder})

    def commander(self, kind: str = "plain") -> MeasuredProcess:
        """Start a program that commands an arm."""
        return self.processes.start(PARTICIPANTS, "commander", "--kind", kind, name="commander")

    def observe(self) -> None:
        """Start the observer."""
        self.processes.start(PARTICIPANTS, "observer", name="observer", on_line=self._take).ready()

    def _take(self, line: str) -> None:
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                self.events.append(found)

    # --- events -----------------------------------------------------------------------------------------------------
    def wait(self, holds: Callable[[Event], object], since: float = 0.0, timeout: float = LONGEST) -> Event:
        """The first event after a time for which a condition holds.

        Raises:
            AdaError: there was none.
        """
        end, i = time.monotonic() + timeout, 0
        while True:
            while i < len(self.events):
                one, i = self.events[i], i + 1
                if one["at"] >= since and holds(one):
                    return one
            if time.monotonic() > end:
                logs = [f"{log.name}: {log.read_text(errors='replace')[-800:]}" for log in self.folder.glob("*.log")]
                raise AdaError("no such event in {:g} s; output of the nodes:\n{}".format(timeout, "\n".join(logs)))
            time.sleep(LOOK)

    def newest(self, holds: Callable[[Event], object]) -> Event:
        """The last event for which a condition holds; empty if there is none."""
        return next((one for one in reversed(list(self.events)) if holds(one)), {})


def in_phase(*phases: str) -> Callable[[Event], bool]:
    """True for the state of an arm in one of these phases."""
    return lambda one: phase_of(one) in phases


def phase_of(one: Event) -> str:
    """Phase of an arm; "" for other events."""
    devices = one.get("state", {}).get("devices", {})
    return str(devices.get("pa10", {}).get("phase", ""))


def moves(speed: float) -> Callable[[Event], bool]:
    """True for joint states with a joint faster than a speed [rad/s]."""
    return lambda one: max(map(abs, one.get("joints", {}).get("velocity", ())), default=0.0) > speed
