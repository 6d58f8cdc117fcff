# SPDX-License-Identifier: Apache-2.0
"""Settings that no law can have, and robots that a law is not for, are refused by name when a controller is made."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import CONTROLLERS, make
from ada_dynamics.errors import InputError

FOUR_BAR = "loops/parallel_four_bar.yaml"
CASES: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "balance": [
        ("pa10", {}, {"field": "model", "value": "pa10"}),
        ("hoap2_10dof", {}, {"field": "model", "value": "hoap2_10dof"}),
        ("hoap2_standing", {"strategy": "step"}, {"field": "strategy", "value": "step"}),
        ("hoap2_standing", {"ankle_gain": -1.0}, {"field": "ankle_gain", "value": -1.0}),
    ],
    "compliance": [
        ("pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": "6 or 36 numbers"}),
        ("pa10", {"stiffness": [1e3, 1e3, -1.0, 1.0, 1.0, 1.0]}, {"field": "stiffness"}),
        ("pa10", {"stiffness": np.triu(np.ones((6, 6))).ravel().tolist()}, {"field": "stiffness"}),
        ("pa10", {"dead_band": [1.0]}, {"field": "dead_band", "allowed": "two numbers"}),
        ("pa10", {"mode": "soft"}, {"field": "mode", "value": "soft"}),
        ("pa10", {"sensor_link": "wrist"}, {"link": "wrist"}),
        ("pa10", {"sensor_rpy": [0.0]}, {"field": "sensor_rpy", "allowed": "three numbers"}),
        ("pa10", {"contact_stiffness": 3e5}, {"field": "contact_stiffness", "allowed": "below 2e+05 N/m"}),
    ],
    "computed_torque": [
        ("four_bar", {}, {"field": "model", "value": "four_bar"}),
        ("hoap2_10dof", {}, {"field": "model", "value": "hoap2_10dof"}),
        ("pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": "1 or 7 numbers"}),
        ("pa10", {"damping": [-1.0]}, {"field": "damping"}),
        ("pa10", {"stiffness": []}, {"field": "stiffness", "value": ()}),
    ],
    "gravity_compensation": [
        ("pa10", {"share": [1.5]}, {"field": "share"}),
        ("pa10", {"damping": [-1.0]}, {"field": "damping"}),
    ],
    "impedance": [
        ("four_bar", {}, {"field": "model", "value": "four_bar"}),
        ("hoap2_10dof", {}, {"field": "model", "value": "hoap2_10dof"}),
        ("pa10", {"space": "hand"}, {"field": "space", "value": "hand"}),
        ("pa10", {"space": "link", "link": "flnage"}, {"link": "flnage"}),
        ("pa10", {"joint_stiffness": [1.0] * 6}, {"field": "joint_stiffness", "allowed": "1 or 7 numbers"}),
        ("pa10", {"linear_stiffness": [1.0, 2.0]}, {"field": "linear_stiffness", "allowed": "1 or 3 numbers"}),
        ("pa10", {"angular_damping": [-1.0]}, {"field": "angular_damping"}),
        ("pa10", {"linear_inertia": 0.0}, {"field": "linear_inertia", "value": 0.0}),
    ],
    "joint_trajectory": [
        ("pa10", {"profile": "cubic"}, {"field": "profile", "value": "cubic"}),
        ("pa10", {"acceleration": [0.0]}, {"field": "acceleration"}),
        ("pa10", {"acceleration": [1.0, 2.0]}, {"field": "acceleration", "allowed": "1 or 7 numbers"}),
        ("pa10", {"speed": [-1.0]}, {"field": "speed"}),
        ("pa10", {"speed_scale": 0.0}, {"field": "speed_scale", "value": 0.0}),
        ("pa10", {"acceleration_time": -1.0}, {"field": "acceleration_time", "value": -1.0}),
    ],
    "pid": [
        ("pa10", {"gain": [1.0, 2.0]}, {"field": "gain", "allowed": "1 or 7 numbers"}),
        ("pa10", {"gain": [-1.0]}, {"field": "gain"}),
        ("pa10", {"integral_time": [-1.0]}, {"field": "integral_time"}),
        (
            "pa10",
            {"derivative_filter": math.inf},
            {"field": "derivative_filter", "allowed": "a number of at least 0 [s]"},
        ),
        ("pa10", {"anti_windup": 1}, {"field": "anti_windup", "value": 1}),
    ],
    "pose_servo": [
        ("pa10", {"link": "hand"}, {"link": "hand"}),
        ("pa10", {"tool_xyz": [0.0, 1.0]}, {"field": "tool_xyz", "allowed": "three numbers"}),
        ("pa10", {"gain": -1.0}, {"field": "gain", "value": -1.0}),
        ("pa10", {"null_space": "elbow"}, {"field": "null_space", "value": "elbow"}),
        ("pa10", {"null_space": "posture", "posture": [0.0, 1.0]}, {"field": "posture", "allowed": "1 or 7 numbers"}),
        (
            "pa10",
            {"null_space": "posture", "posture_joints": ["elbow"]},
            {"field": "joint of the arm", "value": "elbow"},
        ),
        ("pa10", {"link": "base_link"}, {"field": "model", "value": "pa10"}),
        ("four_bar", {}, {"loop": "closing", "field": "link", "value": "link_3"}),
        ("delta", {}, {"joint": "leg_1_knee_left", "field": "link", "value": "leg_1_rod_left"}),
    ],
    "reaction_null_space": [
        ("pa10", {"support": "link_3"}, {"link": "link_3", "field": "support", "value": "link_3"}),
        ("pa10", {"support": "foot"}, {"link": "foot"}),
        ("pa10", {"held": "no"}, {"field": "held", "value": "no"}),
        ("pa10", {"preserved": []}, {"field": "preserved", "value": ()}),
        ("pa10", {"preserved": ["fw"]}, {"field": "preserved"}),
        ("pa10", {"weights": [0.0]}, {"field": "weights"}),
        ("cassie_leg", {}, {"field": "model", "value": "cassie_leg"}),
        ("floating_rod_euler", {}, {"field": "model", "value": "floating_rod_euler"}),
    ],
    "spring_damper": [
        ("pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": "1 or 7 numbers"}),
        ("pa10", {"turned_damping": [1.0]}, {"field": "link", "value": ""}),
        ("pa10", {"link": "leg"}, {"link": "leg"}),
        ("pa10", {"axis": "w"}, {"field": "axis", "value": "w"}),
        ("pa10", {"damping": [-1.0]}, {"field": "damping"}),
        ("hoap2_10dof", {"carry_weight": True}, {"field": "carry_weight", "value": True}),
    ],
    "virtual_closed_chain": [
        ("planar_4r", {}, {"field": "loops", "value": ""}),
        ("planar_4r", {"loops": "loops/nothing.yaml"}, {"field": "loops", "value": "loops/nothing.yaml"}),
        (
            "planar_4r",
            {"loops": FOUR_BAR, "joint_stiffness": [1.0, 2.0]},
            {"field": "joint_stiffness", "allowed": "1 or 4 numbers"},
        ),
        ("planar_4r", {"loops": FOUR_BAR, "joint_stiffness": [-1.0]}, {"field": "joint_stiffness"}),
        (
            "planar_4r",
            {"loops": FOUR_BAR, "pose_stiffness": [1.0]},
            {"field": "pose_stiffness", "allowed": "six numbers"},
        ),
        ("planar_4r", {"loops": FOUR_BAR, "pose_stiffness": [1.0] * 6}, {"field": "link", "value": ""}),
        ("planar_4r", {"loops": FOUR_BAR, "link": "hand"}, {"link": "hand"}),
        ("planar_4r", {"loops": FOUR_BAR, "feedback": "guess"}, {"field": "feedback", "value": "guess"}),
    ],
}
loaded = lru_cache(maxsize=None)(ada.load)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_settings_and_robots_that_a_law_cannot_have_are_refused_by_name(name: str) -> None:
    for robot, settings, words in CASES[name]:
        with refused(InputError, **words):
            make(name, loaded(robot), settings)
