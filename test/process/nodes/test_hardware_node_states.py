# SPDX-License-Identifier: Apache-2.0
"""What a device measures as the state of the whole robot, and as messages; no node."""

import math

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.robots.catalogue import start_of
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.node.joint_state_bytes import JointStateBytes
from ada_robot.node.whole_state import StateOfRobot
from ada_robot.safety.measured import Measured


def feedback(position, velocity=None, effort=None):
    unknown = [math.nan] * len(position)
    return Feedback(1.5, *(np.array(unknown if one is None else one) for one in (position, velocity, effort)))


def read(raw):
    pytest.importorskip("rclpy")
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    return deserialize_message(raw, JointState)


# --- whole states -----------------------------------------------------------------------------------------------------
def test_joints_of_a_chain_are_put_where_the_model_has_them():
    model = ada.load("pa10")
    names = list(reversed(model.joint_names))
    whole = StateOfRobot(model, names)
    state = whole.at(1.5, np.arange(7.0), np.arange(7.0) / 10, np.full(7, math.nan))
    assert state.t == 1.5
    assert state.q.tolist() == list(range(6, -1, -1))
    assert state.v.tolist() == [i / 10 for i in range(6, -1, -1)]
    assert state.tau.tolist() == [0.0] * 7
    assert whole.missing == () and whole.problem == ""


def test_motors_that_the_device_lacks_are_named_and_at_zero():
    """As s3 of the PA10-6CE."""
    model = ada.load("pa10")
    names = [name for name in model.joint_names if name != "s3"]
    whole = StateOfRobot(model, names)
    assert whole.missing == ("s3",)
    assert whole.at(0.0, np.ones(6), np.ones(6), np.ones(6)).q.tolist() == [1, 1, 0, 1, 1, 1, 1]


def test_a_model_of_another_robot_is_refused():
    with pytest.raises(InputError, match=r"has no joint 'knee'.*the device has s1, knee, the model s1, s2"):
        StateOfRobot(ada.load("pa10"), ["s1", "knee"])


@pytest.fixture(scope="module")
def hexa():
    model = ada.load("hexa", base="fixed")
    start = start_of("hexa", model)
    rows = [model.q_index(name).start for name in model.actuated]
    return model, start, rows


def motion(start, steps):
    """Cranks on their way through the workspace."""
    ways = np.array([1.0, 0.5, -0.3, 0.2, 0.8, -0.6])
    t = np.linspace(0.0, 1.0, steps)[:, None]
    return start + 0.15 * np.sin(2 * np.pi * t) * ways, 0.3 * np.pi * np.cos(2 * np.pi * t) * ways


def test_passive_joints_of_a_motion_table_are_those_of_its_closed_loops(hexa):
    model, start, rows = hexa
    whole = StateOfRobot(model, model.actuated, start)
    dynamics = ada.Dynamics(model)
    q = start
    positions, velocities = motion(start[rows], 60)
    for i, (position, velocity) in enumerate(zip(positions, velocities, strict=True)):
        state = whole.at(0.0, position, velocity, np.zeros(6))
        assert not whole.problem
        if i % 4:  # the other way takes long
            continue
        guess = q.copy()
        guess[rows] = position
        q = np.array(ada.assemble(model, guess, list(model.actuated)))  # cranks held exactly, another way of closing
        assert state.q[rows].tolist() == position.tolist(), "as measured, to the last digit"
        # rock-heavy motors give way by gap/1e6, and a gap is at most the way of one step, 0.02 rad
        assert np.abs(model.difference(q, state.q)).max() < 1e-7
        moved = model.integrate(state.q, 1e-4 * state.v)
        assert dynamics.largest_gap(moved) < 1e-7, "speeds keep the loops closed: 1e-4 s, and its square"
        assert np.abs(state.v[[model.v_index(name).start for name in model.actuated]] - velocity).max() < 1e-5


def test_a_jump_of_the_cranks_is_assembled_anew(hexa):
    model, start, rows = hexa
    whole = StateOfRobot(model, model.actuated, start)
    whole.at(0.0, start[rows], np.zeros(6), np.zeros(6))
    far = start[rows] + 0.5
    state = whole.at(0.1, far, np.zeros(6), np.zeros(6))
    assert not whole.problem
    assert ada.Dynamics(model).largest_gap(state.q) < 1e-6
    assert state.q[2] < start[2] - 0.05, "all cranks down: the plate is lower"


