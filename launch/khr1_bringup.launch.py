# SPDX-License-Identifier: Apache-2.0
"""The real humanoid KHR-1 on its serial line, or an emulated one (backend:=emulator)."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.devices import activate, address, backend, is_driven, node_parameters, robot_parameters
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import robot_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    backend("real"),
    address("port", "/dev/ttyUSB0"),
    activate(),
    declared(
        "angle_map",
        "",
        "path of a YAML file with the servos' channels, signs, zeros and limits; empty: config/khr1_angle_map.yaml",
    ),
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes; a simulated robot stands on the ground, as in khr1_sim."""
    return [
        robot_node(values, simulated, driven),
        *watchers(values, PICTURES["khr1_bringup" if is_driven(values) else "khr1_sim"]),
    ]


def simulated(values):
    """Parameters of dynamics_node."""
    return {
        "robot": "khr1",
        "base": "floating",
        "contact": "on",
        "world_frame": "odom",
        "wrenches": list(PICTURES["khr1_sim"].joints),
    }


def driven(values):
    """Parameters of hardware_node."""
    return {
        **node_parameters(values, ["khr1"]),
        **robot_parameters(values, "khr1", "port"),
        **({"khr1.driver.angle_map": values("angle_map")} if values["angle_map"] else {}),
        "world_frame": "world",
    }


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
