# SPDX-License-Identifier: Apache-2.0
"""Any robot, with the joints that close its loops, under a controller."""

from ada_tools.bringup.arguments import declared, joint_positions
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import controller_node, dynamics_node, target_node, watchers
from ada_tools.bringup.pa10 import BESIDE_SIMULATION, EACH_STEP, EXACT
from ada_tools.bringup.pictures import PICTURES

CONTROLLERS = ["computed_torque", "joint_trajectory", "impedance", "pid", "pose_servo", "gravity_compensation", "none"]
ARGUMENTS = [
    declared("robot", "delta", "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`"),
    declared("loops", "", "path of a file with joints that close loops, and the joints with motors; empty: none"),
    declared(
        "base",
        "auto",
        "how the root link is held; auto: fixed, or as the catalogue has it",
        ["auto", "fixed", "floating", "floating_euler"],
    ),
    declared("controller", "computed_torque", "what moves it (docs/controllers.md)", CONTROLLERS),
    declared(
        "goal",
        "",
        "first target of the joints with motors, JOINT=POSITION,... [rad, m], such as shoulder=0.5,elbow=-0.2; empty: "
        "the robot stays where it is",
    ),
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes, with their own parameters."""
    name = values["controller"]
    simulated = {"robot": values("robot"), "loops": values("loops"), "base": values("base"), "world_frame": "world"}
    found = [dynamics_node(values, {**simulated, "wrenches": [], **EACH_STEP})]
    if name != "none":
        # The controller reads the robot, its loops and motors from the topic robot_description.
        controlled = {"controller": values("controller"), "base": values("base"), **BESIDE_SIMULATION, **EXACT}
        found += [controller_node(values, controlled), target_node(values, goal(values))]
    return [*found, *watchers(values, PICTURES["robot_control"])]


def goal(values):
    """Parameters of target_node: the first target; None without one."""
    positions = joint_positions(values["goal"])
    if not positions:
        return None
    return {"joints": values("goal", list(positions)), "positions": values("goal", list(positions.values()))}


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
