# SPDX-License-Identifier: Apache-2.0
"""Complete states from joint states with some joints: values, refusals and recovery, without a node."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError, ModelError, SingularConfigurationError
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.catalogue import start_of
from ada_robot.node.loop_states import LoopStates, LoopStateSettings
from ada_robot.ros.status import Level

NONE = np.zeros(0)


def states_of(name, **settings):
    model = ada.load(name)
    return LoopStates(model, start_of(name, model), LoopStateSettings(robot=name, **settings))


def places(model, names):
    return [model.q_index(name).start for name in names]


@pytest.mark.parametrize("name", ["five_bar", "parallel_ankle", "stewart"])
def test_states_along_a_motion_are_those_of_loop_closure_and_differences(name):
    states = states_of(name)
    model, motors, h = states.model, list(states.model.actuated), 1e-6
    q = np.array(ada.close_loops(model, start_of(name, model)))
    at = places(model, motors)
    middle, ways = q[at], 0.05 * (1.0 + np.arange(len(at)))

    def given(t):
        return middle + ways * np.sin(t), ways * np.cos(t)

    for t in np.linspace(0.0, 1.5, 6):
        before, state, after = (states.complete(t, motors, *given(t + d), ways) for d in (-h, 0.0, h))
        guess = q.copy()
        guess[at] = given(t)[0]
        q = np.array(ada.close_loops(model, guess, motors))
        np.testing.assert_allclose(model.difference(q, state.q), 0.0, atol=1e-8)
        assert np.array_equal(state.q[at], given(t)[0]), "as measured, to the last digit"
        np.testing.assert_allclose(state.v, model.difference(before.q, after.q) / (2 * h), atol=1e-6)
        expected = np.zeros(model.nv)
        expected[[model.v_index(motor).start for motor in motors]] = ways
        assert np.array_equal(state.tau, expected), "passive joints have no effort"
    assert states.counts["published"] == 18 and states.status(1.6).level == Level.OK


def test_joints_come_in_any_order_with_others_and_partly_without_velocities_and_efforts():
    states = states_of("parallel_ankle")
    model, q = states.model, states.complete(0.0, ["left_crank", "right_crank"], [0.1, -0.2], NONE, NONE).q
    assert states.complete(0.1, ["gripper"], [0.1], NONE, NONE) is None
    names = ["ankle_pitch", "gripper", "right_crank", "left_crank"]
    pitch = q[model.q_index("ankle_pitch")][0]
    state = states.complete(0.1, names, [pitch, 7.0, -0.2, 0.1], [0.0, 0.0, 0.3, 0.3], [np.nan, 0.0, 2.0, 1.0])
    np.testing.assert_allclose(state.q, q, atol=1e-12)
    assert np.isfinite(state.v).all() and np.isfinite(state.tau).all() and state.tau.sum() == 3.0
    assert states.status(0.2).values["largest disagreement"] < 1e-9
    state = states.complete(0.2, names, [pitch + 0.1, 7.0, -0.2, 0.1], NONE, NONE)
    assert np.isnan(state.v).all() and np.isnan(state.tau).all()
    status = states.status(0.2)
    assert status.level == Level.WARN and "ankle_pitch differs by 0.1" in status.message
    joint = states.complete(
        0.3, ["ankle_roll", "ankle_pitch"], q[places(model, ["ankle_roll", "ankle_pitch"])], NONE, [1, 1]
    )
    np.testing.assert_allclose(joint.q, q, atol=1e-9)
    assert np.isnan(joint.tau).all(), "the efforts of the motors are not known"


@pytest.mark.parametrize(
    ("names", "position", "velocity", "field"),
    [
        (["left_crank"], [0.1], [], "coordinates"),
        (["left_crank", "left_crank"], [0.1, 0.1], [], "name"),
        (["left_crank", "right_crank"], [0.1], [], "position"),
        (["left_crank", "right_crank"], [0.1, np.nan], [], "position"),
        (["left_crank", "right_crank"], [0.1, 0.2], [0.1], "velocity"),
    ],
)
def test_invalid_joint_states_are_refused_with_their_field(names, position, velocity, field):
    states = states_of("five_bar")
    for count in (1, 2):
        with pytest.raises(InputError) as refused:
            states.complete(0.0, names, position, velocity, NONE)
        assert refused.value.field == field and states.counts["invalid"] == count
    assert states.status(0.0).level == Level.ERROR
    states.complete(0.1, ["left_crank", "right_crank"], [0.1, 0.2], NONE, NONE)
    assert [states.status(time).level for time in (0.2, 5.0)] == [Level.OK, Level.STALE]


def test_where_the_loops_cannot_be_closed_the_state_is_refused_until_they_can():
    model, q = mechanisms.five_bar(width=0.6, tip=(0.3, 0.6))
    states, motors = LoopStates(model, q, LoopStateSettings()), ["left_crank", "right_crank"]
    before = states.complete(0.0, motors, q[[0, 2]], NONE, NONE)
    for time in (0.1, 0.11, 0.2):
        with pytest.raises(ModelError):
            states.complete(time, motors, [-1.6, 1.6], NONE, NONE)
    assert states.counts["not closed"] == 3 and states.status(0.2).level == Level.ERROR
    after = states.complete(0.3, motors, q[[0, 2]], NONE, NONE)
    np.testing.assert_allclose(after.q, before.q, atol=1e-9)
    assert states.problem == ""


def test_near_a_singular_configuration_states_are_refused_and_the_assembly_mode_is_kept():
    """Driven by the rocker, a four-bar linkage is singular where crank and coupler are in line."""
    model, q = mechanisms.four_bar((0.4, 1.0, 0.8, 1.0))
    states, rocker = LoopStates(model, q, LoopStateSettings(largest_ratio=20.0)), ["joint_3"]
    sizes, refused = [], []
    angles = np.linspace(0.0, 1.0, 4001)
    for step, angle in enumerate(np.concatenate([angles, angles[::-1]])):
        try:
            state = states.complete(1e-3 * step, rocker, q[[2]] + angle, [1.0], NONE)
            sizes.append(np.abs(state.v).max())
        except (SingularConfigurationError, ModelError) as problem:
            refused.append(problem)
    assert 15.0 < max(sizes) <= 20.0 and states.status(8.0).level == Level.WARN, "some were refused"
    assert isinstance(refused[0], SingularConfigurationError) and refused[0].allowed == 20.0
    assert {type(one) for one in refused} == {SingularConfigurationError, ModelError}
    np.testing.assert_allclose(state.q, q, atol=1e-9)


def test_an_open_chain_needs_all_of_its_joints():
    states = states_of("planar_3r")
    names = list(reversed(states.model.joint_names))
    state = states.complete(0.0, names, [3.0, 2.0, 1.0], [0.3, 0.2, 0.1], NONE)
    assert state.q.tolist() == [1.0, 2.0, 3.0] and state.v.tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(InputError):
        states.complete(0.1, names[1:], [1.0, 2.0], NONE, NONE)
    with pytest.raises(InputError):
        LoopStates(states.model, np.zeros(2), LoopStateSettings())
