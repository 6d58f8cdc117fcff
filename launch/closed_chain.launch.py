# SPDX-License-Identifier: Apache-2.0
"""A mechanism with closed loops, swinging freely."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import MECHANISMS, of_mechanism

ARGUMENTS = [
    declared("mechanism", "four_bar", "which mechanism of the catalogue", MECHANISMS),
    *robot_arguments(idle="release"),
]


def nodes(values):
    """The nodes, with their own parameters."""
    picture = of_mechanism(values["mechanism"])
    return [
        dynamics_node(
            values,
            {
                "robot": values("mechanism"),
                "world_frame": "world",
                "wrenches": list(picture.joints),
            },
        ),
        *watchers(values, picture),
    ]


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
