# SPDX-License-Identifier: Apache-2.0
"""Small laws by numbers made by hand: stops, friction, servos, contact, wrenches at points, factors, maps."""

import math

import numpy as np
import pytest

from ada_dynamics.algorithms import ldl
from ada_dynamics.algorithms.applied_wrench import AppliedWrench, applied_loads
from ada_dynamics.algorithms.contact import Law, normal_force, slip_resistance
from ada_dynamics.algorithms.joint_loads import (
    Servo,
    ServoCommand,
    Stop,
    joint_loads,
    servo_effort,
    servo_efforts,
    stop_effort,
    without_friction,
)
from ada_dynamics.algorithms.passive import lost_efforts
from ada_dynamics.model import Builder, Mimic
from ada_dynamics.model.elements import Bound
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.vector import Mat3, Vec3

NEVER = math.inf


def approx(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("q", "v", "step", "effort", "armature"),
    [
        (0.0, 5.0, None, 0.0, 0.0),
        (2.0, 5.0, None, 0.0, 0.0),
        # k δ (1 + d δ̇) = 100 x 0.5 x (1 + 0.4 x 0.2)
        (2.5, 0.2, None, -54.0, 0.0),
        (2.5, -2.0, None, -10.0, 0.0),
        (2.5, -10.0, None, 0.0, 0.0),  # it does not pull
        (-1.5, -0.2, None, 54.0, 0.0),
        (-1.5, 2.0, None, 10.0, 0.0),
        # f + h K δ̇ with K = k (1 + d δ̇) = 108; h (D + h K) with D = k d δ = 20
        (2.5, 0.2, 0.01, -(54.0 + 0.01 * 108.0 * 0.2), 0.01 * (20.0 + 1.08)),
        (-1.5, -0.2, 0.01, 54.0 + 0.01 * 108.0 * 0.2, 0.01 * (20.0 + 1.08)),
        (2.5, -2.0, 0.01, -(10.0 - 0.01 * 20.0 * 2.0), 0.01 * (20.0 + 0.2)),
        (2.5, -2.0, 0.3, 0.0, 0.0),  # it would end within the step
        (0.0, 5.0, 0.01, 0.0, 0.0),
    ],
)
def test_a_stop_pushes_back_by_hunt_and_crossleys_law(q, v, step, effort, armature):
    found = stop_effort(Stop(0, Bound(-1.0, 2.0), 100.0, 0.4), q, v, step)
    assert (found.effort, found.armature) == (approx(effort), approx(armature))


def train():
    """Two wagons on a rail, and a third that goes twice as far as the first, and back."""
    robot = Builder("train").link("base")
    for i in range(3):
        robot.link(f"wagon_{i}", 1.0)
    axis = {"axis": (1.0, 0.0, 0.0)}
    robot.joint("a", "prismatic", "base", "wagon_0", damping=0.7, friction=3.0, stiffness=5.0, **axis)
    robot.joint("b", "prismatic", "base", "wagon_1", friction=2.0, **axis)
    robot.joint("c", "prismatic", "base", "wagon_2", damping=0.5, mimic=Mimic("a", -2.0, 0.1), **axis)
    return robot.build().tree


def test_friction_is_the_secant_that_a_resting_joint_creeps_by():
    tree = train()
    efforts, armature = joint_loads(tree, [], 0.5, [0.0, 0.0], [1.2, -1.2])  # √(1.2² + 0.5²) = 1.3
    assert efforts == [approx(-3.0 * 1.2 / 1.3), approx(2.0 * 1.2 / 1.3)]
    assert armature == [0.0, 0.0]


def test_in_an_implicit_step_dampers_springs_and_what_mimics_add_their_change():
    tree, h = train(), 0.1
    efforts, armature = joint_loads(tree, [], 0.5, [0.0, 0.0], [1.2, -1.2], h)
    # c goes -2.4 where a goes 1.2; its own damping is felt at a by the square of -2
    assert efforts == [approx(-3.0 * 1.2 / 1.3 - h * 5.0 * 1.2), approx(2.0 * 1.2 / 1.3)]
    assert armature[0] == approx(h * 3.0 / 1.3 + h * (0.7 + h * 5.0) + 4.0 * h * 0.5)
    assert armature[1] == approx(h * 2.0 / 1.3)


def test_a_stop_of_a_joint_that_mimics_acts_on_the_one_that_it_follows():
    stop = Stop(2, Bound(-1.0, 1.0), 100.0, 0.0)
    efforts, armature = joint_loads(without_friction(train()), [stop], 0.5, [0.8, 0.0], [0.0, 0.0])
    assert efforts == [approx(-2.0 * 100.0 * 0.5), 0.0]  # c is at -2 x 0.8 + 0.1
    assert armature == [0.0, 0.0]
    _, armature = joint_loads(without_friction(train()), [stop], 0.5, [0.8, 0.0], [0.0, 0.0], 0.1)
    assert armature[0] == approx(0.1 * (0.7 + 0.1 * 5.0) + 4.0 * 0.1 * 0.5 + 4.0 * 0.1 * 0.1 * 100.0)


def test_what_is_lost_is_damping_and_the_sign_of_motion():
    # damping and friction of a; damping of c, which follows at -2.4, as a feels it
    assert lost_efforts(train(), [1.2, -1.2]) == [approx(0.7 * 1.2 + 3.0 + 2.0 * 0.5 * 2.4), approx(-2.0)]
    assert lost_efforts(train(), [0.0, 0.0]) == [0.0, 0.0]


