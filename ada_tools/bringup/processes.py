# SPDX-License-Identifier: Apache-2.0
"""Parts of a plan: processes with parameters and remappings, and the installed programs."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ada_hardware.registry import DEVICES, SENSOR
from ada_tools.nodes.executables import MODULES

PACKAGE = "ada_dynamics"

ParameterValue = bool | int | float | str | list[str] | list[float]


@dataclass(frozen=True)
class Process:
    """One process of a plan."""

    executable: str  # as in `ros2 run PACKAGE EXECUTABLE`
    name: str  # node name
    package: str = PACKAGE  # package of the executable
    namespace: str = ""  # absolute namespace of the node; "" for none
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)  # a parameter file may override them
    given: Mapping[str, ParameterValue] = field(default_factory=dict)  # from given arguments, with priority over both
    params_file: Path | None = None  # parameter file of the user
    remappings: tuple[tuple[str, str], ...] = ()  # topic remappings
    arguments: tuple[str, ...] = ()  # command-line arguments before the ROS arguments
    optional: bool = False  # the other processes continue when it exits
    log_level: str = ""  # minimum severity of log messages; "" for the default of the node

    @property
    def module(self) -> str:
        """Module with `main()`; only for executables of this package."""
        return MODULES[self.executable]

    @property
    def full_name(self) -> str:
        """Node name with its namespace."""
        return f"{self.namespace}/{self.name}"

    def parameter_files(self) -> list[Path]:
        """Write the parameters to temporary files; return all files in increasing priority.

        ROS 2 merges blocks with the same key at the position of the first one, and the last matching block counts. Two
        different wildcards keep the user's file between them, whatever node names it uses.
        """
        before = [written("parameters.yaml", params_text(self.parameters))] if self.parameters else []
        between = [] if self.params_file is None else [self.params_file]
        after = [written("given.yaml", params_text(self.given, "/**/*"))] if self.given else []
        return [*before, *between, *after]

    def ros_arguments(self, files: Iterable[Path] = ()) -> list[str]:
        """Arguments after --ros-args.

        Args:
            files: parameter files in increasing priority.
        """
        words = ["-r", f"__node:={self.name}"]
        if self.namespace:
            words += ["-r", f"__ns:={self.namespace}"]
        for source, target in self.remappings:
            words += ["-r", f"{source}:={target}"]
        if self.log_level:
            words += ["--log-level", self.log_level]
        for file in files:
            words += ["--params-file", str(file)]
        return words


def params_text(parameters: Mapping[str, ParameterValue], node: str = "/**") -> str:
    """Parameters as a ROS YAML file; empty lists, which have no type, are omitted."""
    lines = [f"{node}:", "  ros__parameters:"]
    lines += [f"    {name}: {json.dumps(value)}" for name, value in parameters.items() if value != []]
    return "\n".join(lines) + "\n" if len(lines) > 2 else f"{node}:\n  ros__parameters: {{}}\n"


_COUNT = itertools.count(1)
_FOLDERS: list[Path] = []


def written(name: str, text: str) -> Path:
    """Write a temporary file, whose name ends with `name`, and which is deleted at the end of this process."""
    if not _FOLDERS:
        _FOLDERS.append(Path(tempfile.mkdtemp(prefix="ada_dynamics_")))
        atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
    path = _FOLDERS[0] / f"{next(_COUNT)}_{name}"
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Plan:
    """A plan of processes."""

    setup: str  # name of the setup
    values: Mapping[str, str]  # values of all arguments
    processes: tuple[Process, ...]  # processes in starting order
    notes: tuple[str, ...] = ()  # warnings for the user

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
    def is_sensor(self) -> bool:
        """Return True if the devices are sensors, which publish no joint states."""
        kinds = [str(kind) for name, kind in self.devices.items() if name.endswith(".kind")]
        return bool(kinds) and all(DEVICES[kind].kind == SENSOR for kind in kinds)

    @property
    def plant(self) -> str:
        """Executable and name of the node that publishes the states of the robot or of the devices."""
        names = ("hardware_node", "loop_state_publisher")
        return next((name for name in names if self.process(name)), "dynamics_node")

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
        """Programs available to this Python interpreter."""
        return cls(shutil.which("rviz2") is not None, importlib.util.find_spec("viser") is not None)
