# SPDX-License-Identifier: Apache-2.0
"""Thousands of goals at once: what each would get by itself, from chains and from mechanisms with loops."""

import numpy as np
import pytest
from loop_robots import mechanism
from refused import refused

import ada_dynamics as ada
from ada_dynamics import ik
from ada_dynamics.errors import InputError
from ada_dynamics.ik.least_squares import LeastSquares, LinearBounds, solve_level, solve_level_batch
from ada_dynamics.ik.problem import IkProblem
from ada_dynamics.robots import mechanisms


@pytest.fixture(scope="module")
def arm():
    return ada.Dynamics(ada.load("pa10"))


def goals_of(dynamics, link, count, seed=0):
    model, rng = dynamics.model, np.random.default_rng(seed)
    return np.array(dynamics.pose(link, rng.uniform(model.lower, model.upper, (count, model.nq))))


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_many_are_those_of_each(seed):
    rng = np.random.default_rng(seed)
    A, b, C = rng.normal(size=(50, 6, 7)), 3.0 * rng.normal(size=(50, 6)), rng.normal(size=(50, 9, 7))
    damping, lower, upper = rng.uniform(1e-6, 1.0, 50), -rng.uniform(0.0, 0.5, (50, 9)), rng.uniform(0.0, 0.5, (50, 9))
    lower[:, 0], upper[:, 1] = -np.inf, np.inf
    many, found = solve_level_batch(LeastSquares(A, b, damping), LinearBounds(C, lower, upper))
    each = [
        solve_level(LeastSquares(A[k], b[k], damping[k]), LinearBounds(C[k], lower[k], upper[k])) for k in range(50)
    ]
    assert found.sum() > 25, "hardly any is found at once"
    at_a_side = np.abs(np.einsum("nij,nj->ni", C, many) - upper).min(axis=-1) < 1e-9
    assert (found & at_a_side).any(), "no limit is met: the test shows nothing"
    for k in np.flatnonzero(found):
        assert np.abs(many[k] - each[k]).max() < 1e-8


def test_an_arm_takes_the_poses_that_it_would_take_one_by_one(arm):
    goals = goals_of(arm, "flange", 100)
    many = ik.solve_many(arm, ada.PoseTask("flange", goals))
    assert many.reached.mean() >= 0.98
    for k in range(0, 100, 5):
        one = ada.solve_ik(arm, ada.PoseTask("flange", goals[k]))
        assert one.reached == many.reached[k] and one.steps == many.steps[k]
        assert np.abs(one.q - many.q[k]).max() < 1e-6
        assert many.distance[k] == pytest.approx(one.distance, abs=1e-8)


def test_random_starts_reach_the_rest_within_limits(arm):
    goals, model = goals_of(arm, "flange", 1000), arm.model
    found = ik.solve_many(arm, ada.PoseTask("flange", goals), starts=10)
    assert found.reached.all() and found.start.max() > 0
    assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    assert np.abs(arm.pose("flange", found.q) - goals).max() < 1e-7


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ["stewart", "delta"])
def test_loops_stay_closed(name):
    model, q = mechanism(name)
    dynamics, rng = ada.Dynamics(model, q0=q), np.random.default_rng(0)
    places = dynamics.pose("platform", q)[:3, 3] + rng.uniform(-0.03, 0.03, (40, 3))
    found = ik.solve_many(dynamics, ada.PositionTask("platform", places), q)
    assert found.reached.all() and found.constraint_violation.max() < 1e-14
    assert np.abs(dynamics.pose("platform", found.q)[:, :3, 3] - places).max() < 1e-8


def test_what_is_asked_of_many_has_to_fit(arm):
    goals = goals_of(arm, "flange", 4)
    with refused(InputError, field="tasks"):
        ik.solve_many(arm, ada.PoseTask("flange", goals[0]))
    with refused(InputError, field="tasks", value=4):
        ada.solve_ik(arm, ada.PoseTask("flange", goals))
    with refused(InputError, field="tasks", value=(2, 4)):
        ik.solve_many(arm, [ada.PoseTask("flange", goals), ada.PositionTask("link_2", goals[:2, :3, 3])])
    with refused(InputError, field="level", allowed="one level"):
        ik.solve_many(arm, [ada.PoseTask("flange", goals), ada.PostureTask(np.zeros(7), level=1)])
    with refused(InputError, field="q", value=(3, 7)):
        ik.solve_many(arm, ada.PoseTask("flange", goals), np.zeros((3, 7)))
    turned = goals.copy()
    turned[2, :3, :3] *= 2.0
    with refused(InputError, link="flange", field="goal 2"):
        ik.solve_many(arm, ada.PoseTask("flange", turned))


def test_poses_that_are_told_to_be_closed_are_so_near_a_singular_pose_too():
    model, _ = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    flat, rng = np.array(ada.close_loops(model, [np.pi / 2, 0.0, np.pi])), np.random.default_rng(0)
    near = flat + 10.0 ** rng.uniform(-9.0, -2.0, (200, 1)) * rng.normal(size=(200, model.nv))
    closed, good = IkProblem.of(dynamics, [ada.PostureTask(flat)], False).close_batch(near)
    assert good.sum() > 100
    assert np.abs(dynamics.constraints.violation(closed[good])).max() < 1e-9 * dynamics.constraints.coordinates.length
    assert np.abs(closed[good] - near[good]).max() < 0.1, "what is closed stays close by"


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
    assert np.abs(task.residual(arm, q)).max() < 1e-6


def test_a_free_step_gives_the_rate_that_is_asked_for(arm):
    hand, q = arm.model.link_names[-1], np.array([0.2, 0.4, 0.1, 0.8, 0.0, 0.5, 0.0])
    goal = arm.pose(hand, q)
    goal[:3, 3] += (1e-4, -2e-4, 1e-4)
    step = ik.velocity(arm, ada.PoseTask(hand, goal), q, 0.01, gain=0.5, damping=1e-12)
    assert np.abs(arm.velocity(hand, q, step.v)[:3] - np.array([1e-4, -2e-4, 1e-4]) * 50.0).max() < 1e-8
    assert np.abs(step.missing[0]).max() < 1e-8
    assert not step.at_limit


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
