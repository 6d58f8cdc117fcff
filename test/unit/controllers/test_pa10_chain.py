# SPDX-License-Identifier: Apache-2.0
"""Where the hand of the PA-10 is: against products of transforms and the robot descriptions."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import pa10_kinematics as pa10
from ada_dynamics.errors import InputError

TOOL = np.array([[0.0, 0.0, 1.0, 0.02], [1.0, 0.0, 0.0, -0.03], [0.0, 1.0, 0.0, 0.15], [0.0, 0.0, 0.0, 1.0]])


def _angles(count, seed=0):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, 7))


def _turn(axis, angle):
    pose, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    i, j = {"y": (2, 0), "z": (0, 1)}[axis]
    pose[i, i] = pose[j, j] = c
    pose[i, j], pose[j, i] = -s, s
    return pose


def _up(length):
    pose = np.eye(4)
    pose[2, 3] = length
    return pose


@pytest.mark.parametrize(("lengths", "arm"), [("CE", (0.317, 0.45, 0.48, 0.07)), ("7C", (0.315, 0.45, 0.5, 0.08))])
def test_the_pose_is_the_product_of_the_transforms_of_each_joint(lengths, arm):
    for q in _angles(20):
        expected = _up(arm[0])
        for axis, angle, above in zip("zyzyzyz", q, (0.0, 0.0, arm[1], 0.0, arm[2], 0.0, arm[3]), strict=True):
            expected = expected @ _turn(axis, angle) @ _up(above)
        assert pa10.forward(q, lengths) == pytest.approx(expected, abs=1e-15)
        assert pa10.forward(q, lengths, TOOL) == pytest.approx(expected @ TOOL, abs=1e-15)


@pytest.mark.parametrize(("lengths", "robot"), [("CE", "pa10"), ("7C", "pa10_7c")])
def test_the_robot_description_has_the_same_pose_in_a_batch_or_alone(lengths, robot):
    dynamics, angles = ada.Dynamics(ada.load(robot)), _angles(13)
    for q, found in zip(angles, pa10.forward(angles, lengths), strict=True):
        assert found == pytest.approx(pa10.forward(q, lengths), abs=1e-15)
        assert found == pytest.approx(dynamics.forward_kinematics(q)["flange"], abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([0.0] * 6,), "q"),
        ((np.zeros((2, 3, 7)),), "q"),
        (([0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0],), "q"),
        (([0.0] * 7, "CF"), "set of lengths of the PA-10"),
        (([0.0] * 7, pa10.Lengths(0.3, 0.0, 0.5, 0.1)), "lengths"),
        (([0.0] * 7, "CE", [0.0, 1.0]), "hand"),
        (([0.0] * 7, "CE", 1.1 * np.eye(4)), "hand"),
        (([0.0] * 7, "CE", np.diag([1.0, 1.0, -1.0, 1.0])), "hand"),
    ],
)
def test_what_is_no_arm_is_refused(arguments, field):
    with refused(InputError, field=field):
        pa10.forward(*arguments)
