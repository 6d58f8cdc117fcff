# SPDX-License-Identifier: Apache-2.0
"""A force/torque sensor, real or emulated (backend:=emulator), that publishes its wrench."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ada_tools.bringup.devices import SENSORS, address, backend, node_parameters, sensor_parameters, sensor_place
from ada_tools.bringup.launching import LaunchValues, declare, node_arguments
from ada_tools.bringup.nodes import hardware_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    DeclareLaunchArgument(
        "sensor",
        default_value=SENSORS[0],
        description="which: ATI Net F/T, Wacoh-Tech DynPick, OnRobot HEX, or Robotiq FT 300",
        choices=SENSORS,
    ),
    backend("real", ("real", "emulator")),
    address("url", "udp://192.168.1.1:49152 or /dev/ttyUSB0"),
    DeclareLaunchArgument(
        "frame",
        default_value="",
        description="frame of the wrenches, a link of what carries the sensor; empty: its kind",
    ),
    DeclareLaunchArgument(
        "parent",
        default_value="auto",
        description="frame that the frame of the wrenches is fixed in, for /tf_static; auto: world, and nobody's where "
        "frame is given, since a link has its place already; empty: nobody's",
    ),
    DeclareLaunchArgument(
        "mounting",
        default_value="",
        description="pose of the frame in parent: x, y, z [m], roll, pitch, yaw [rad]; empty: the same place",
    ),
    *node_arguments(),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """The nodes, which ada_tools/bringup/nodes.py has as actions of launch_ros, with their own parameters."""
    values = LaunchValues(context, ARGUMENTS)
    name = values["sensor"]
    frame = values["frame"] or name
    return [
        hardware_node(
            values,
            {
                **node_parameters(values, [name]),
                **sensor_parameters(values, name, "url", frame),
                **sensor_place(values, name),
            },
        ),
        *watchers(values, PICTURES["ft_sensor"], frame),
    ]
