# SPDX-License-Identifier: Apache-2.0
"""The nodes that watch the robot of any launch file: recorder, oracle, browser view and RViz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ada_tools.bringup.devices import is_driven
from ada_tools.bringup.launching import LaunchValues
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import Parameter, ParameterValue


def watchers(
    values: LaunchValues,
    picture: Picture,
    frame: str = "",
    view: Mapping[str, ParameterValue | Parameter] | None = None,
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
