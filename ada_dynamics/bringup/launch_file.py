# SPDX-License-Identifier: Apache-2.0
"""A setup as ROS's launch wants it; the files in launch/ call `describe` and nothing else.

This is the one module of the package that imports launch and launch_ros.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ada_dynamics.bringup.arguments import assignments
from ada_dynamics.bringup.processes import PACKAGE, Plan, Process
from ada_dynamics.bringup.setup import Setup
from ada_dynamics.bringup.setups import SETUPS, plan
from ada_dynamics.errors import unknown_name
from launch import LaunchContext, LaunchDescription


def describe(name: str) -> LaunchDescription:
    """The launch description of a setup.

    Args:
        name: of the setup.
    """
    setup = SETUPS[name]
    given: set[str] = set()  # names of arguments that somebody gave

    def look(context: LaunchContext) -> None:
        """Before the defaults are declared, only values that were given are there."""
        _refuse_unknown(setup)
        given.update(name for name in context.launch_configurations)

    def start(context: LaunchContext) -> list[Any]:
        values = {
            argument.name: LaunchConfiguration(argument.name).perform(context)
            for argument in setup.arguments
            if argument.name in given
        }
        return _actions(plan(setup, values))

    declared = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in setup.arguments
    ]
    return LaunchDescription([OpaqueFunction(function=look), *declared, OpaqueFunction(function=start)])


def _refuse_unknown(setup: Setup) -> None:
    """An argument on the command line of `ros2 launch` that does not exist: launch itself says nothing about it."""
    words = sys.argv[1:]
    if not any(Path(word).name == setup.launch_file for word in words):
        return  # another launch file includes this one: the words are that one's
    known = [argument.name for argument in setup.arguments]
    for name in assignments(word for word in words if ":=" in word and not word.startswith("-")):
        if name not in known:
            raise unknown_name(f"argument of {setup.name}", name, known)


def _actions(what: Plan) -> list[Any]:
    folder = Path(tempfile.mkdtemp(prefix="ada_dynamics_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    notes = [LogInfo(msg=note) for note in what.notes]
    return [*notes, *(_node(process, folder) for process in what.processes)]


def _node(process: Process, folder: Path) -> Node:
    before, after = process.write_files(folder)
    files = (before, process.params_file, after)
    return Node(
        **_program(process),
        name=process.name,
        namespace=process.namespace or None,
        parameters=[str(file) for file in files if file is not None],
        remappings=list(process.remappings),
        output="screen",
        # An empty list would let launch fail when the process ends.
        on_exit=None if process.optional else Shutdown(reason=f"{process.name} has ended"),
    )


def _program(process: Process) -> dict[str, Any]:
    """What is executed: as `ros2 run` finds it or, where pip installed this package, as a module of this Python."""
    if process.package != PACKAGE or _has_executable(process.executable):
        return {"package": process.package, "executable": process.executable, "arguments": list(process.arguments)}
    arguments = ["-m", process.module, *process.arguments]
    return {"executable": sys.executable, "arguments": arguments, "exec_name": process.name}


def _has_executable(name: str) -> bool:
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        prefix = Path(get_package_prefix(PACKAGE))
    except PackageNotFoundError:
        return False
    return (prefix / "lib" / PACKAGE / name).is_file()
