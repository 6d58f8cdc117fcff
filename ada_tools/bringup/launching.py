# SPDX-License-Identifier: Apache-2.0
"""Common parts of the launch files: arguments, checked values, and three layers of parameters for each node.

    ARGUMENTS = [declared("robot", ...), *robot_arguments(idle="hold")]

    def nodes(values):
        return [dynamics_node(values, {"robot": values("robot")}), *watchers(values, ...)]

    generate_launch_description = launched(ARGUMENTS, nodes, __file__)

launch is imported lazily, so that `launch_files` can replace it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ada_dynamics import resources
from ada_dynamics.errors import AdaError, unknown_name
from ada_robot.ros.robot_settings import COMMON_WORLD, check_base_pose, check_frame_prefix
from ada_tools.bringup.arguments import AUTO, BOOLEANS, Argument, ArgumentValues, assignments, declared, numbers
from ada_tools.bringup.devices import refuse_what_is_not_driven
from ada_tools.bringup.launch_files import Context
from ada_tools.bringup.layers import Layers, written
from ada_tools.bringup.params_files import unused_parameters
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import Machine, Parameter, ParameterValue
from ada_tools.bringup.rviz import topics, with_prefix
from ada_tools.bringup.starter import RESPAWN_DELAY

_GIVEN = "ada_dynamics.given"  # launch configuration with the names of the given arguments
_LEVELS = ("debug", "info", "warn", "error", "fatal")
_OUR_NODES = (
    "dynamics_node",
    "hardware_node",
    "controller_node",
    "target_node",
    "record_node",
    "view_node",
    "oracle_node",
)


class RequiredNodeEnded(AdaError):
    """A required node terminated."""


def robot_arguments(idle: str) -> list[Any]:
    """Arguments of every launch file with a robot.

    Args:
        idle: default behaviour of joints without a command.
    """
    return [
        declared(
            "idle",
            idle,
            "behaviour of joints without a current command: hold the position by a servo, or release the joint",
            ("hold", "release"),
        ),
        declared("real_time_factor", "1.0", "simulated seconds per second; 0: as fast as possible"),
        declared("oracle", "false", "compare all results with pinocchio and report on /diagnostics", BOOLEANS),
        declared(
            "base_pose",
            "",
            "pose of the robot's world frame in the frame world: x, y, z [m] and yaw [rad]; requires "
            "frame_prefix; empty: unknown",
        ),
        *node_arguments(),
    ]


def node_arguments() -> list[Any]:
    """Arguments of every launch file."""
    return [
        declared("view", "auto", "show the robot in the browser; auto: if viser is installed", AUTO),
        declared("view_port", "8080", "port of the browser view on this machine; 0: any free one"),
        declared("rviz", "auto", "show the robot in RViz; auto: if rviz2 is installed", AUTO),
        declared("record", "", "path of an .mcap file to record to; empty: none"),
        declared("use_sim_time", "false", "all nodes follow the clock of the simulation (/clock)", BOOLEANS),
        declared("namespace", "", "namespace of all nodes and topics, relative to a pushed namespace; empty: none"),
        declared(
            "frame_prefix",
            "",
            "prefix of all frame names, such as left/, so that several robots can share /tf; empty: none",
        ),
        declared("params_file", "", "path of a YAML file with node parameters; given arguments override it"),
        declared("log_level", "info", "minimum severity of log messages", _LEVELS),
        declared(
            "respawn",
            "false",
            "restart optional nodes (views, oracle) when they exit",
            BOOLEANS,
        ),
    ]


def launched(arguments: Sequence[Any], nodes: Callable[[LaunchValues], Sequence[Any]], file: str) -> Callable[[], Any]:
    """Create the function `generate_launch_description` of a launch file.

    Args:
        arguments: declared arguments; others are rejected.
        nodes: creates the actions from the argument values; None entries are skipped.
        file: path of the launch file.
    """
    names = [argument.name for argument in arguments]

    def look(context: Any) -> None:
        """Record the given arguments, before the defaults are declared."""
        if not isinstance(context, Context):
            _refuse_unknown(Path(file).name, names)
        given = [name for name in names if name in context.launch_configurations]
        context.launch_configurations[_GIVEN] = ",".join(given)

    def perform(context: Any) -> list[Any]:
        return [one for one in nodes(LaunchValues(context, arguments)) if one is not None]

    def generate_launch_description() -> Any:
        """Launch description with arguments and nodes."""
        from launch import LaunchDescription
        from launch.actions import OpaqueFunction

        return LaunchDescription([OpaqueFunction(function=look), *arguments, OpaqueFunction(function=perform)])

    return generate_launch_description


def _refuse_unknown(file: str, known: Sequence[str]) -> None:
    """Reject unknown arguments on the command line of `ros2 launch`, which launch ignores."""
    words = sys.argv[1:]
    if not any(Path(word).name == file for word in words):
        return  # included by another launch file: the words are its arguments
    for name in assignments(word for word in words if ":=" in word and not word.startswith("-")):
        if name not in known:
            raise unknown_name(f"argument of {file.removesuffix('.launch.py')}", name, known)


def argument_of(declaration: Any) -> Argument:
    """Argument with its checks, from a declaration of launch or `launch_files`."""
    if isinstance(declaration, Argument):
        return declaration
    default = declaration.default_value
    text = default if isinstance(default, str) else "".join(part.text for part in default)
    return Argument(declaration.name, text, declaration.description, tuple(declaration.choices or ()))


class LaunchValues(ArgumentValues):
    """Validated values of all arguments, and node parameters derived from them.

    `values["robot"]` is the text; `values("robot")` is a parameter that records its argument.

    Attributes:
        notes: warnings about requests that cannot be fulfilled.
    """

    def __init__(self, context: Any, arguments: Sequence[Any]) -> None:
        """Validate the values.

        Args:
            context: launch context.
            arguments: declared arguments.

        Raises:
            InputError: a value is not allowed.
        """
        configurations = context.launch_configurations
        given = [name for name in configurations[_GIVEN].split(",") if name]
        super().__init__([argument_of(one) for one in arguments], {name: configurations[name] for name in given}, "")
        self._is_read = isinstance(context, Context)  # executed by `ada up`, which writes no files here
        self._machine: Machine = context.machine if isinstance(context, Context) else Machine.of_nodes()
        self._pushed = "" if self._is_read else configurations.get("ros_namespace", "").rstrip("/")
        check_frame_prefix(self["frame_prefix"])
        check_base_pose(self.base_pose, self["frame_prefix"])
        refuse_what_is_not_driven(self)
        nodes = [f"{self.namespace}/{name}" for name in _OUR_NODES]
        self._passed_over = unused_parameters(Path(self["params_file"]), nodes) if self["params_file"] else ""

    def __call__(self, name: str, value: ParameterValue | None = None) -> Parameter:
        """Parameter from an argument, with its text or a derived value."""
        return Parameter(self[name] if value is None else value, name)

    def number(self, name: str) -> Parameter:
        """Numeric parameter from an argument."""
        return self(name, float(self[name]))

    def is_true(self, name: str) -> Parameter:
        """Boolean parameter from an argument."""
        return self(name, self.flag(name))

    @property
    def base_pose(self) -> list[float]:
        """Pose of the robot in the common world frame; empty if unknown."""
        return numbers(self.get("base_pose", ""))

    @property
    def frames(self) -> dict[str, Parameter]:
        """Parameters of nodes that publish transforms."""
        place = {"base_pose": self("base_pose", self.base_pose)} if self.base_pose else {}
        return {**self._prefix, **place}

    @property
    def simulation(self) -> dict[str, Parameter]:
        """Parameters of dynamics_node that every simulation takes from the arguments."""
        return {
            "idle": self("idle"),
            "real_time_factor": self.number("real_time_factor"),
            "record": self("record"),
            # The simulation is the clock of the other nodes; its steps follow the steady clock.
            "publish_clock": self.is_true("use_sim_time"),
            **self.frames,
        }

    @property
    def use_sim_time(self) -> dict[str, Parameter]:
        """Parameter of every node except the one that publishes the clock."""
        return {"use_sim_time": self.is_true("use_sim_time")}

    @property
    def follower(self) -> dict[str, Parameter]:
        """Parameters of nodes that use frame names but publish no transforms."""
        return {**self.use_sim_time, **self._prefix}

    @property
    def _prefix(self) -> dict[str, Parameter]:
        return {"frame_prefix": self("frame_prefix")} if self["frame_prefix"] else {}

    @property
    def view(self) -> dict[str, Parameter]:
        """Parameters of view_node that every launch file takes from the arguments."""
        return {**self.follower, "port": self("view_port", int(self["view_port"]))}

    @property
    def namespace(self) -> str:
        """Absolute namespace of the nodes; "" for none."""
        own = self["namespace"]
        return own if own.startswith("/") or not own else f"{self._pushed}/{own}"

    @property
    def is_moved(self) -> bool:
        """Return True if topics with absolute names move into a namespace."""
        return bool(self.namespace or self._pushed)

    @property
    def tf(self) -> list[tuple[str, str]]:
        """Remappings of /tf: a namespace has separate transforms unless a prefix keeps the frames distinct."""
        is_own = self.is_moved and not self["frame_prefix"]
        return [("/tf", "tf"), ("/tf_static", "tf_static")] if is_own else []

    def layers(self, parameters: Mapping[str, ParameterValue | Parameter], *, takes_file: bool = True) -> Layers:
        """Parameter layers of a node, in increasing priority: setup, parameter file of the user, given arguments.

        Args:
            parameters: parameters by name; those from arguments record their argument.
            takes_file: whether the parameter file of the user applies to this node.
        """
        all_of_them = {name: one if isinstance(one, Parameter) else Parameter(one) for name, one in parameters.items()}
        own = {name: one.value for name, one in all_of_them.items() if one.argument not in self.given}
        given = {name: one.value for name, one in all_of_them.items() if one.argument in self.given}
        file = Path(self["params_file"]) if takes_file and self["params_file"] else None
        return Layers(own, file, given, is_written=not self._is_read)

    @cached_property
    def required(self) -> dict[str, Any]:
        """Options of a required node: the launch fails when it exits."""
        return {**self._common, "on_exit": _required}

    @cached_property
    def optional(self) -> dict[str, Any]:
        """Options of an optional node, which may be restarted."""
        return {**self._common, "respawn": self.flag("respawn"), "respawn_delay": RESPAWN_DELAY}

    @cached_property
    def once(self) -> dict[str, Any]:
        """Options of an optional node that must not be restarted automatically."""
        return self._common

    @property
    def _common(self) -> dict[str, Any]:
        common: dict[str, Any] = {"output": "screen", "ros_arguments": ["--log-level", self["log_level"]]}
        return {**common, "namespace": self["namespace"]} if self["namespace"] else common

    @property
    def shows_view(self) -> bool:
        """Return True if the browser view is started."""
        return self["view"] == "true" or (self["view"] == "auto" and self._machine.has_viser)

    @property
    def shows_rviz(self) -> bool:
        """Return True if RViz is started, which requires its installation."""
        return self["rviz"] != "false" and self._machine.has_rviz

    @property
    def notes(self) -> list[Any]:
        """Warnings about requests that cannot be fulfilled."""
        from launch.actions import LogInfo

        texts = [self._passed_over] if self._passed_over else []
        if self["rviz"] == "true" and not self._machine.has_rviz:
            texts += ["rviz:=true, but rviz2 is not on the PATH: RViz is not started (view:=true shows the robot)"]
        return [LogInfo(msg=text) for text in texts]

    def rviz(self, picture: Picture, frame: str = "") -> dict[str, Any]:
        """Arguments and remappings of RViz.

        Args:
            picture: RViz configuration.
            frame: fixed frame without prefix; "" for the frame of the configuration.
        """
        prefix, file = self["frame_prefix"], resources.find("config", picture.file)
        wanted = COMMON_WORLD if self.base_pose else prefix + (frame or picture.fixed_frame)
        if prefix:
            file = written(picture.file, with_prefix(file.read_text(encoding="utf-8"), prefix))
        named = [(name, name.removeprefix("/")) for name in topics(picture)] if self.is_moved else []
        return {
            "arguments": ["-d", str(file), *(["-f", wanted] if wanted != picture.fixed_frame else [])],
            "remappings": [*self.tf, *named],
        }


def _required(event: Any, context: Any) -> None:
    """Reaction to the exit of a required node; an error gives exit code 1, while launch's Shutdown gives 0.

    Raises:
        RequiredNodeEnded: unless the launch is already shutting down.
    """
    if not context.is_shutdown:
        raise RequiredNodeEnded(f"{event.process_name} is required and exited with code {event.returncode}.")
