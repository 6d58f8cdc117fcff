# SPDX-License-Identifier: Apache-2.0
"""The humanoid HOAP-2, standing on the ground."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared("robot", "hoap2", "with all 25 joints, or with hips and ankles only", ["hoap2", "hoap2_10dof"]),
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
    picture = PICTURES["hoap2_sim" if values["robot"] == "hoap2" else "hoap2_sim_10dof"]
    return [
        dynamics_node(
            values,
            {
                "robot": values("robot"),
                "base": values("base"),
                "contact": values("contact"),
                "world_frame": values("base", world),
                "wrenches": list(picture.joints),
            },
        ),
        *watchers(values, picture, world),
    ]


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
