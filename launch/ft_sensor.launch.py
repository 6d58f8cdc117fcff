# SPDX-License-Identifier: Apache-2.0
"""A force/torque sensor, real or emulated (backend:=emulator), that publishes its wrench."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.devices import SENSORS, address, backend, node_parameters, sensor_parameters, sensor_place
from ada_tools.bringup.launching import launched, node_arguments
from ada_tools.bringup.nodes import hardware_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared("sensor", SENSORS[0], "which: ATI Net F/T, Wacoh-Tech DynPick, OnRobot HEX, or Robotiq FT 300", SENSORS),
    backend("real", ("real", "emulator")),
    address("url", "udp://192.168.1.1:49152 or /dev/ttyUSB0"),
    declared("frame", "", "frame of the wrenches, a link of what carries the sensor; empty: its kind"),
    declared(
        "parent",
        "auto",
        "frame that the frame of the wrenches is fixed in, for /tf_static; auto: world, and nobody's where "
        "frame is given, since a link has its place already; empty: nobody's",
    ),
    declared("mounting", "", "pose of the frame in parent: x, y, z [m], roll, pitch, yaw [rad]; empty: the same place"),
    *node_arguments(),
]


def nodes(values):
    """The nodes, with their own parameters."""
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


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
