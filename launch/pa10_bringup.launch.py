# SPDX-License-Identifier: Apache-2.0
"""The real arm PA-10 on its wire, or an emulated one (backend:=emulator)."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node

from ada_tools.bringup.devices import EMULATOR, NONE, REAL, SIM, is_driven
from ada_tools.bringup.launching import LaunchValues, declare, robot_arguments
from ada_tools.bringup.pa10 import (
    CONTROLLERS,
    SIMULATED_SENSOR,
    arm_arguments,
    controlled,
    driven,
    simulated,
    target_link,
)
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    DeclareLaunchArgument(
        "variant",
        default_value="ce",
        description="which controller cabinet: PA10-7CE, or the older PA-10-7C",
        choices=["ce", "7c"],
    ),
    *arm_arguments((REAL, EMULATOR, SIM), (NONE, *CONTROLLERS)),
    *robot_arguments(idle="hold"),
]


def generate_launch_description():
    """What can be chosen, and the nodes."""
    return LaunchDescription([*declare(ARGUMENTS, __file__), OpaqueFunction(function=nodes)])


def nodes(context):
    """What is started; what nodes take from arguments stands in ada_tools/bringup/launching.py."""
    values = LaunchValues(context, ARGUMENTS)
    is_controlled = values["controller"] != NONE
    picture = PICTURES["pa10_bringup" if is_driven(values) else "pa10_control"]
    if is_driven(values):  # backend:=emulator or real
        robot = Node(
            package="ada_dynamics",
            executable="hardware_node",
            name="hardware_node",
            parameters=values.layers({**values.use_sim_time, **values.frames, **driven(values)}),
            remappings=values.tf,
            **values.required,
        )
    else:
        robot = Node(
            package="ada_dynamics",
            executable="dynamics_node",
            name="dynamics_node",
            parameters=values.layers(
                {**values.simulation, **simulated(values), "wrenches": ["s1", "s2", "e1", "w1", SIMULATED_SENSOR]}
            ),
            remappings=values.tf,
            **values.required,
        )
    # The simulation tells its exact state, and what the joint in front of the hand carries.
    heard = [("state", "dynamics_node/state"), ("wrench", f"dynamics_node/wrench/{SIMULATED_SENSOR}")]
    return [
        robot,
        Node(
            package="ada_dynamics",
            executable="record_node",  # dynamics_node records by itself
            name="record_node",
            condition=IfCondition("true" if is_driven(values) and values["record"] else "false"),
            parameters=values.layers({**values.use_sim_time, "path": values("record")}),
            **values.once,
        ),
        Node(
            package="ada_dynamics",
            executable="controller_node",
            name="controller_node",
            condition=IfCondition("true" if is_controlled else "false"),
            parameters=values.layers({**values.follower, **controlled(values)}),
            remappings=[] if is_driven(values) else heard,
            **values.required,
        ),
        Node(
            package="ada_dynamics",
            executable="oracle_node",
            name="oracle_node",
            condition=IfCondition(values["oracle"]),
            parameters=values.layers({**values.use_sim_time, "description_timeout": 0.0}),  # a first start compiles
            **values.optional,
        ),
        Node(
            package="ada_dynamics",
            executable="view_node",
            name="view_node",
            condition=IfCondition(values.shows_view),
            parameters=values.layers(
                {
                    **values.view,
                    **({"plant": "hardware_node"} if is_driven(values) else {}),
                    **target_link(values),
                }
            ),
            remappings=values.tf,
            **values.optional,
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            name="rviz2",
            condition=IfCondition(values.shows_rviz),
            parameters=values.layers(values.use_sim_time, takes_file=False),
            **values.rviz(picture),
            **values.optional,
        ),
        Node(
            package="ada_dynamics",
            executable="target_node",  # for RViz, to drag the target in
            name="target_node",
            condition=IfCondition(values.shows_rviz if is_controlled else "false"),
            parameters=values.layers(values.use_sim_time),
            **values.optional,
        ),
        *values.notes,
    ]
