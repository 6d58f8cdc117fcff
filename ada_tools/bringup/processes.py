# SPDX-License-Identifier: Apache-2.0
"""Parts of a plan: processes with parameters and remappings, and the installed programs."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ada_tools.nodes.executables import MODULES

PACKAGE = "ada_dynamics"
PATIENCE = 10.0  # [s] timeout for queries to another Python interpreter

ParameterValue = bool | int | float | str | list[str] | list[float]


class Parameter(NamedTuple):
    """Value of a node parameter, and the argument that it originates from."""

    value: ParameterValue
    argument: str = ""  # "" if set by the setup


Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Process:
    """One process of a plan.

    Attributes:
        executable: as in `ros2 run PACKAGE EXECUTABLE`.
        name: node name.
        package: package of the executable.
        namespace: absolute namespace of the node; "" for none.
        parameters: parameters that a parameter file may override.
        given: parameters from given arguments, with the highest priority.
        params_file: parameter file of the user.
        remappings: topic remappings.
        arguments: command-line arguments before the ROS arguments.
        optional: the other processes continue when it exits.
        respawn: restart it when it exits.
        log_level: minimum severity of log messages; "" for the default of the node.
    """

    executable: str
    name: str
    package: str = PACKAGE
    namespace: str = ""
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    given: Mapping[str, ParameterValue] = field(default_factory=dict)
    params_file: Path | None = None
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    optional: bool = False
    respawn: bool = False
    log_level: str = ""

    @property
    def module(self) -> str:
        """Module with `main()`; only for executables of this package."""
        return MODULES[self.executable]

    @property
    def full_name(self) -> str:
        """Node name with its namespace."""
        return f"{self.namespace}/{self.name}"

    def write_files(self, folder: Path) -> tuple[Path | None, Path | None]:
        """Write `parameters` and `given` to files; None for an empty one.

        ROS 2 merges blocks with the same key at the position of the first one, and the last matching block counts. The
        two
        keys place the user's file between them, whatever names it uses.

        Args:
            folder: output folder.
        """
        before, after = folder / f"{self.name}.yaml", folder / f"{self.name}_given.yaml"
        before.write_text(params_text(self.parameters), encoding="utf-8")
        after.write_text(params_text(self.given, f"/**/{self.name}"), encoding="utf-8")
        return before if self.parameters else None, after if self.given else None

    def ros_arguments(self, before: Path | None = None, after: Path | None = None) -> list[str]:
        """Arguments after --ros-args.

        Args:
            before: file with `parameters`.
            after: file with `given`.
        """
        words = ["-r", f"__node:={self.name}"]
        if self.namespace:
            words += ["-r", f"__ns:={self.namespace}"]
        for source, target in self.remappings:
            words += ["-r", f"{source}:={target}"]
        if self.log_level:
            words += ["--log-level", self.log_level]
        for file in (before, self.params_file, after):
            if file is not None:
                words += ["--params-file", str(file)]
        return words


def params_text(parameters: Mapping[str, ParameterValue], node: str = "/**") -> str:
    """Parameters as a ROS YAML file; empty lists, which have no type, are omitted.

    Args:
        parameters: values by name.
        node: node name or wildcard.
    """
    lines = [f"{node}:", "  ros__parameters:"]
    lines += [f"    {name}: {json.dumps(value)}" for name, value in parameters.items() if value != []]
    return "\n".join(lines) + "\n" if len(lines) > 2 else f"{node}:\n  ros__parameters: {{}}\n"


@dataclass(frozen=True)
class Plan:
    """A plan of processes.

    Attributes:
        setup: name of the setup.
        values: values of all arguments.
        processes: processes in starting order.
        notes: warnings for the user.
    """

    setup: str
    values: Mapping[str, str]
    processes: tuple[Process, ...]
    notes: tuple[str, ...] = ()

    def process(self, executable: str) -> Process | None:
        """Process with an executable; None if not planned."""
        return next((one for one in self.processes if one.executable == executable), None)

    @property
    def robot(self) -> Mapping[str, ParameterValue]:
        """All parameters of dynamics_node."""
        return self.parameters("dynamics_node")

    @property
    def devices(self) -> Mapping[str, ParameterValue]:
        """All parameters of hardware_node; empty for a simulation."""
        return self.parameters("hardware_node")

    @property
    def plant(self) -> str:
        """Executable and name of the node that has the robot or the devices."""
        return "hardware_node" if self.devices else "dynamics_node"

    @property
    def controller(self) -> str:
        """Name of the controller; "" without one."""
        return str(self.parameters("controller_node").get("controller", ""))

    def parameters(self, executable: str) -> Mapping[str, ParameterValue]:
        """All parameters of the process with an executable; empty if not planned."""
        node = self.process(executable)
        return {} if node is None else {**node.parameters, **node.given}


class Machine(NamedTuple):
    """Installed programs that a plan may start."""

    has_rviz: bool
    has_viser: bool

    @classmethod
    def this(cls) -> Machine:
        """Programs available to this Python interpreter, which starts the nodes itself."""
        return cls(shutil.which("rviz2") is not None, importlib.util.find_spec("viser") is not None)

    @classmethod
    def of_nodes(cls, patience: float = PATIENCE) -> Machine:
        """Programs available to the interpreter of the installed nodes, which `ros2` starts."""
        python = _python_of(_executable("view_node"))
        if python in ("", sys.executable):
            return cls.this()
        return cls(shutil.which("rviz2") is not None, _can_import(python, "viser", patience))


def _executable(name: str) -> Path | None:
    """Installed node executable as found by ROS; None if missing."""
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "lib" / "ada_dynamics" / name
        if prefix and path.is_file():
            return path
    return None


def _python_of(executable: Path | None) -> str:
    """Interpreter in the first line of a script; "" if it is not a script."""
    if executable is None:
        return ""
    with suppress(OSError), executable.open("rb") as file:
        first = file.readline().decode(errors="replace")
        if first.startswith("#!"):
            return first[2:].strip()
    return ""


def _can_import(python: str, module: str, patience: float) -> bool:
    """Return True if another Python interpreter has a module.

    Args:
        python: command of the interpreter.
        module: name of the module.
        patience: timeout [s].
    """
    question = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run([*shlex.split(python), "-c", question], capture_output=True, timeout=patience)
        return asked.returncode == 0
    return False
