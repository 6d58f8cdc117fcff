# SPDX-License-Identifier: Apache-2.0
"""The humanoid KHR-1, standing on the ground."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    DeclareLaunchArgument(
        "base",
        default_value="floating",
        description="how the trunk is held: not at all, or in the air",
        choices=["floating", "fixed"],
    ),
    DeclareLaunchArgument(
        "contact",
        default_value="auto",
        description="whether feet touch a ground at height 0; auto: where the robot can fall",
        choices=["auto", "on", "off"],
    ),
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The nodes, which ada_tools/bringup/nodes.py has as actions of launch_ros, with their own parameters."""
    values = LaunchValues(context, ARGUMENTS)
    world = "odom" if values["base"] == "floating" else "world"
    return [
        dynamics_node(
            values,
            {
                "robot": "khr1",
                "base": values("base"),
                "contact": values("contact"),
                "world_frame": values("base", world),
                "wrenches": list(PICTURES["khr1_sim"].joints),
            },
        ),
        *watchers(values, PICTURES["khr1_sim"], world),
    ]
