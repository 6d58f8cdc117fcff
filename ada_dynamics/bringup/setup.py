# SPDX-License-Identifier: Apache-2.0
"""What a setup is made of, and the arguments that all of them take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ada_dynamics.bringup.arguments import AUTO, BOOLEANS, Argument, Values
from ada_dynamics.bringup.pictures import Picture
from ada_dynamics.bringup.processes import Parameter

WORLD, ODOM = "world", "odom"

Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Control:
    """How a robot is controlled.

    Attributes:
        parameters: of the controller's node.
        target: of the target's node: where the robot shall go at first.
        link: of whose pose there is a target; "" where joints have one, or nothing.
        remappings: of topics of the controller's node.
    """

    parameters: Parameters
    target: Parameters = field(default_factory=dict)
    link: str = ""
    remappings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Setup:
    """One set of nodes.

    Attributes:
        name: as in NAME.launch.py and `ada up NAME`.
        summary: what it is, in a line.
        arguments: all that it takes.
        robot: parameters of the simulated robot's node that depend on this setup's own arguments.
        picture: what RViz shows.
        has_sliders: whether the browser view sets the robot's pose.
        shorthands: other names for it, with the arguments that they stand for.
        control: the controller of the robot, where the values ask for one.
        view: parameters of the browser view's node.
        devices: parameters of the node of devices, where the values ask for devices instead of a simulation.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    robot: Callable[[Values], Parameters]
    picture: Callable[[Values], Picture]
    has_sliders: bool = False
    shorthands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    control: Callable[[Values], Control | None] = lambda values: None
    view: Callable[[Values], Parameters] = lambda values: {}
    devices: Callable[[Values], Parameters | None] = lambda values: None

    @property
    def launch_file(self) -> str:
        """Its name in launch/."""
        return f"{self.name}.launch.py"


def common_arguments(idle: str) -> tuple[Argument, ...]:
    """The arguments that every setup with a robot takes.

    Args:
        idle: what its joints do without a command.
    """
    return (
        Argument(
            "idle",
            idle,
            "what joints without a live command do: a servo holds them where they are, or they swing freely",
            ("hold", "release"),
        ),
        Argument("real_time_factor", "1.0", "simulated seconds per second; 0: as fast as it goes", kind="number"),
        *_VIEWS,
        _RECORD,
        Argument("oracle", "false", "whether to check every answer against pinocchio, on /diagnostics", BOOLEANS),
        *_NODES,
    )


def bare_arguments() -> tuple[Argument, ...]:
    """The arguments that every setup takes."""
    return (*_VIEWS, _RECORD, *_NODES)


_VIEWS = (
    Argument("view", "auto", "whether to show the robot in the browser; auto: where viser is installed", AUTO),
    Argument("view_port", "8080", "port of the browser view on this machine; 0: any free one", kind="port"),
    Argument("rviz", "auto", "whether to show the robot in RViz; auto: where rviz2 is installed", AUTO),
)
_RECORD = Argument("record", "", "path of an .mcap file to record to; empty: none", kind="new_file")
_NODES = (
    Argument("use_sim_time", "false", "whether the simulation is the clock (/clock) that all others follow", BOOLEANS),
    Argument("namespace", "", "namespace of all nodes and topics; empty: none", kind="namespace"),
    Argument(
        "params_file",
        "",
        "path of a YAML file with parameters of the nodes; arguments that are given win over it",
        kind="file",
    ),
)
