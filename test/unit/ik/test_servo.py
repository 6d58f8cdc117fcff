# SPDX-License-Identifier: Apache-2.0
"""Joint velocities of one period: within limits, along loops, and to the goal when taken one after another."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics import ik
from ada_dynamics.errors import InputError
from ada_dynamics.robots import mechanisms


@pytest.fixture(scope="module")
def arm():
    return ada.Dynamics(ada.load("pa10"))


def test_a_servo_loop_comes_to_its_goal_within_position_and_velocity_limits(arm):
    model, dt, q = arm.model, 0.01, np.array([0.2, 0.4, 0.1, 0.8, 0.0, 0.5, 0.0])
    hand = model.link_names[-1]
    task = ada.PoseTask(hand, arm.pose(hand, q + 0.4))
    held = set()
    for _ in range(400):
        step = ik.velocity(arm, task, q, dt, gain=0.2)
        assert step.within_limits
        assert (np.abs(step.v) <= model.velocity_limit * (1.0 + 1e-9)).all()
        held |= set(step.at_limit)
        q = model.integrate(q, step.v, dt)
        assert (q >= model.lower - 1e-12).all() and (q <= model.upper + 1e-12).all()
    assert held, "no limit is met: the test shows nothing"
    assert np.abs(task.left(arm, q)).max() < 1e-6


def test_a_free_step_gives_the_rate_that_is_asked_for(arm):
    hand, q = arm.model.link_names[-1], np.array([0.2, 0.4, 0.1, 0.8, 0.0, 0.5, 0.0])
    goal = arm.pose(hand, q)
    goal[:3, 3] += (1e-4, -2e-4, 1e-4)
    step = ik.velocity(arm, ada.PoseTask(hand, goal), q, 0.01, gain=0.5, damping=1e-12)
    assert np.abs(arm.velocity(hand, q, step.v)[:3] - np.array([1e-4, -2e-4, 1e-4]) * 50.0).max() < 1e-8
    assert np.abs(step.missing[0]).max() < 1e-8
    assert not step.at_limit


@pytest.mark.fuzz
def test_velocities_are_along_the_loops():
    model, q = mechanisms.stewart()
    dynamics = ada.Dynamics(model, pose=q)
    goal = dynamics.pose("platform", q)
    goal[:3, 3] += (0.02, 0.0, 0.03)
    for _ in range(40):
        step = ik.velocity(dynamics, ada.PoseTask("platform", goal), q, 0.01, gain=0.3)
        assert np.abs(dynamics.loop_conditions(q) @ (step.v / dynamics.choices.units)).max() < 1e-10
        q, _ = dynamics.project(model.integrate(q, step.v, 0.01), step.v)
    assert np.abs(dynamics.pose("platform", q) - goal).max() < 1e-5


def test_beyond_a_limit_it_comes_back_as_fast_as_it_may(arm):
    model = arm.model
    q = np.zeros(7)
    q[1] = model.upper[1] + 0.5
    step = ik.velocity(arm, ada.PostureTask(q), q, 0.01)
    assert step.v[1] == pytest.approx(-model.velocity_limit[1])
    assert model.joint_names[1] in step.at_limit


@pytest.mark.parametrize(("name", "value"), [("dt", 0.0), ("gain", 1.5), ("damping", 0.0)])
def test_numbers_that_cannot_be_meant_are_refused(arm, name, value):
    with refused(InputError, field=name, value=value):
        ik.velocity(arm, ada.PostureTask(np.zeros(7)), np.zeros(7), **{"dt": 0.01, name: value})
