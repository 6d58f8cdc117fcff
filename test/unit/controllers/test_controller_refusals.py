# SPDX-License-Identifier: Apache-2.0
"""Settings that no law can have, and robots that a law is not for, are refused by name when a controller is made."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_controllers import CONTROLLERS, make
from ada_dynamics.errors import InputError

FOUR_BAR = "loops/parallel_four_bar.yaml"
CASES: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "balance": [
        ("pa10", {}, "balance: robot 'pa10' has no joint with a motor|none that stands on two legs"),
        ("hoap2_10dof", {}, "none that stands on two legs of five joints.*hoap2_standing"),
        ("hoap2_standing", {"strategy": "step"}, "strategy"),
        ("hoap2_standing", {"ankle_gain": -1.0}, "ankle_gain"),
    ],
    "compliance": [
        ("pa10", {"stiffness": [1.0, 2.0]}, "stiffness has 2 numbers"),
        ("pa10", {"stiffness": [1e3, 1e3, -1.0, 1.0, 1.0, 1.0]}, "its numbers must be positive"),
        ("pa10", {"stiffness": np.triu(np.ones((6, 6))).ravel().tolist()}, "symmetric"),
        ("pa10", {"dead_band": [1.0]}, "dead_band"),
        ("pa10", {"mode": "soft"}, "mode"),
        ("pa10", {"sensor_link": "wrist"}, "no link is named 'wrist'"),
        ("pa10", {"sensor_rpy": [0.0]}, "sensor_rpy"),
        ("pa10", {"contact_stiffness": 3e5}, r"hammers from 2e\+05 N/m on"),
    ],
    "computed_torque": [
        ("four_bar", {}, "computed_torque: robot .*and loops"),
        ("hoap2_10dof", {}, "computed_torque: robot .*fixed base"),
        ("pa10", {"stiffness": [1.0, 2.0]}, "stiffness has 2 numbers; give one for all joints, or 7"),
        ("pa10", {"damping": [-1.0]}, "damping is .*at least 0"),
        ("pa10", {"stiffness": []}, "stiffness has 0 numbers"),
    ],
    "gravity_compensation": [
        ("pa10", {"share": [1.5]}, "share is .*from 0 to 1"),
        ("pa10", {"damping": [-1.0]}, "damping is .*at least 0"),
    ],
    "impedance": [
        ("four_bar", {}, "impedance: robot .*and loops"),
        ("hoap2_10dof", {}, "impedance: robot .*fixed base"),
        ("pa10", {"space": "hand"}, "space is 'hand'; it must be one of 'joints', 'link'"),
        ("pa10", {"space": "link", "link": "flnage"}, r"no link is named 'flnage'.*Did you mean 'flange'"),
        ("pa10", {"joint_stiffness": [1.0] * 6}, "joint_stiffness has 6 numbers"),
        ("pa10", {"linear_stiffness": [1.0, 2.0]}, "linear_stiffness has 2 numbers; give one for x, y and z, or three"),
        ("pa10", {"angular_damping": [-1.0]}, "angular_damping is .*at least 0"),
        ("pa10", {"linear_inertia": 0.0}, "linear_inertia is 0"),
    ],
    "joint_trajectory": [
        ("pa10", {"profile": "cubic"}, "profile"),
        ("pa10", {"acceleration": [0.0]}, "acceleration"),
        ("pa10", {"acceleration": [1.0, 2.0]}, "acceleration has 2 numbers"),
        ("pa10", {"speed": [-1.0]}, "speed"),
        ("pa10", {"speed_scale": 0.0}, "speed_scale"),
        ("pa10", {"acceleration_time": -1.0}, "acceleration_time"),
    ],
    "pid": [
        ("pa10", {"gain": [1.0, 2.0]}, "gain has 2 numbers"),
        ("pa10", {"gain": [-1.0]}, "gain is .*at least 0"),
        ("pa10", {"integral_time": [-1.0]}, "integral_time is"),
        ("pa10", {"derivative_filter": math.inf}, "derivative_filter is inf"),
        ("pa10", {"anti_windup": 1}, "anti_windup is 1; it must be true or false"),
    ],
    "pose_servo": [
        ("pa10", {"link": "hand"}, "no link is named 'hand'"),
        ("pa10", {"tool_xyz": [0.0, 1.0]}, "tool_xyz"),
        ("pa10", {"gain": -1.0}, "gain"),
        ("pa10", {"null_space": "elbow"}, "null_space"),
        ("pa10", {"null_space": "posture", "posture": [0.0, 1.0]}, "posture has 2 numbers"),
        ("pa10", {"null_space": "posture", "posture_joints": ["elbow"]}, "no joint of the arm is named 'elbow'"),
        ("pa10", {"link": "base_link"}, "nothing to command"),
        ("four_bar", {}, "in loop"),
        ("delta", {}, "no motor of its own"),
    ],
    "reaction_null_space": [
        ("pa10", {"support": "link_3"}, "base of robot 'pa10' is fixed and link 'link_3' moves"),
        ("pa10", {"support": "foot"}, "'foot'.*link|link.*'foot'"),
        ("pa10", {"held": "no"}, "held is 'no', but the base .* is fixed"),
        ("pa10", {"preserved": []}, "preserved is empty; name some of fx"),
        ("pa10", {"preserved": ["fw"]}, "preserved.*'fx'"),
        ("pa10", {"weights": [0.0]}, "weights"),
        ("cassie_leg", {}, "needs a motor at every joint"),
        ("floating_rod_euler", {}, "no joint with a motor"),
    ],
    "spring_damper": [
        ("pa10", {"stiffness": [1.0, 2.0]}, "stiffness has 2 numbers; give one for all joints, or 7"),
        ("pa10", {"turned_damping": [1.0]}, "need a link whose turn counts"),
        ("pa10", {"link": "leg"}, "'leg'"),
        ("pa10", {"axis": "w"}, "axis.*'x', 'y', 'z'"),
        ("pa10", {"damping": [-1.0]}, "damping is .*at least 0"),
        ("hoap2_10dof", {"carry_weight": True}, "stands by itself.*hoap2_standing"),
    ],
    "virtual_closed_chain": [
        ("planar_4r", {}, "there is no closed chain"),
        ("planar_4r", {"loops": "loops/nothing.yaml"}, "no such file"),
        ("planar_4r", {"loops": FOUR_BAR, "joint_stiffness": [1.0, 2.0]}, "joint_stiffness has 2 numbers"),
        ("planar_4r", {"loops": FOUR_BAR, "joint_stiffness": [-1.0]}, "joint_stiffness"),
        ("planar_4r", {"loops": FOUR_BAR, "pose_stiffness": [1.0]}, "give six"),
        ("planar_4r", {"loops": FOUR_BAR, "pose_stiffness": [1.0] * 6}, "set link to one of"),
        ("planar_4r", {"loops": FOUR_BAR, "link": "hand"}, "link"),
        ("planar_4r", {"loops": FOUR_BAR, "feedback": "guess"}, "feedback"),
    ],
}
loaded = lru_cache(maxsize=None)(ada.load)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_settings_and_robots_that_a_law_cannot_have_are_refused_by_name(name: str) -> None:
    for robot, settings, words in CASES[name]:
        with pytest.raises(InputError, match=words):
            make(name, loaded(robot), settings)
