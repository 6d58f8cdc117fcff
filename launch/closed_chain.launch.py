# SPDX-License-Identifier: Apache-2.0
"""A mechanism with closed loops, swinging freely."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pictures import MECHANISMS, of_mechanism
from ada_tools.bringup.watchers import watchers

ARGUMENTS = [
    DeclareLaunchArgument(
        "mechanism",
        default_value="four_bar",
        description="which mechanism of the catalogue",
        choices=MECHANISMS,
    ),
    *robot_arguments(idle="release"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """What is started; what nodes take from arguments stands in ada_tools/bringup/launching.py."""
    values = LaunchValues(context, ARGUMENTS)
    picture = of_mechanism(values["mechanism"])
    return [
        Node(
            package="ada_dynamics",
            executable="dynamics_node",
            name="dynamics_node",
            parameters=values.layers(
                {
                    **values.simulation,
                    "robot": values("mechanism"),
                    "world_frame": "world",
                    "wrenches": list(picture.joints),
                }
            ),
            remappings=values.tf,
            **values.required,
        ),
        *watchers(values, picture),
    ]
