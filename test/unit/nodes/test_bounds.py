# SPDX-License-Identifier: Apache-2.0
"""Bounds of a simulated robot's inputs, and motion that diverges."""

import math

import numpy as np
import pytest
from simulated_world import plant, settings

import ada_dynamics as ada
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_robot.contract import Command, Reason
from ada_robot.limits import CommandGuard
from ada_robot.node.plant_loop import PlantLoop
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.source import initial_state, load_robot

STEP = 1e-3
HALF_TURN = math.pi / STEP  # [rad/s] of half a turn in a step


def test_a_wrench_of_ten_weights_is_taken_and_more_is_refused():
    model = ada.load("pa10")
    bounds = StateBounds(model, STEP)
    most = 10 * 9.81 * sum(link.mass for link in model.links.values())
    bounds.check_wrench([0.0, 0.0, 0.999 * most, 0.0, 0.0, 0.0], "link_7")
    for bad in ([1.001 * most, 0, 0], [math.nan, 0, 0], [0, 0, 0, 0, 0, math.inf], [0, 0, 0, 0, 0, 10 * most]):
        with pytest.raises(InputError):
            bounds.check_wrench([*bad, *[0.0] * (6 - len(bad))], "link_7")


def test_states_are_held_to_the_limits_of_the_robot():
    model = ada.load("pa10")
    bounds, free = StateBounds(model, STEP), StateBounds(model, STEP, keeps_limits=False)
    bounds.check_joints({"s2": 1.6, "e1": -2.3}, {"s2": -1.0})
    free.check_joints({"s2": 3.0}, {})  # joints without stops may start beyond their limits
    for judge, positions, velocities in (
        (bounds, {"s2": 100.0}, {}),
        (bounds, {}, {"s2": 1.1}),  # mechanical speed limit of the axis: 1 rad/s
        (bounds, {"s2": math.nan}, {}),
        (free, {"s2": 1e7}, {}),
    ):
        with pytest.raises(InputError):
            judge.check_joints(positions, velocities)


def test_joints_without_limits_are_held_to_what_the_robot_weighs_and_a_step_can_follow():
    model = ada.load("four_bar")
    weight, reach = 9.81 * 3.0, 3.0  # three rods of 1 kg and 1 m, in a row
    guard = CommandGuard(StateBounds(model, STEP).limits(model.actuated), max_jump=0.0)
    present = dict.fromkeys(model.joint_names, 0.0)
    motor = model.actuated[0]

    def judged(**values):
        return guard.check(Command([motor], **values), 0.0, present)

    assert judged(effort=[9.99 * weight * reach]) is None
    assert judged(velocity=[0.099 * HALF_TURN]) is None
    for bad in ({"effort": [10.01 * weight * reach]}, {"velocity": [0.101 * HALF_TURN]}, {"position": [1.1e6]}):
        assert judged(**bad).reason is Reason.OVER_LIMIT


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ({"initial_positions": [0.1]}, ("initial_positions", None, (0.1,))),
        ({"initial_positions": [0, 100.0, 0, 0, 0, 0, 0]}, ("start", "s2", 100.0)),
        ({"initial_positions": [0, 1e7, 0, 0, 0, 0, 0], "joint_stops": False}, ("position", None, 1e7)),
        ({"initial_velocities": [0, 0, 0, 1e9, 0, 0, 0]}, ("velocity", "e1", 1e9)),
        ({"robot": "floating_rod", "initial_velocities": [0, 0, 0, 0, 1e6, 0]}, ("velocity", None, 1e6)),
        ({"gravity": [0.0, 0.0, -1e300]}, ("gravity", None, (0.0, 0.0, -1e300))),
        ({"gravity": [1.0]}, ("gravity", None, (1.0,))),
    ],
)
def test_a_start_beyond_bounds_is_refused_by_name(values, facts):
    with pytest.raises(InputError) as refusal:
        chosen = settings(**values)
        initial_state(load_robot(chosen), chosen)
    assert (refusal.value.field, refusal.value.joint, refusal.value.value) == facts


def test_a_motion_that_diverges_is_never_told_and_ends_in_its_last_good_state():
    told = []
    arm = plant()
    loop = PlantLoop(arm, told.append, every=4, clock=ManualClock())
    loop.run(0.1)
    arm.push("link_7", [9e5, 0.0, 0.0, 0.0, 0.0, 0.0], 0.1)  # past the door where it would be refused
    loop.run(0.1)
    assert arm.failure
    assert told[-1].t >= 0.1
    for snapshot in told:
        assert np.abs(snapshot.v).max() < HALF_TURN
        assert np.isfinite([*snapshot.q, *snapshot.v, *snapshot.tau]).all()
    assert np.array_equal(arm.simulation.q, told[-1].q)
    arm.reset(*initial_state(arm.model, settings()))
    loop.run(0.1)
    assert arm.failure is None
    assert np.abs(arm.simulation.v).max() < 1.0


def test_no_push_and_no_start_however_wild_is_ever_told_as_a_state_that_no_step_can_follow():
    rng = np.random.default_rng(6)
    for name in ("four_bar", "floating_6"):
        robot = plant(robot=name, idle="release")
        q, v = robot.simulation.q, np.zeros(robot.model.nv)
        bounds = StateBounds(robot.model, STEP)
        fastest = max(HALF_TURN, 10 * bounds.fastest_sliding)
        for _ in range(5):
            robot.reset(q, v)
            link = str(rng.choice([link for link in robot.model.link_names if link != robot.model.root]))
            robot.push(link, 10.0 ** rng.uniform(1, 9) * rng.normal(size=6), 0.05)
            robot.advance(60)
            told = robot.snapshot()
            assert np.abs(told.v).max() <= fastest
            assert np.isfinite([*told.q, *told.v, *told.tau]).all()
