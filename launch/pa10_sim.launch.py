# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)."""

import math

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared(
        "robot",
        "pa10",
        "which arm: PA10-7CE, the older PA-10-7C, or as in Takahashi 2012",
        ["pa10", "pa10_7c", "pa10_thesis"],
    ),
    *robot_arguments(idle="release"),
]
BENT = [0.0, math.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad] upright it would stand for ever


def nodes(values):
    """The nodes, with their own parameters."""
    return [
        dynamics_node(
            values,
            {
                "robot": values("robot"),
                "world_frame": "world",
                "wrenches": ["s1", "s2", "e1", "w1"],
                **({} if values["robot"] == "pa10_thesis" else {"initial_positions": BENT}),
            },
        ),
        *watchers(values, PICTURES["pa10_sim"]),
    ]


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
