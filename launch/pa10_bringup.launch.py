# SPDX-License-Identifier: Apache-2.0
"""The real arm PA-10 on its wire, or an emulated one (backend:=emulator)."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.devices import EMULATOR, NONE, REAL, SIM
from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pa10 import CONTROLLERS, arm_arguments, arm_nodes

ARGUMENTS = [
    DeclareLaunchArgument(
        "variant",
        default_value="ce",
        description="which controller cabinet: PA10-7CE, or the older PA-10-7C",
        choices=["ce", "7c"],
    ),
    *arm_arguments((REAL, EMULATOR, SIM), (NONE, *CONTROLLERS)),
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The same in pa10_bringup and pa10_control; it stands in ada_tools/bringup/pa10.py."""
    return arm_nodes(LaunchValues(context, ARGUMENTS))
