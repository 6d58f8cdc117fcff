# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)."""

import math

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pictures import PICTURES
from ada_tools.bringup.watchers import watchers

ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="pa10",
        description="which arm: PA10-7CE, the older PA-10-7C, or as in Takahashi 2012",
        choices=["pa10", "pa10_7c", "pa10_thesis"],
    ),
    *robot_arguments(idle="release"),
]
BENT = [0.0, math.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad] upright it would stand for ever


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
                    "robot": values("robot"),
                    "world_frame": "world",
                    "wrenches": ["s1", "s2", "e1", "w1"],
                    **({} if values["robot"] == "pa10_thesis" else {"initial_positions": BENT}),
                }
            ),
            remappings=values.tf,
            **values.required,
        ),
        *watchers(values, PICTURES["pa10_sim"]),
    ]
