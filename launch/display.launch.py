# SPDX-License-Identifier: Apache-2.0
"""Any robot, at rest, with sliders for its joints in the browser view."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="pa10",
        description="path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`; empty: from the topic "
        "robot_description",
    ),
    DeclareLaunchArgument(
        "loops",
        default_value="",
        description="path of a file with joints that close loops; empty: none",
    ),
    DeclareLaunchArgument(
        "base",
        default_value="auto",
        description="how the root link is held; auto: fixed, or as the catalogue has it",
        choices=["auto", "fixed", "floating", "floating_euler"],
    ),
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
                "robot": values("robot"),
                "loops": values("loops"),
                "base": values("base"),
                "contact": "off",
                "start_paused": True,
                "world_frame": "world",
                "wrenches": [],
            },
        ),
        *watchers(values, PICTURES["display"], view={"pose_sliders": True}),
    ]