COMMAND = ServoCommand(1.0, 0.5, 2.0, 10.0, 3.0)  # 2 + 10 (1 - q) + 3 (0.5 - v)


@pytest.mark.parametrize(
    ("limit", "q", "v", "step", "effort", "armature"),
    [
        (NEVER, 0.25, -0.5, None, 12.5, 0.0),
        (12.0, 0.25, -0.5, None, 12.0, 0.0),
        (12.0, 4.0, 1.5, None, -12.0, 0.0),
        (NEVER, 0.25, -0.5, 0.1, 12.5 + 0.1 * 10.0 * 0.5, 0.1 * (3.0 + 0.1 * 10.0)),
        (14.0, 0.25, -0.5, 0.1, 13.0, 0.4),
        (12.0, 0.25, -0.5, 0.1, 12.0, 0.0),  # a motor at its limit gives that, whatever the joint does
        (12.0, 4.0, 1.5, 0.1, -12.0, 0.0),
    ],
)
def test_a_servo_pulls_by_its_law_up_to_its_limit(limit, q, v, step, effort, armature):
    found = servo_effort(limit, COMMAND, q, v, step)
    assert (found.effort, found.armature) == (approx(effort), approx(armature))


def test_servos_take_their_own_commands_and_that_of_a_joint_that_mimics_pulls_the_one_that_it_follows():
    commands = [*COMMAND, *COMMAND._replace(effort=-1.0)]
    efforts, armature = servo_efforts(train(), [Servo(1), Servo(2)], commands, [0.2, 0.25], [0.5, -0.5], 0.1)
    # c is at -0.3 and goes -1: -1 + 10 x 1.3 + 3 x 1.5, and a step later 0.1 x 10 x 1 more
    assert efforts == [approx(-2.0 * (16.5 + 1.0)), approx(13.0)]
    assert armature == [approx(4.0 * 0.4), approx(0.4)]
    assert servo_efforts(train(), [Servo(1)], COMMAND, [0.2, 0.25], [0.5, -0.5]) == ([0.0, approx(12.5)], [0.0, 0.0])


@pytest.mark.parametrize(
    ("exponent", "depth", "rate", "wanted"),
    [
        (1.0, 0.04, 0.5, (1000 * 0.04 * 1.3, 1000 * 1.3, 0.6 * 40.0)),  # 1 + 3/2 x 0.4 x 0.5
        (1.5, 0.04, 0.5, (1000 * 0.008 * 1.3, 1.5 * 1000 * 0.2 * 1.3, 0.6 * 8.0)),
        (1.0, 0.04, -2.0, (0.0, 0.0, 0.0)),  # it would pull
        (1.5, -0.04, 0.5, (0.0, 0.0, 0.0)),
    ],
)
def test_the_normal_force_and_its_slopes_are_those_on_paper(exponent, depth, rate, wanted):
    assert normal_force(Law(1000.0, exponent, 0.4, 0.8, 0.02), depth, rate) == tuple(map(approx, wanted))


def test_slip_is_resisted_by_a_secant():
    assert slip_resistance(Law(1.0, 1.0, 0.0, 0.8, 0.5), 10.0, Vec3(1.2, 0.0, 0.0)) == approx(8.0 / 1.3)


def test_wrenches_on_one_body_add_up_and_those_on_the_world_count_for_nothing():
    turned = Mat3(Vec3(0.0, -1.0, 0.0), Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0))  # x of the link is y of the body
    none = Vec3(0.0, 0.0, 0.0)
    where = [
        AppliedWrench(1, turned, none, False),
        AppliedWrench(WORLD, turned, none, True),
        AppliedWrench(1, turned, Vec3(0.0, 0.0, 2.0), True),
    ]
    loads = applied_loads(train(), where, [[1.0, 0, 0, 0, 0, 0.5], [9.0] * 6, [3.0, 0, 0, 0, 0, 0]], [0.0, 0.0])
    assert list(loads) == [1]
    assert tuple(loads[1].force) == (3.0, 1.0, 0.0)
    assert tuple(loads[1].moment) == (0.0, 6.0, 0.5)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_factors_of_a_small_matrix_multiply_to_it_and_solve(n):
    rng = np.random.default_rng(n)
    J = rng.normal(size=(n, n))
    A = J @ J.T + np.eye(n)
    b = rng.normal(size=n)
    upper = [[A[i, j] if j >= i else math.nan for j in range(n)] for i in range(n)]
    found = ldl.factorise_dense(upper)
    L = np.eye(n)
    for i in range(n):
        L[i, :i] = [row.get(i, 0.0) for row in found.rows[:i]]
    np.testing.assert_allclose(L @ np.diag(found.pivots) @ L.T, A, atol=1e-12)
    np.testing.assert_allclose(np.multiply(found.pivots, found.inverse), 1.0, atol=1e-14)
    np.testing.assert_allclose(L @ found.forward(b.tolist()), b, atol=1e-12)
    np.testing.assert_allclose(L.T @ found.backward(b.tolist()), b, atol=1e-12)
    np.testing.assert_allclose(np.multiply(found.divided(b.tolist()), found.pivots), b, atol=1e-12)
