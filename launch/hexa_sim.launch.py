# SPDX-License-Identifier: Apache-2.0
"""The parallel robot HEXA with six closed loops, held by its six motors."""

from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes, with their own parameters."""
    return [
        dynamics_node(
            values,
            {
                "robot": "hexa",
                "world_frame": "world",
                "wrenches": ["leg_1_crank", "leg_3_crank", "leg_5_crank"],
            },
        ),
        *watchers(values, PICTURES["hexa_sim"]),
    ]


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
