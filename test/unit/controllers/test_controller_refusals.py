# SPDX-License-Identifier: Apache-2.0
"""Settings that no law can have, and robots that a law is not for, are refused by name when a controller is made."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import make
from ada_dynamics.errors import InputError
from ada_dynamics.model import Builder, Limits

FOUR_BAR = {"loops": "loops/parallel_four_bar.yaml"}
UPPER = np.triu(np.ones((6, 6))).ravel().tolist()
UNHELD = {"joint": "root_joint", "field": "coordinates", "value": 10}
ONE_OR_SEVEN = "1 or 7 numbers"
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("balance", "pa10", {}, {"joint": "joint_1", "field": "model", "value": "pa10"}),
    ("balance", "hoap2_10dof", {}, {"field": "model", "value": "hoap2_10dof"}),
    ("balance", "hoap2_standing", {"strategy": "step"}, {"field": "strategy", "value": "step"}),
    ("compliance", "pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": "6 or 36 numbers"}),
    ("compliance", "pa10", {"stiffness": [1e3, 1e3, -1.0, 1.0, 1.0, 1.0]}, {"field": "stiffness"}),
    ("compliance", "pa10", {"stiffness": UPPER}, {"field": "stiffness"}),
    ("compliance", "pa10", {"dead_band": [1.0]}, {"field": "dead_band", "allowed": "2 numbers"}),
    ("compliance", "pa10", {"sensor_link": "wrist"}, {"link": "wrist"}),
    ("compliance", "pa10", {"sensor_rpy": [0.0]}, {"field": "sensor_rpy", "allowed": "3 numbers"}),
    ("compliance", "pa10", {"contact_stiffness": 3e5}, {"field": "contact_stiffness", "allowed": "below 2e+05 N/m"}),
    ("computed_torque", "hoap2_10dof", {}, UNHELD),
    ("computed_torque", "pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": ONE_OR_SEVEN}),
    ("computed_torque", "pa10", {"stiffness": []}, {"field": "stiffness", "value": ()}),
    ("gravity_compensation", "pa10", {"share": [1.5]}, {"field": "share"}),
    ("impedance", "pa10", {"space": "link", "link": "flnage"}, {"link": "flnage"}),
    ("impedance", "pa10", {"linear_stiffness": [1.0] * 2}, {"field": "linear_stiffness", "allowed": "1 or 3 numbers"}),
    ("impedance", "pa10", {"linear_inertia": 0.0}, {"field": "linear_inertia", "value": 0.0}),
    ("joint_trajectory", "pa10", {"acceleration": [0.0]}, {"field": "acceleration"}),
    ("joint_trajectory", "pa10", {"speed_scale": 0.0}, {"field": "speed_scale", "value": 0.0}),
    ("pid", "pa10", {"gain": [1.0, 2.0]}, {"field": "gain", "allowed": ONE_OR_SEVEN}),
    ("pid", "pa10", {"anti_windup": 1}, {"field": "anti_windup", "value": 1}),
    ("pose_servo", "pa10", {"tool_xyz": [0.0, 1.0]}, {"field": "tool_xyz", "allowed": "3 numbers"}),
    ("pose_servo", "pa10", {"null_space": "posture", "posture": [0.0] * 2}, {"field": "posture"}),
    ("pose_servo", "pa10", {"null_space": "posture", "posture_joints": ["elbow"]}, {"value": "elbow"}),
    ("pose_servo", "pa10", {"link": "base_link"}, {"field": "model", "value": "pa10"}),
    ("pose_servo", "four_bar", {}, {"loop": "closing", "field": "link", "value": "link_3"}),
    ("pose_servo", "delta", {}, {"joint": "leg_1_knee_left_1", "field": "link", "value": "leg_1_rod_left"}),
    ("reaction_null_space", "pa10", {"support": "link_3"}, {"link": "link_3", "field": "support"}),
    ("reaction_null_space", "pa10", {"support": "foot"}, {"link": "foot"}),
    ("reaction_null_space", "pa10", {"held": "no"}, {"field": "held", "value": "no", "allowed": ("yes",)}),
    ("reaction_null_space", "pa10", {"preserved": []}, {"field": "preserved", "value": ()}),
    ("reaction_null_space", "pa10", {"preserved": ["fw"]}, {"field": "preserved"}),
    ("reaction_null_space", "cassie_leg", {}, {"joint": "shin", "allowed": "a motor at every joint"}),
    ("reaction_null_space", "floating_rod_euler", {}, {"field": "model", "allowed": "a robot with a motor"}),
    ("virtual_closed_chain", "planar_4r", {}, {"field": "loops", "value": ""}),
    ("virtual_closed_chain", "planar_4r", {"loops": "none.yaml"}, {"field": "loops", "value": "none.yaml"}),
    ("virtual_closed_chain", "planar_4r", FOUR_BAR | {"pose_stiffness": [1.0]}, {"field": "pose_stiffness"}),
    ("virtual_closed_chain", "planar_4r", FOUR_BAR | {"pose_stiffness": [1.0] * 6}, {"field": "link", "value": ""}),
]
loaded = lru_cache(maxsize=None)(ada.load)


@pytest.mark.parametrize(("law", "robot", "settings", "facts"), CASES)
def test_settings_and_robots_that_a_law_cannot_have_are_refused_by_name(
    law: str, robot: str, settings: dict[str, Any], facts: dict[str, Any]
) -> None:
    with refused(InputError, **facts):
        make(law, loaded(robot), settings)


@pytest.mark.parametrize("law", ["computed_torque", "gravity_compensation", "impedance", "pid"])
def test_efforts_for_a_joint_whose_effort_limit_is_zero_are_refused_and_positions_are_not(law: str) -> None:
    robot = Builder("arm").link("base")
    for i, (parent, effort) in enumerate((("base", 9.0), ("link_1", 0.0)), start=1):
        robot.link(f"link_{i}", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        robot.joint(
            f"joint_{i}", "revolute", parent, f"link_{i}", axis=(0, 1, 0), limits=Limits(-1.0, 1.0, 1.0, effort)
        )
    model = robot.build()
    with refused(InputError, joint="joint_2", field="effort", value=0.0):
        make(law, model)
    assert make("joint_trajectory", model).joints == ("joint_1", "joint_2")
