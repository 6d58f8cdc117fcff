# SPDX-License-Identifier: Apache-2.0
"""Launch descriptions of ROS 2 from the table of setups. launch is imported with the first description."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError, unknown_name
from ada_tools.bringup.arguments import assignments
from ada_tools.bringup.processes import Machine, Process
from ada_tools.bringup.setups import SETUPS, Setup, plan


class RequiredNodeEnded(AdaError):
    """A required node terminated."""


def launch_description(name: str) -> Any:
    """Launch description with the arguments and nodes of a setup."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction

    setup, given = SETUPS[name], dict[str, str]()

    def read_given(context: Any) -> None:
        """Read the given values before the defaults are declared."""
        _refuse_unknown(setup)
        configurations = context.launch_configurations
        given.update({one.name: configurations[one.name] for one in setup.arguments if one.name in configurations})

    def start(context: Any) -> list[Any]:
        pushed = context.launch_configurations.get("ros_namespace", "")
        machine = Machine.this()._replace(has_viser=True)  # the nodes may run in another Python, where it is installed
        what = plan(setup, given, machine, pushed)
        return [*(LogInfo(msg=note) for note in what.notes), *map(_node, what.processes)]

    declared = [
        DeclareLaunchArgument(
            one.name, default_value=one.default, description=one.description, choices=list(one.choices) or None
        )
        for one in setup.arguments
    ]
    return LaunchDescription([OpaqueFunction(function=read_given), *declared, OpaqueFunction(function=start)])


def _refuse_unknown(setup: Setup) -> None:
    """Reject unknown arguments on the command line of `ros2 launch`, which launch ignores."""
    words = sys.argv[1:]
    if not any(Path(word).name == setup.launch_file for word in words):
        return  # included by another launch file: the words are its arguments
    known = [argument.name for argument in setup.arguments]
    for name in assignments(word for word in words if ":=" in word and not word.startswith("-")):
        if name not in known:
            raise unknown_name(f"argument of {setup.name}", name, known)


def _node(process: Process) -> Any:
    """Action that starts a process; the launch fails when a required one exits."""
    from launch_ros.actions import Node

    end = {} if process.optional else {"on_exit": _required}
    return Node(
        package=process.package,
        executable=process.executable,
        name=process.name,
        namespace=process.namespace or None,
        parameters=[str(file) for file in process.parameter_files()],
        remappings=list(process.remappings),
        arguments=list(process.arguments),
        ros_arguments=["--log-level", process.log_level] if process.log_level else None,
        output="screen",
        **end,
    )


def _required(event: Any, context: Any) -> None:
    """Reaction to the exit of a required node; an error gives exit code 1, while launch's Shutdown gives 0.

    Raises:
        RequiredNodeEnded: unless the launch is already shutting down.
    """
    if not context.is_shutdown:
        raise RequiredNodeEnded(f"{event.process_name} is required and exited with code {event.returncode}.")
