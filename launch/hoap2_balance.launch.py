# SPDX-License-Identifier: Apache-2.0
"""The humanoid HOAP-2 that keeps its balance when it is pushed."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.nodes import controller_node, dynamics_node, target_node, watchers
from ada_tools.bringup.pa10 import BESIDE_SIMULATION, EACH_STEP, EXACT
from ada_tools.bringup.pictures import PICTURES

ARGUMENTS = [
    declared("feet", "clamped", "whether the feet are fixed to the ground, or may lift", ["clamped", "free"]),
    declared(
        "strategy",
        "upper_body_rotation",
        "how it answers a push (Takahashi 2012, sec. 6.3); none: no controller, its servos hold it",
        ["upper_body_rotation", "combined", "springs", "none"],
    ),
    *robot_arguments(idle="hold"),
]


def nodes(values):
    """The nodes, with their own parameters."""
    is_clamped, is_controlled = values["feet"] == "clamped", values["strategy"] != "none"
    return [
        dynamics_node(values, clamped(values) if is_clamped else free(values)),
        controller_node(values, controlled(values, is_clamped)) if is_controlled else None,
        *watchers(values, PICTURES["hoap2_balance"], "world" if is_clamped else "odom", view=push(values["strategy"])),
        # It has no target of its own: RViz is what it is there for.
        target_node(values) if is_controlled else None,
    ]


def controlled(values, is_clamped):
    """Parameters of controller_node."""
    return {
        "controller": "balance",
        # Its model has its feet on the ground, whether those of the simulated robot may lift or not.
        "robot": "hoap2_standing",
        "balance.strategy": values("strategy"),
        **BESIDE_SIMULATION,
        # A robot that is not fixed to the ground has another state; its joints are the same. With messages a
        # millisecond or two late a foot in the air is too light for the gain 50 [N m s/rad] of eq. 6.13.
        # Its rotors swing by themselves under eq. 6.7, as far as the dampers are late to grow.
        **(EXACT if is_clamped else {"balance.ankle_gain": 10.0, "balance.full_angle": 0.2}),
    }


def clamped(values):
    """The robot with its feet fixed to the ground."""
    return {
        "robot": values("feet", "hoap2_standing"),
        "world_frame": "world",
        "wrenches": ["joint_4", "joint_9"],
        **EACH_STEP,
    }


def free(values):
    """The robot with feet that may lift."""
    return {
        "robot": values("feet", "hoap2_10dof"),
        "base": values("feet", "floating"),
        "contact": values("feet", "on"),
        "world_frame": values("feet", "odom"),
        "wrenches": ["joint_4", "joint_9"],
        **EACH_STEP,
    }


def push(strategy):
    """The push that the strategy is for in the document (sec. 6.3): at the hand, or from behind at the shoulder."""
    if strategy == "combined":
        return {"push_link": "right_shoulder", "push_direction": "x", "push_force": 10.0}
    return {"push_link": "left_hand", "push_direction": "-x", "push_force": 7.0}


generate_launch_description = launched(ARGUMENTS, nodes, __file__)
