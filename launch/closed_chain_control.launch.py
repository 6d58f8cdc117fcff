# SPDX-License-Identifier: Apache-2.0
"""Four rods in a row that a controller lets move as a closed chain."""

import math

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import controller_node, dynamics_node, target_node, watchers
from ada_tools.bringup.pa10 import BESIDE_SIMULATION, EACH_STEP, EXACT
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared(
        "mechanism",
        "parallel_four_bar",
        "what the rods are controlled to be; none: no controller, they fall",
        ["parallel_four_bar", "slider_crank", "none"],
    ),
    declared(
        "target", "", "where it goes: angle of the first rod [deg], or place of the slider [m]; empty: 0 deg, 1.49 m"
    ),
    *robot_arguments(idle="hold"),
]
# Takahashi 2012, secs. 7.2.2 and 7.2.3: where the virtual loops close. The rod, twice as long as the crank, ends at the
# height of the crank's pivot; the slider hangs down there.
CRANK = math.radians(30.0)
ROD = math.acos(-0.5 * math.cos(CRANK))  # from the vertical
START = {
    "parallel_four_bar": [math.radians(angle) for angle in (60.0, 30.0, 150.0, -60.0)],
    "slider_crank": [CRANK, ROD - CRANK, 0.0, math.pi - ROD],
}
GAINS = {
    "parallel_four_bar": {  # eqs. 7.11 and 7.12
        "joint_stiffness": [5.0, 0.0, 0.0, 0.0],
        "joint_damping": [5.0, 0.0, 0.0, 0.0],
    },
    "slider_crank": {  # eqs. 7.18 and 7.19, the force in front
        "joint_stiffness": [0.0],
        "joint_damping": [0.0],
        "pose_stiffness": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "pose_damping": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
}


def nodes(values):
    """The nodes, with their own parameters."""
    mechanism = values["mechanism"]
    is_controlled = mechanism != "none"
    falls = not is_controlled and "idle" not in values.given
    return [
        dynamics_node(
            values,
            {
                **({"idle": "release"} if falls else {}),
                "robot": "planar_4r",
                "world_frame": "world",
                "initial_positions": START.get(mechanism, START["parallel_four_bar"]),
                "wrenches": ["joint_1", "joint_2", "joint_3", "joint_4"],
                **EACH_STEP,
            },
        ),
        controller_node(values, controlled(values, mechanism)) if is_controlled else None,
        *watchers(values, PICTURES["closed_chain_control"], view={"target_link": "tip"} if is_controlled else {}),
        target_node(values, first_target(values)) if is_controlled else None,
    ]


def controlled(values, mechanism):
    """Parameters of controller_node."""
    return {
        "controller": "virtual_closed_chain",
        "robot": "planar_4r",
        **BESIDE_SIMULATION,
        **EXACT,
        "virtual_closed_chain.loops": values("mechanism", f"loops/{mechanism}.yaml"),
        "virtual_closed_chain.link": "tip",
        **{f"virtual_closed_chain.{name}": gain for name, gain in GAINS[mechanism].items()},
    }


def first_target(values):
    """Where it goes at first, for target_node."""
    if values["mechanism"] == "slider_crank":
        place = float(values["target"] or 1.49)  # [m] Takahashi 2012, sec. 7.2.3
        return {"pose": values("target", [place, 0.0, 0.0, 0.0, 0.0, 0.0])}
    angle = math.radians(float(values["target"] or 0.0))
    return {"joints": ["joint_1"], "positions": values("target", [angle])}


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
