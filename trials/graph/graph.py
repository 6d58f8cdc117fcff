# SPDX-License-Identifier: Apache-2.0
"""Starts a graph, and knows what its eye has seen.

with Graph() as graph:
    node = graph.node("ada_robot.node.dynamics_node", robot="pa10")
    graph.see("joints")
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros.environment import ros_problem
from benchmarks.ros.domains import own_domain
from benchmarks.ros.world import Process, Processes

HARDWARE = "ada_hardware.node.hardware_node"
DYNAMICS = "ada_robot.node.dynamics_node"
CONTROLLER = "ada_controllers.node.controller_node"
EYE = "eye"
LONGEST = 60.0  # [s] that anything is waited for
_LOOK = 0.002  # [s]


class Seen(dict[str, Any]):
    """Something that was seen, with its time `at` [s]."""


class Graph:
    """Nodes on a domain of their own; they end with the `with` block.

    Attributes:
        folder: for what they write.
        environment: that all have beside their own.
        seen: by the eye, in the order of time.
        told: by other programs, by their names.
    """

    def __init__(self) -> None:
        """Find out whether there is a ROS 2.

        Raises:
            AdaError: there is none.
        """
        problem = ros_problem()
        if problem is not None:
            raise AdaError(problem)
        self.environment: Mapping[str, str] = {}
        self.seen: list[Seen] = []
        self.told: dict[str, list[Seen]] = {}
        self._last = contextlib.ExitStack()
        self._eye: Process | None = None

    def __enter__(self) -> Graph:
        self.folder = Path(self._last.enter_context(tempfile.TemporaryDirectory()))
        domain = self._last.enter_context(own_domain())
        self._processes = self._last.enter_context(Processes(self.folder, domain))
        return self

    def __exit__(self, *_: object) -> None:
        self._last.close()

    # --- processes --------------------------------------------------------------------------------------------------
    def node(self, module: str, values: Mapping[str, object], **options: Any) -> Process:
        """Start a node with parameters; options are those of `Processes.start`."""
        words = [word for name, value in values.items() for word in ("-p", f"{name}:={value}")]
        return self.program(module, "--ros-args", *words, **options)

    def program(self, module: str, *arguments: str, name: str = "", **options: Any) -> Process:
        """Start a program, and keep what it tells."""
        name = name or module.rpartition(".")[2]
        told = self.seen if name == EYE else self.told.setdefault(name, [])
        environment = {**self.environment, **options.pop("environment", {})}
        return self._processes.start(
            module, *arguments, name=name, environment=environment, on_line=lambda line: _keep(told, line), **options
        )

    def commander(self, *arguments: str, name: str = "commander", **options: Any) -> Process:
        """Start one who commands an arm."""
        return self.program("trials.graph.commander", "--name", name, *arguments, name=name, **options)

    def eye(self, **options: Any) -> None:
        """Open the eye."""
        self._eye = self.program("trials.graph.eye", name=EYE, **options).ready()

    def arm(
        self,
        device: EmulatorProcess,
        *,
        autostart: str = "commanded",
        values: Mapping[str, object] | None = None,
        **options: Any,
    ) -> Process:
        """Start the node of a PA-10 at an emulated device; `values` are further parameters."""
        own = {"device": "pa10", "url": device.url, "autostart": autostart, "tf_rate": 0.0}
        return self.node(HARDWARE, {**own, "pa10.safety.record_folder": self.folder, **(values or {})}, **options)

    # --- what the eye sees ------------------------------------------------------------------------------------------
    def ask(self, service: str) -> None:
        """Let the eye call a service; the first time it only looks for it."""
        assert self._eye is not None
        self._eye.say(service)

    def wait(self, holds: Callable[[Seen], object], since: float = 0.0, timeout: float = LONGEST) -> Seen:
        """The first thing that is as wanted.

        Raises:
            AdaError: nothing was.
        """
        end, i = time.monotonic() + timeout, 0
        while True:
            while i < len(self.seen):
                one, i = self.seen[i], i + 1
                if one["at"] >= since and holds(one):
                    return one
            if time.monotonic() > end:
                raise AdaError(f"nothing of the kind was seen in {timeout:g} s; the nodes said:\n{self._words()}")
            time.sleep(_LOOK)

    def newest(self, holds: Callable[[Seen], object]) -> Seen:
        """The last thing so far that is as wanted; empty where there is none."""
        return next((one for one in reversed(list(self.seen)) if holds(one)), Seen())

    def _words(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{one.name}: {one.read_text(errors='replace')[-800:]}" for one in logs)


def in_phase(*phases: str) -> Callable[[Seen], bool]:
    """True of the state of an arm in one of these phases."""
    return lambda one: phase_of(one) in phases


def phase_of(one: Seen) -> str:
    """Phase of an arm in what was seen; "" where it says nothing of it."""
    devices = one.get("state", {}).get("devices", {})
    return str(devices.get("pa10", {}).get("phase", ""))


def report_on(part: str) -> Callable[[Seen], bool]:
    """True of a report on a part of a node, as "hardware_node: pa10"."""
    return lambda one: one.get("diagnostics", {}).get("name") == part


def moves(speed: float) -> Callable[[Seen], bool]:
    """True of joints of which one is faster [rad/s]."""
    return lambda one: max(map(abs, one.get("joints", {}).get("velocity", ())), default=0.0) > speed


def _keep(told: list[Seen], line: str) -> None:
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            told.append(Seen(found))


def speeds(device: EmulatorProcess) -> Sequence[float]:
    """Of the emulated arm's joints [rad/s]."""
    found: Sequence[float] = device.state()["velocity"]
    return found
