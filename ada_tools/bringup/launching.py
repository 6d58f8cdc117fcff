# SPDX-License-Identifier: Apache-2.0
"""Common parts of the launch files: arguments, checked values, and three layers of parameters for each node.

    ARGUMENTS = [declared("robot", ...), *robot_arguments(idle="hold")]

    def nodes(values):
        return [dynamics_node(values, {"robot": values("robot")}), *watchers(values, ...)]

    generate_launch_description = launched(ARGUMENTS, nodes, __file__)

launch is imported where it is needed, so that `launch_words` can stand in for it.
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
from ada_tools.bringup.arguments import AUTO, BOOLEANS, Argument, Values, assignments, declared, numbers
from ada_tools.bringup.devices import refuse_what_is_not_driven
from ada_tools.bringup.launch_words import Context
from ada_tools.bringup.layers import Layers, written
from ada_tools.bringup.params_files import passed_over
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import Machine, Parameter, ParameterValue
from ada_tools.bringup.rviz import topics, with_prefix
from ada_tools.bringup.starter import RESPAWN_DELAY

_GIVEN = "ada_dynamics.given"  # launch configuration: names of given arguments
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
    """A node has ended that the others need."""


def robot_arguments(idle: str) -> list[Any]:
    """The arguments that every launch file with a robot takes.

    Args:
        idle: what its joints do without a command.
    """
    return [
        declared(
            "idle",
            idle,
            "what joints without a live command do: a servo holds them where they are, or they swing freely",
            ("hold", "release"),
        ),
        declared("real_time_factor", "1.0", "simulated seconds per second; 0: as fast as it goes"),
        declared("oracle", "false", "whether to check every answer against pinocchio, on /diagnostics", BOOLEANS),
        declared(
            "base_pose",
            "",
            "where the robot stands: x, y, z [m] and yaw [rad] of its own world frame in the frame world; needs "
            "frame_prefix; empty: not said",
        ),
        *node_arguments(),
    ]


def node_arguments() -> list[Any]:
    """The arguments that every launch file takes."""
    return [
        declared("view", "auto", "whether to show the robot in the browser; auto: where viser is installed", AUTO),
        declared("view_port", "8080", "port of the browser view on this machine; 0: any free one"),
        declared("rviz", "auto", "whether to show the robot in RViz; auto: where rviz2 is installed", AUTO),
        declared("record", "", "path of an .mcap file to record to; empty: none"),
        declared(
            "use_sim_time", "false", "whether the simulation is the clock (/clock) that all others follow", BOOLEANS
        ),
        declared("namespace", "", "namespace of all nodes and topics, behind one that is pushed already; empty: none"),
        declared(
            "frame_prefix",
            "",
            "stands before the names of all frames, as in left/; several robots then share /tf; empty: none",
        ),
        declared(
            "params_file", "", "path of a YAML file with parameters of the nodes; arguments that are given win over it"
        ),
        declared("log_level", "info", "least severity of what the nodes log", _LEVELS),
        declared(
            "respawn",
            "false",
            "whether nodes that the robot can do without (views, oracle) are started again when they end",
            BOOLEANS,
        ),
    ]


def launched(arguments: Sequence[Any], nodes: Callable[[LaunchValues], Sequence[Any]], file: str) -> Callable[[], Any]:
    """The function `generate_launch_description` of a launch file.

    Args:
        arguments: that can be given; others are refused.
        nodes: makes what is started from their values; None stands for what is not.
        file: name of the launch file.
    """
    names = [argument.name for argument in arguments]

    def look(context: Any) -> None:
        """Before the defaults are declared, only values that were given are there."""
        if not isinstance(context, Context):
            _refuse_unknown(Path(file).name, names)
        given = [name for name in names if name in context.launch_configurations]
        context.launch_configurations[_GIVEN] = ",".join(given)

    def perform(context: Any) -> list[Any]:
        return [one for one in nodes(LaunchValues(context, arguments)) if one is not None]

    def generate_launch_description() -> Any:
        """Arguments and nodes."""
        from launch import LaunchDescription
        from launch.actions import OpaqueFunction

        return LaunchDescription([OpaqueFunction(function=look), *arguments, OpaqueFunction(function=perform)])

    return generate_launch_description


def _refuse_unknown(file: str, known: Sequence[str]) -> None:
    """An argument on the command line of `ros2 launch` that does not exist: launch itself says nothing about it."""
    words = sys.argv[1:]
    if not any(Path(word).name == file for word in words):
        return  # another launch file includes this one: the words are that one's
    for name in assignments(word for word in words if ":=" in word and not word.startswith("-")):
        if name not in known:
            raise unknown_name(f"argument of {file.removesuffix('.launch.py')}", name, known)


def argument_of(declaration: Any) -> Argument:
    """An argument with its checks. Args: as launch has it, or `launch_words`."""
    if isinstance(declaration, Argument):
        return declaration
    default = declaration.default_value
    text = default if isinstance(default, str) else "".join(part.text for part in default)
    return Argument(declaration.name, text, declaration.description, tuple(declaration.choices or ()))


class LaunchValues(Values):
    """Checked values of all arguments, and what nodes take from them.

    `values["robot"]` is the text; `values("robot")`, a parameter that is known to come from this argument.

    Attributes:
        notes: messages about wishes that cannot be fulfilled.
    """

    def __init__(self, context: Any, arguments: Sequence[Any]) -> None:
        """Check them.

        Args:
            context: of the launch.
            arguments: that were declared.

        Raises:
            InputError: a value is not allowed; the message says what is.
        """
        configurations = context.launch_configurations
        given = [name for name in configurations[_GIVEN].split(",") if name]
        super().__init__([argument_of(one) for one in arguments], {name: configurations[name] for name in given}, "")
        self._is_read = isinstance(context, Context)  # by us, who write no files
        self._machine: Machine = context.machine if isinstance(context, Context) else Machine.of_nodes()
        self._pushed = "" if self._is_read else configurations.get("ros_namespace", "").rstrip("/")
        check_frame_prefix(self["frame_prefix"])
        check_base_pose(self.base_pose, self["frame_prefix"])
        refuse_what_is_not_driven(self)
        nodes = [f"{self.namespace}/{name}" for name in _OUR_NODES]
        self._passed_over = passed_over(Path(self["params_file"]), nodes) if self["params_file"] else ""

    def __call__(self, name: str, value: ParameterValue | None = None) -> Parameter:
        """An argument's value as that of a parameter. Args: its name; the value that follows from it, if another."""
        return Parameter(self[name] if value is None else value, name)

    def number(self, name: str) -> Parameter:
        """An argument's value as a parameter that is a number."""
        return self(name, float(self[name]))

    def is_true(self, name: str) -> Parameter:
        """An argument's value as a boolean parameter."""
        return self(name, self.flag(name))

    @property
    def base_pose(self) -> list[float]:
        """Pose of the robot among others; empty: unknown."""
        return numbers(self.get("base_pose", ""))

    @property
    def frames(self) -> dict[str, Parameter]:
        """Parameters of nodes that publish transforms."""
        place = {"base_pose": self("base_pose", self.base_pose)} if self.base_pose else {}
        return {**self._prefix, **place}

    @property
    def simulation(self) -> dict[str, Parameter]:
        """Parameters of dynamics_node that every simulation takes from its arguments."""
        return {
            "idle": self("idle"),
            "real_time_factor": self.number("real_time_factor"),
            "record": self("record"),
            # It is the clock that the others follow; its own steps keep to the steady clock.
            "publish_clock": self.is_true("use_sim_time"),
            **self.frames,
        }

    @property
    def use_sim_time(self) -> dict[str, Parameter]:
        """Parameter of every node but the one that may be the clock."""
        return {"use_sim_time": self.is_true("use_sim_time")}

    @property
    def follower(self) -> dict[str, Parameter]:
        """Parameters of nodes that name frames, and publish no transforms."""
        return {**self.use_sim_time, **self._prefix}

    @property
    def _prefix(self) -> dict[str, Parameter]:
        return {"frame_prefix": self("frame_prefix")} if self["frame_prefix"] else {}

    @property
    def view(self) -> dict[str, Parameter]:
        """Parameters of view_node that every launch file takes from its arguments."""
        return {**self.follower, "port": self("view_port", int(self["view_port"]))}

    @property
    def namespace(self) -> str:
        """Namespace of the nodes, absolute; "" for none."""
        own = self["namespace"]
        return own if own.startswith("/") or not own else f"{self._pushed}/{own}"

    @property
    def is_moved(self) -> bool:
        """True if topics with absolute names move into a namespace."""
        return bool(self.namespace or self._pushed)

    @property
    def tf(self) -> list[tuple[str, str]]:
        """Remappings: in a namespace transforms are its own, unless a prefix keeps frames apart."""
        is_own = self.is_moved and not self["frame_prefix"]
        return [("/tf", "tf"), ("/tf_static", "tf_static")] if is_own else []

    def layers(self, parameters: Mapping[str, ParameterValue | Parameter], *, takes_file: bool = True) -> Layers:
        """Parameters of a node in the order in which later ones win: its own, the user's file, given arguments.

        Args:
            parameters: by name; those that come from arguments know it.
            takes_file: whether the user's file is for this node, too.
        """
        all_of_them = {name: one if isinstance(one, Parameter) else Parameter(one) for name, one in parameters.items()}
        own = {name: one.value for name, one in all_of_them.items() if one.argument not in self.given}
        given = {name: one.value for name, one in all_of_them.items() if one.argument in self.given}
        file = Path(self["params_file"]) if takes_file and self["params_file"] else None
        return Layers(own, file, given, is_written=not self._is_read)

    @cached_property
    def required(self) -> dict[str, Any]:
        """Options of a node that the others need: the launch fails when it ends."""
        return {**self._common, "on_exit": _required}

    @cached_property
    def optional(self) -> dict[str, Any]:
        """Options of a node that the others can do without: it may be started again."""
        return {**self._common, "respawn": self.flag("respawn"), "respawn_delay": RESPAWN_DELAY}

    @cached_property
    def once(self) -> dict[str, Any]:
        """Options of a node that the others can do without, and that must not restart by itself."""
        return self._common

    @property
    def _common(self) -> dict[str, Any]:
        common: dict[str, Any] = {"output": "screen", "ros_arguments": ["--log-level", self["log_level"]]}
        return {**common, "namespace": self["namespace"]} if self["namespace"] else common

    @property
    def shows_view(self) -> bool:
        """True if there is a browser view."""
        return self["view"] == "true" or (self["view"] == "auto" and self._machine.has_viser)

    @property
    def shows_rviz(self) -> bool:
        """True if there is RViz: never where it is not installed."""
        return self["rviz"] != "false" and self._machine.has_rviz

    @property
    def notes(self) -> list[Any]:
        """Wishes that cannot be fulfilled."""
        from launch.actions import LogInfo

        texts = [self._passed_over] if self._passed_over else []
        if self["rviz"] == "true" and not self._machine.has_rviz:
            texts += ["rviz:=true, but rviz2 is not on the PATH: going on without it (view:=true shows the robot)"]
        return [LogInfo(msg=text) for text in texts]

    def rviz(self, picture: Picture, frame: str = "") -> dict[str, Any]:
        """Arguments and remappings of RViz.

        Args:
            picture: that it shows.
            frame: in which it draws, without prefix; "": as the picture has it.
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
    """Reaction to the end of a node that the others need. launch's own Shutdown ends with 0; an error, with 1.

    Raises:
        RequiredNodeEnded: unless all are being ended anyway.
    """
    if not context.is_shutdown:
        raise RequiredNodeEnded(
            f"{event.process_name} has ended with exit code {event.returncode}, and the others need it."
        )
