# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 under a controller, with a target to drag."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.devices import EMULATOR, REAL, SIM
from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pa10 import CONTROLLERS, arm_arguments, arm_nodes

ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="pa10",
        description="which arm: PA10-7CE, or the older PA-10-7C",
        choices=["pa10", "pa10_7c"],
    ),
    *arm_arguments((SIM, EMULATOR, REAL), CONTROLLERS),
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The same in pa10_bringup and pa10_control; it stands in ada_tools/bringup/pa10.py."""
    return arm_nodes(LaunchValues(context, ARGUMENTS))