def test_cranks_that_no_plate_can_hang_on_are_said_and_the_rest_stays(hexa):
    model, start, rows = hexa
    whole = StateOfRobot(model, model.actuated, start)
    before = whole.at(0.0, start[rows], np.zeros(6), np.zeros(6))
    wrong = start[rows] + np.array([2.5, -1.0, 0.0, 2.5, 0.0, -1.0])
    state = whole.at(0.1, wrong, np.zeros(6), np.zeros(6))
    assert whole.problem
    assert state.q[rows].tolist() == wrong.tolist()
    passive = np.setdiff1d(np.arange(model.nq), rows)
    np.testing.assert_array_equal(state.q[passive], before.q[passive])
    assert whole.at(0.2, start[rows], np.zeros(6), np.zeros(6)).q[passive].tolist() == before.q[passive].tolist()
    assert whole.problem, "looking takes long: once a second is enough"
    again = whole.at(1.2, start[rows], np.zeros(6), np.zeros(6))
    assert not whole.problem and np.abs(model.difference(before.q, again.q)).max() < 1e-6


# --- messages ---------------------------------------------------------------------------------------------------------
def test_a_reading_is_told_joint_by_joint_in_the_order_of_the_model():
    model = ada.load("pa10")
    names = ["w2", "s1", "s2", "s3", "e1", "e2", "w1"]
    told = JointStateBytes(names, StateOfRobot(model, names))
    assert not told.needs_whole
    one = read(told.measured(feedback(np.arange(7.0), np.arange(7.0) + 10, np.arange(7.0) + 20), None, 3_000_000_007))
    assert list(one.name) == list(model.joint_names)
    assert (one.header.stamp.sec, one.header.stamp.nanosec) == (3, 7)
    assert list(one.position) == [1, 2, 3, 4, 5, 6, 0]
    assert list(one.velocity) == [11, 12, 13, 14, 15, 16, 10]
    assert list(one.effort) == [21, 22, 23, 24, 25, 26, 20]


def test_what_a_device_does_not_tell_is_left_out_rather_than_sent_as_not_a_number():
    told = JointStateBytes(["a", "b"], None)
    one = read(told.measured(feedback([0.1, 0.2]), None, 0))
    assert list(one.position) == [0.1, 0.2] and not len(one.velocity) and not len(one.effort)
    one = read(told.measured(feedback([0.1, 0.2], [1.0, math.nan], [3.0, 4.0]), None, 0))
    assert not len(one.velocity) and list(one.effort) == [3.0, 4.0]


def test_joints_that_follow_from_the_others_are_told_too():
    model = ada.load("four_bar")
    motor = model.actuated[0]
    q = np.array(ada.assemble(model, start_of("four_bar", model)))
    whole = StateOfRobot(model, [motor], q)
    told = JointStateBytes([motor], whole)
    assert told.needs_whole and set(told.names) == set(model.joint_names)
    reading = feedback([float(q[model.q_index(motor)][0])], [0.5])
    state = whole.at(0.0, reading.position, reading.velocity, reading.effort)
    one = read(told.measured(reading, state, 0))
    assert not whole.problem and list(one.name) == list(model.joint_names)
    np.testing.assert_allclose(one.position, q, atol=1e-9)
    # the unit rhombus: opposite links turn alike, so that both joints beside the motor turn against it
    assert np.abs(np.abs(one.velocity) - 0.5).max() < 1e-5
    assert not len(one.effort)


@pytest.mark.parametrize("mode", list(Mode))
def test_what_is_sent_is_told_in_its_kind_alone(mode):
    one = read(JointStateBytes(["a", "b"], None).commanded(Demand(mode, np.array([0.3, -0.4])), 5))
    assert list(one.name) == ["a", "b"]
    for other in Mode:
        assert list(getattr(one, other.value)) == ([0.3, -0.4] if other is mode else [])


def test_velocities_that_a_device_does_not_report_are_found_from_its_positions():
    """A controller needs velocities; the boards of a KHR-1 report positions alone."""
    known = Measured(2)
    unknown = [math.nan, math.nan]
    for k in range(100):  # 3 s; differences count over half a second
        t = 5.0 + 0.03 * k
        assert known.take(Feedback(t, np.array([0.3 * t, 1.0]), np.array(unknown), np.array(unknown)), t)
    assert known.speed == pytest.approx([0.3, 0.0], abs=1e-3)
    assert np.isnan(known.velocity).all()
    assert not known.take(Feedback(9.0, np.array([math.nan, 1.0]), np.array(unknown), np.array(unknown)), 9.0)
