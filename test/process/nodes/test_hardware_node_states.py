# SPDX-License-Identifier: Apache-2.0
"""Readings of a device as the state of the whole robot and as messages, without a node."""

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.robots.catalogue import start_of
from ada_robot.driver import Feedback
from ada_robot.messages.outgoing import JointStateBytes
from ada_robot.node.loop_states import StateEstimator


def feedback(position, velocity=None, effort=None, time=1.5):
    unknown = [math.nan] * len(position)
    return Feedback(time, *(np.array(unknown if one is None else one) for one in (position, velocity, effort)))


def test_joints_of_a_chain_get_the_coordinates_of_the_model_and_missing_ones_are_zero():
    model = ada.load("pa10")
    whole = StateEstimator(model, list(reversed(model.joint_names)))
    state = whole.of(feedback(np.arange(7.0), np.arange(7.0) / 10))
    assert (state.t, whole.missing, whole.problem) == (1.5, (), "")
    assert state.q.tolist() == list(range(6, -1, -1))
    assert state.v.tolist() == [i / 10 for i in range(6, -1, -1)] and np.isnan(state.tau).all()
    whole = StateEstimator(model, [name for name in model.joint_names if name != "s3"])  # as the PA10-6CE
    assert whole.missing == ("s3",)
    assert whole.of(feedback(np.ones(6))).q.tolist() == [1, 1, 0, 1, 1, 1, 1]
    with pytest.raises(InputError):
        StateEstimator(model, ["s1", "knee"])


@pytest.fixture(scope="module")
def hexa():
    model = ada.load("hexa", base="fixed")
    start = start_of("hexa", model)
    rows = [model.q_index(name).start for name in model.actuated]
    return model, start, rows


def test_passive_joints_of_a_motion_table_follow_from_its_closed_loops(hexa):
    model, start, rows = hexa
    whole, dynamics, q = StateEstimator(model, model.actuated, start), ada.Dynamics(model), start
    ways = np.array([1.0, 0.5, -0.3, 0.2, 0.8, -0.6])
    t = np.linspace(0.0, 1.0, 60)[:, None]
    positions = start[rows] + 0.15 * np.sin(2 * np.pi * t) * ways
    velocities = 0.3 * np.pi * np.cos(2 * np.pi * t) * ways
    for i, (position, velocity) in enumerate(zip(positions, velocities, strict=True)):
        state = whole.of(feedback(position, velocity))
        assert not whole.problem
        if i % 4:  # the reference takes long
            continue
        guess = q.copy()
        guess[rows] = position
        q = np.array(ada.close_loops(model, guess, list(model.actuated)))  # cranks held exactly
        assert state.q[rows].tolist() == position.tolist(), "as measured, to the last digit"
        # rock-heavy motors give way by gap/1e6, and a gap is at most the way of one step, 0.02 rad
        assert np.abs(model.difference(q, state.q)).max() < 1e-7
        assert dynamics.constraints.closure_error(model.integrate(state.q, 1e-4 * state.v)) < 1e-7, (
            "speeds keep the loops closed"
        )
        assert np.abs(state.v[[model.v_index(name).start for name in model.actuated]] - velocity).max() < 1e-5


def test_a_jump_of_the_cranks_closes_the_loops_again_and_an_impossible_one_keeps_the_passive_joints(hexa):
    model, start, rows = hexa
    whole = StateEstimator(model, model.actuated, start)
    before = whole.of(feedback(start[rows], time=0.0))
    state = whole.of(feedback(start[rows] + 0.5, time=0.1))
    assert not whole.problem and ada.Dynamics(model).constraints.closure_error(state.q) < 1e-6
    assert state.q[2] < start[2] - 0.05, "all cranks down: the plate is lower"
    before = whole.of(feedback(start[rows], time=0.2))
    wrong = start[rows] + np.array([2.5, -1.0, 0.0, 2.5, 0.0, -1.0])
    state = whole.of(feedback(wrong, time=0.3))
    assert whole.problem and state.q[rows].tolist() == wrong.tolist()
    passive = np.setdiff1d(np.arange(model.nq), rows)
    np.testing.assert_array_equal(state.q[passive], before.q[passive])
    whole.of(feedback(start[rows], time=0.4))
    assert whole.problem, "closing again takes long: once a second is enough"
    again = whole.of(feedback(start[rows], time=1.4))
    assert not whole.problem and np.abs(model.difference(before.q, again.q)).max() < 1e-6


def test_more_joints_than_determine_the_motion_are_taken_in_their_order_and_fewer_refused():
    model = ada.load("five_bar")
    start = np.array(ada.close_loops(model, start_of("five_bar", model)))
    dynamics, joints = ada.Dynamics(model, q0=start), ["left_crank", "right_crank", "left_rod"]
    whole = StateEstimator(model, joints, start)
    rows = [model.q_index(name).start for name in joints]
    for t in np.linspace(0.0, 1.0, 5):
        q = dynamics.constraints.complete_position(start[[0, 2]] + 0.1 * np.sin(t) * np.array([1.0, -0.5]))
        state = whole.of(feedback(q[rows], time=t))
        assert not whole.problem and np.abs(state.q - q).max() < 1e-9
        assert state.q[rows[:2]].tolist() == q[rows[:2]].tolist(), "as measured, to the last digit"
    with pytest.raises(InputError):
        StateEstimator(model, ["left_crank"], start).close_loops()


def test_a_reading_is_published_in_the_order_of_the_model_without_what_the_device_does_not_measure():
    model = ada.load("pa10")
    names = ["w2", "s1", "s2", "s3", "e1", "e2", "w1"]
    bytes_of = JointStateBytes(names, model)
    assert not bytes_of.needs_whole
    reading = feedback(np.arange(7.0), np.arange(7.0) + 10, np.arange(7.0) + 20)
    one = deserialize_message(bytes_of.measured(reading, None, 3_000_000_007), JointState)
    assert list(one.name) == list(model.joint_names)
    assert (one.header.stamp.sec, one.header.stamp.nanosec) == (3, 7)
    assert list(one.position) == [1, 2, 3, 4, 5, 6, 0] and list(one.velocity) == [11, 12, 13, 14, 15, 16, 10]
    assert list(one.effort) == [21, 22, 23, 24, 25, 26, 20]
    some = feedback([0.1, 0.2], [1.0, math.nan], [3.0, 4.0])
    one = deserialize_message(JointStateBytes(["a", "b"], None).measured(some, None, 0), JointState)
    assert (list(one.position), list(one.velocity), list(one.effort)) == ([0.1, 0.2], [], [3.0, 4.0])


def test_passive_joints_are_published_too():
    model = ada.load("four_bar")
    motor = model.actuated[0]
    q = np.array(ada.close_loops(model, start_of("four_bar", model)))
    whole = StateEstimator(model, [motor], q)
    bytes_of = JointStateBytes([motor], whole.model)
    assert bytes_of.needs_whole and set(bytes_of.names) == set(model.joint_names)
    reading = feedback([float(q[model.q_index(motor)][0])], [0.5])
    state = whole.of(reading)
    one = deserialize_message(bytes_of.measured(reading, state, 0), JointState)
    assert not whole.problem and list(one.name) == list(model.joint_names) and not len(one.effort)
    np.testing.assert_allclose(one.position, q, atol=1e-9)
    # the unit rhombus: opposite links turn alike, so that both joints beside the motor turn against it
    assert np.abs(np.abs(one.velocity) - 0.5).max() < 1e-5
