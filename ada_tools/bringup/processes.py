# SPDX-License-Identifier: Apache-2.0
"""Parts of a plan: processes with their parameters and remappings, and what the machine has installed."""

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
PATIENCE = 10.0  # [s] with another Python that is asked what it has

ParameterValue = bool | int | float | str | list[str] | list[float]


class Parameter(NamedTuple):
    """The value of a node's parameter, and the argument that it comes from."""

    value: ParameterValue
    argument: str = ""  # "" where the setup itself says it


Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Process:
    """One process of a plan.

    Attributes:
        executable: as in `ros2 run PACKAGE EXECUTABLE`.
        name: of its node.
        package: that it belongs to.
        namespace: of its node, absolute; "" for none.
        parameters: which a file of parameters may overrule.
        given: parameters that come from given arguments; nothing overrules them.
        params_file: file of parameters; it overrules `parameters`.
        remappings: of names of topics.
        arguments: on its command line, in front of ROS's.
        optional: the others go on when it ends.
        respawn: it is started again when it ends.
        log_level: least severity of what it logs; "": as the node has it.
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
        """The module whose `main()` it is; only processes of this package have one."""
        return MODULES[self.executable]

    @property
    def full_name(self) -> str:
        """The node's name with its namespace."""
        return f"{self.namespace}/{self.name}"

    def write_files(self, folder: Path) -> tuple[Path | None, Path | None]:
        """Write `parameters` and those that were `given`; None where there are none.

        ROS 2 collects blocks of the same key where the key comes first, and the last block that fits a node counts.
        With these two keys a user's file comes between them, in whatever way it names the node.

        Args:
            folder: where to.
        """
        before, after = folder / f"{self.name}.yaml", folder / f"{self.name}_given.yaml"
        before.write_text(params_text(self.parameters), encoding="utf-8")
        after.write_text(params_text(self.given, f"/**/{self.name}"), encoding="utf-8")
        return before if self.parameters else None, after if self.given else None

    def ros_arguments(self, before: Path | None = None, after: Path | None = None) -> list[str]:
        """The words behind --ros-args.

        Args:
            before: file with `parameters`.
            after: file with those that were `given`.
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
    """Parameters as a file in ROS's YAML; empty lists, which have no type, are left out.

    Args:
        parameters: by name.
        node: which node they are for.
    """
    lines = [f"{node}:", "  ros__parameters:"]
    lines += [f"    {name}: {json.dumps(value)}" for name, value in parameters.items() if value != []]
    return "\n".join(lines) + "\n" if len(lines) > 2 else f"{node}:\n  ros__parameters: {{}}\n"


@dataclass(frozen=True)
class Plan:
    """A plan of processes.

    Attributes:
        setup: name of the setup.
        values: of all its arguments.
        processes: in the order in which they start.
        notes: what could not be done as wished, for the user.
    """

    setup: str
    values: Mapping[str, str]
    processes: tuple[Process, ...]
    notes: tuple[str, ...] = ()

    def process(self, executable: str) -> Process | None:
        """The process with that executable, if there is one."""
        return next((one for one in self.processes if one.executable == executable), None)

    @property
    def robot(self) -> Mapping[str, ParameterValue]:
        """All parameters of the simulated robot's node."""
        return self.parameters("dynamics_node")

    @property
    def devices(self) -> Mapping[str, ParameterValue]:
        """All parameters of the node of devices; none where a robot is simulated."""
        return self.parameters("hardware_node")

    @property
    def plant(self) -> str:
        """Executable, and name, of the node that has the robot or the devices."""
        return "hardware_node" if self.devices else "dynamics_node"

    @property
    def controller(self) -> str:
        """Name of the controller that moves the robot; "" where there is none."""
        return str(self.parameters("controller_node").get("controller", ""))

    def parameters(self, executable: str) -> Mapping[str, ParameterValue]:
        """All parameters of the process with that executable; none where there is no such process."""
        node = self.process(executable)
        return {} if node is None else {**node.parameters, **node.given}


class Machine(NamedTuple):
    """Programs on this machine that a plan may start."""

    has_rviz: bool
    has_viser: bool

    @classmethod
    def this(cls) -> Machine:
        """This one, with what this Python has: it starts the nodes itself."""
        return cls(shutil.which("rviz2") is not None, importlib.util.find_spec("viser") is not None)

    @classmethod
    def of_nodes(cls, patience: float = PATIENCE) -> Machine:
        """This one, with what the Python of the installed nodes has: `ros2` starts them, and runs on another one."""
        python = _python_of(_executable("view_node"))
        if python in ("", sys.executable):
            return cls.this()
        return cls(shutil.which("rviz2") is not None, _can_import(python, "viser", patience))


def _executable(name: str) -> Path | None:
    """An installed node, as ROS finds it; None where there is none."""
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "lib" / "ada_dynamics" / name
        if prefix and path.is_file():
            return path
    return None


def _python_of(executable: Path | None) -> str:
    """The interpreter that a script's first line names; "" where it is no script."""
    if executable is None:
        return ""
    with suppress(OSError), executable.open("rb") as file:
        first = file.readline().decode(errors="replace")
        if first.startswith("#!"):
            return first[2:].strip()
    return ""


def _can_import(python: str, module: str, patience: float) -> bool:
    """True if another Python has a module. Args: its command; the module's name; how long it is waited for [s]."""
    question = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run([*shlex.split(python), "-c", question], capture_output=True, timeout=patience)
        return asked.returncode == 0
    return False
