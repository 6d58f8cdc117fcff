# SPDX-License-Identifier: Apache-2.0
"""The parallel robot HEXA with six closed loops, held by its six motors."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pictures import PICTURES
from ada_tools.bringup.watchers import watchers

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
        *watchers(values, PICTURES["hexa_sim"]),
    ]
