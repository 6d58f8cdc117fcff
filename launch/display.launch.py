# SPDX-License-Identifier: Apache-2.0
"""Any robot, at rest, with sliders for its joints in the browser view."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node

from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
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
                    "loops": values("loops"),
                    "base": values("base"),
                    "contact": "off",
                    "start_paused": True,
                    "world_frame": "world",
                    "wrenches": [],
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
            parameters=values.layers({**values.view, "pose_sliders": True}),
            remappings=values.tf,
            **values.optional,
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            name="rviz2",
            condition=IfCondition(values.shows_rviz),
            parameters=values.layers(values.use_sim_time, takes_file=False),
            **values.rviz(PICTURES["display"]),
            **values.optional,
        ),
        *values.notes,
    ]
