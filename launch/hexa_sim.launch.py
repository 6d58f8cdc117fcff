# SPDX-License-Identifier: Apache-2.0
"""The parallel robot HEXA with six closed loops, held by its six motors."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The nodes, which ada_tools/bringup/nodes.py has as actions of launch_ros, with their own parameters."""
    values = LaunchValues(context, ARGUMENTS)
    return [
        dynamics_node(
            values,
            {
                "robot": "hexa",
                "world_frame": "world",
                "wrenches": ["leg_1_crank", "leg_3_crank", "leg_5_crank"],
            },
        ),
        *watchers(values, PICTURES["hexa_sim"]),
    ]
