# SPDX-License-Identifier: Apache-2.0
"""The humanoid KHR-1, standing on the ground."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared("base", "floating", "how the trunk is held: not at all, or in the air", ["floating", "fixed"]),
    declared(
        "contact",
        "auto",
        "whether feet touch a ground at height 0; auto: where the robot can fall",
        ["auto", "on", "off"],
    ),
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes, with their own parameters."""
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


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
