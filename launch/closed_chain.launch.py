# SPDX-License-Identifier: Apache-2.0
"""A mechanism with closed loops, swinging freely."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import MECHANISMS, of_mechanism

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
    """The nodes, which ada_tools/bringup/nodes.py has as actions of launch_ros, with their own parameters."""
    values = LaunchValues(context, ARGUMENTS)
    picture = of_mechanism(values["mechanism"])
    return [
        dynamics_node(
            values,
            {
                "robot": values("mechanism"),
                "world_frame": "world",
                "wrenches": list(picture.joints),
            },
        ),
        *watchers(values, picture),
    ]
