# SPDX-License-Identifier: Apache-2.0
"""The real humanoid KHR-1 on its serial line, or an emulated one (backend:=emulator)."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.devices import activate, address, backend, is_driven, node_parameters, robot_parameters
from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, hardware_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    backend("real"),
    address("port", "/dev/ttyUSB0"),
    activate(),
    DeclareLaunchArgument(
        "angle_map",
        default_value="",
        description="path of a YAML file with the servos' channels, signs, zeros and limits; empty: config/"
        "khr1_angle_map.yaml",
    ),
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The nodes, which ada_tools/bringup/nodes.py has as actions of launch_ros, with their own parameters."""
    values = LaunchValues(context, ARGUMENTS)
    if is_driven(values):  # backend:=emulator or real
        picture = PICTURES["khr1_bringup"]
        robot = hardware_node(
            values,
            {
                **node_parameters(values, ["khr1"]),
                **robot_parameters(values, "khr1", "port"),
                **({"khr1.driver.angle_map": values("angle_map")} if values["angle_map"] else {}),
                "world_frame": "world",
            },
        )
    else:  # it stands on the ground, as in khr1_sim
        picture = PICTURES["khr1_sim"]
        robot = dynamics_node(
            values,
            {
                "robot": "khr1",
                "base": "floating",
                "contact": "on",
                "world_frame": "odom",
                "wrenches": list(picture.joints),
            },
        )
    return [
        robot,
        *watchers(values, picture),
    ]
