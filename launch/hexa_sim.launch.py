# SPDX-License-Identifier: Apache-2.0
"""The parallel robot HEXA with six closed loops, held by its six motors."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """What is started; what nodes take from arguments stands in ada_tools/bringup/launching.py."""
    values = LaunchValues(context, ARGUMENTS)
    return [
        Node(
            package="ada_dynamics",
            executable="dynamics_node",
            name="dynamics_node",
            parameters=values.layers(
                {
                    **values.simulation,
                    "robot": "hexa",
                    "world_frame": "world",
                    "wrenches": ["leg_1_crank", "leg_3_crank", "leg_5_crank"],
                }
            ),
            remappings=values.tf,
            **values.required,
        ),
        Node(
            package="ada_dynamics",
            executable="oracle_node",
            name="oracle_node",
            condition=IfCondition(values["oracle"]),
            parameters=values.layers({**values.use_sim_time, "description_timeout": 0.0}),  # a first start compiles
            **values.optional,
        ),
        Node(
            package="ada_dynamics",
            executable="view_node",
            name="view_node",
            condition=IfCondition(values.shows_view),
            parameters=values.layers({**values.view}),
            remappings=values.tf,
            **values.optional,
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            name="rviz2",
            condition=IfCondition(values.shows_rviz),
            parameters=values.layers(values.use_sim_time, takes_file=False),
            **values.rviz(PICTURES["hexa_sim"]),
            **values.optional,
        ),
        *values.notes,
    ]
