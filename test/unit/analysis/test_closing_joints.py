# SPDX-License-Identifier: Apache-2.0
"""Joints that close loops turn as the links that they join do."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.closing_joints import ClosingJoint, turning_loops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.robots import mechanisms

STEP = 1e-5  # [s]; central differences: 1e-10 of truncation, 1e-11 of rounding


@pytest.mark.parametrize("degrees", [(135.0, -45.0, 225.0, 135.0), (60.0, 30.0, 150.0, 60.0)])
def test_the_fourth_angle_is_the_one_that_the_thesis_prints(degrees: tuple[float, ...]) -> None:
    model = ada.load("closed_4r")
    angle = ClosingJoint(Dynamics(model), "joint_4").angle(np.radians([degrees[:3]]))
    assert np.degrees(angle[0]) == pytest.approx(degrees[3])


def test_in_space_velocity_and_acceleration_are_the_angles_rates() -> None:
    model, q = mechanisms.bennett()
    dynamics = Dynamics(model, pose=q)
    (name,) = turning_loops(model)
    joint = ClosingJoint(dynamics, name)
    _, v = dynamics.project(q, np.ones(model.nv))
    a = dynamics.forward(q, v, np.zeros(model.nv))
    times = np.array([-STEP, 0.0, STEP])[:, None]
    positions, speeds = q + times * v + 0.5 * times**2 * a, v + times * a
    angles = joint.angle(positions)
    rates = joint.rate(positions, speeds)
    assert rates[1] == pytest.approx((angles[2] - angles[0]) / (2 * STEP), abs=1e-8)
    found = joint.acceleration(positions, speeds, np.tile(a, (3, 1)))[1]
    assert found == pytest.approx((rates[2] - rates[0]) / (2 * STEP), abs=1e-6)
    assert abs(found) > 0.01


def test_other_joints_are_refused_by_name() -> None:
    with refused(InputError, field="revolute joint that closes a loop", value="joint_1"):
        ClosingJoint(Dynamics(ada.load("closed_4r")), "joint_1")
