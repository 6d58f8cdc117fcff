# SPDX-License-Identifier: Apache-2.0
"""Any robot, at rest, with sliders for its joints in the browser view."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import dynamics_node, watchers
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared(
        "robot",
        "pa10",
        "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`; empty: from the topic "
        "robot_description",
    ),
    declared("loops", "", "path of a file with joints that close loops; empty: none"),
    declared(
        "base",
        "auto",
        "how the root link is held; auto: fixed, or as the catalogue has it",
        ["auto", "fixed", "floating", "floating_euler"],
    ),
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes, with their own parameters."""
    return [
        dynamics_node(
            values,
            {
                "robot": values("robot"),
                "loops": values("loops"),
                "base": values("base"),
                "contact": "off",
                "start_paused": True,
                "world_frame": "world",
                "wrenches": [],
            },
        ),
        *watchers(values, PICTURES["display"], view={"pose_sliders": True}),
    ]


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
