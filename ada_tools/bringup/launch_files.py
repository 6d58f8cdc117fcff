# SPDX-License-Identifier: Apache-2.0
"""Read launch files without ROS launch, using substitutes for the few classes that they need.

The files in launch/ define the setups. `ros2 launch` executes them with ROS launch. `ada up` must work without it, as
it is not on PyPI: it executes the same files with these substitutes and starts the nodes itself.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ada_tools.bringup.arguments import Argument
from ada_tools.bringup.layers import Layers
from ada_tools.bringup.processes import Machine, Process


@dataclass
class Context:
    """Context of one launch: argument values by name, and installed programs."""

    launch_configurations: dict[str, str]
    machine: Machine


def argument(name: str, *, default_value: str, description: str, choices: Sequence[str] | None = None) -> Argument:
    """Substitute for launch.actions.DeclareLaunchArgument."""
    return Argument(name, default_value, description, tuple(choices or ()))


@dataclass
class OpaqueFunction:
    """Function of the context that may return further entities."""

    function: Callable[[Context], Sequence[Any] | None]


@dataclass
class LogInfo:
    """Message to print."""

    msg: str


@dataclass
class LaunchDescription:
    """Contents of a launch file."""

    entities: Sequence[Any]


def node(
    *,
    package: str,
    executable: str,
    name: str,
    parameters: Layers,
    ros_arguments: Sequence[str],
    namespace: str = "",
    remappings: Sequence[tuple[str, str]] = (),
    arguments: Sequence[str] = (),
    output: str = "",
    on_exit: Any = None,
    respawn: bool = False,
    respawn_delay: float = 0.0,
) -> Process:
    """Substitute for launch_ros.actions.Node."""
    level = ros_arguments[list(ros_arguments).index("--log-level") + 1]
    return Process(
        executable,
        name,
        package=package,
        namespace=absolute(namespace),
        parameters=parameters.own,
        given=parameters.given,
        params_file=parameters.file,
        remappings=tuple(remappings),
        arguments=tuple(arguments),
        optional=on_exit is None,
        respawn=respawn,
        log_level="" if level == "info" else level,
    )


def absolute(namespace: str) -> str:
    """Namespace with a leading slash; pushed namespaces do not exist here."""
    return namespace if namespace.startswith("/") or not namespace else f"/{namespace}"


@dataclass
class LaunchFile:
    """An executed launch file.

    Attributes:
        summary: first line of its docstring.
        description: its launch description.
    """

    summary: str
    description: LaunchDescription
    arguments: tuple[Argument, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the arguments."""
        self.arguments = tuple(one for one in self.description.entities if isinstance(one, Argument))

    def performed(self, given: Mapping[str, str], machine: Machine) -> list[Process | LogInfo]:
        """Processes and messages of the launch.

        Args:
            given: values of some of the arguments.
            machine: installed programs.
        """
        context = Context(dict(given), machine)
        found: list[Process | LogInfo] = []
        with _substituted():
            todo = list(self.description.entities)
            while todo:
                entity = todo.pop(0)
                if isinstance(entity, Argument):
                    context.launch_configurations.setdefault(entity.name, entity.default)
                elif isinstance(entity, OpaqueFunction):
                    todo = [*(entity.function(context) or ()), *todo]
                else:
                    found.append(entity)
        return found


def read(path: Path) -> LaunchFile:
    """Execute the launch file at a path."""
    with _substituted():
        found = runpy.run_path(str(path))
        return LaunchFile(str(found["__doc__"]).splitlines()[0].rstrip("."), found["generate_launch_description"]())


_WORDS: Mapping[str, Mapping[str, object]] = {
    "launch": {"LaunchDescription": LaunchDescription},
    "launch.actions": {"DeclareLaunchArgument": argument, "LogInfo": LogInfo, "OpaqueFunction": OpaqueFunction},
    "launch_ros": {},
    "launch_ros.actions": {"Node": node},
}


@contextlib.contextmanager
def _substituted() -> Iterator[None]:
    """Context in which `import launch` finds these substitutes."""
    before = {name: sys.modules.get(name) for name in _WORDS}
    for name, words in _WORDS.items():
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(words)
    try:
        yield
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
