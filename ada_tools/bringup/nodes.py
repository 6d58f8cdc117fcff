# SPDX-License-Identifier: Apache-2.0
"""The nodes of our launch files, as actions of launch_ros: the robot, its controller, and what watches it.

A launch file says their parameters; what all of them take from common arguments is added here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ada_tools.bringup.devices import is_driven
from ada_tools.bringup.launching import LaunchValues
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import Parameter, ParameterValue

Settings = Mapping[str, ParameterValue | Parameter]
STATE = (("state", "dynamics_node/state"),)  # the simulation tells its exact state


def dynamics_node(values: LaunchValues, parameters: Settings) -> Any:
    """The simulated robot, which the others need."""
    return _robot("dynamics_node", values, {**values.simulation, **parameters})


def hardware_node(values: LaunchValues, parameters: Settings) -> Any:
    """The robot or the sensor on its wire, which the others need."""
    return _robot("hardware_node", values, {**values.use_sim_time, **values.frames, **parameters})


def _robot(executable: str, values: LaunchValues, parameters: Settings) -> Any:
    from launch_ros.actions import Node

    return Node(
        package="ada_dynamics",
        executable=executable,
        name=executable,
        parameters=values.layers(parameters),
        remappings=values.tf,
        **values.required,
    )


def controller_node(
    values: LaunchValues, parameters: Settings, *, is_wanted: bool, heard: Sequence[tuple[str, str]] = STATE
) -> Any:
    """The controller of the robot, which is needed where it is wanted.

    Args:
        values: of the launch.
        parameters: its own.
        is_wanted: whether there is one.
        heard: remappings of the topics that it listens to.
    """
    from launch.conditions import IfCondition
    from launch_ros.actions import Node

    return Node(
        package="ada_dynamics",
        executable="controller_node",
        name="controller_node",
        condition=IfCondition("true" if is_wanted else "false"),
        parameters=values.layers({**values.follower, **parameters}),
        remappings=list(heard),
        **values.required,
    )


def target_node(values: LaunchValues, *, is_wanted: bool, parameters: Settings | None = None) -> Any:
    """The target of a controller: one to be dragged in RViz, or a first one that is given."""
    from launch.conditions import IfCondition
    from launch_ros.actions import Node

    return Node(
        package="ada_dynamics",
        executable="target_node",
        name="target_node",
        condition=IfCondition(("true" if parameters else values.shows_rviz) if is_wanted else "false"),
        parameters=values.layers({**values.use_sim_time, **(parameters or {})}),
        **(values.once if parameters else values.optional),
    )


def watchers(
    values: LaunchValues,
    picture: Picture,
    frame: str = "",
    view: Settings | None = None,
) -> list[Any]:
    """The nodes that the robot can do without, and what cannot be done as wished.

    Args:
        values: of the launch.
        picture: that RViz shows.
        frame: in which RViz draws, without prefix; "": as the picture has it.
        view: parameters of view_node that are this launch file's own.
    """
    from launch.conditions import IfCondition
    from launch_ros.actions import Node

    is_device = is_driven(values)
    return [
        Node(
            package="ada_dynamics",
            executable="record_node",
            name="record_node",
            condition=IfCondition(
                "true" if is_device and values["record"] else "false"
            ),  # dynamics_node records itself
            parameters=values.layers({**values.use_sim_time, "path": values("record")}),
            **values.once,
        ),
        Node(
            package="ada_dynamics",
            executable="oracle_node",
            name="oracle_node",
            condition=IfCondition(values.get("oracle", "false")),
            parameters=values.layers({**values.use_sim_time, "description_timeout": 0.0}),  # a first start compiles
            **values.optional,
        ),
        Node(
            package="ada_dynamics",
            executable="view_node",
            name="view_node",
            condition=IfCondition(values.shows_view),
            parameters=values.layers(
                {**values.view, **({"plant": "hardware_node"} if is_device else {}), **(view or {})}
            ),
            remappings=values.tf,
            **values.optional,
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            name="rviz2",
            condition=IfCondition(values.shows_rviz),
            parameters=values.layers(values.use_sim_time, takes_file=False),
            **values.rviz(picture, frame),
            **values.optional,
        ),
        *values.notes,
    ]
