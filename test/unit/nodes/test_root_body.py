# SPDX-License-Identifier: Apache-2.0
"""The root link as one body: where it is said to be, where it is put, and what is refused."""

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.source import PoseError, RootBody

# A quarter turn about z: x goes to y.
TURNED = [1.0, -2.0, 0.5, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
TWIST = [0.3, 0.2, -0.1, 0.0, 0.0, 2.0]


def at_rest(name):
    model = ada.load(name)
    return model, model.neutral(), np.zeros(model.nv)


def test_a_fixed_root_is_at_the_origin_and_stays_there():
    model, q, v = at_rest("pa10")
    root = RootBody(model, StateBounds(model, 1e-3))
    assert not root.is_free
    state = root.state(q, v)
    assert state.pose.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert not state.twist.any()
    with refused(InputError, link=model.root):
        root.moved(q, v, TURNED, None)


@pytest.mark.parametrize(
    ("name", "at", "rate"),
    [
        # x' = Rᵀ x of the quarter turn: (x, y) -> (y, -x)
        ("floating_rod", TURNED, [0.2, -0.3, -0.1, 0.0, 0.0, 2.0]),
        ("floating_rod_euler", [1.0, -2.0, 0.5, np.pi / 2, 0.0, 0.0], [0.3, 0.2, -0.1, 2.0, 0.0, 0.0]),
    ],
)
def test_a_base_is_put_where_it_was_told_with_its_velocity_in_its_own_axes_or_those_of_the_world(name, at, rate):
    model, q, v = at_rest(name)
    moved, moving = RootBody(model, StateBounds(model, 1e-3)).moved(q, v, TURNED, TWIST)
    assert moved[model.q_index("root_joint")] == pytest.approx(at, abs=1e-12)
    assert moving[model.v_index("root_joint")] == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize("name", ["floating_rod", "floating_rod_euler", "space_robot_a"])
def test_what_was_set_is_what_is_said_afterwards_and_the_joints_keep_their_state(name):
    model, q, _ = at_rest(name)
    v = np.linspace(0.1, 0.5, model.nv)
    root = RootBody(model, StateBounds(model, 1e-3))
    pose = [0.1, 0.2, 0.3, 0.5, -0.1, 0.2, np.sqrt(1.0 - 0.3)]
    moved, moving = root.moved(q, v, pose, TWIST)
    state = root.state(moved, moving)
    assert state.pose == pytest.approx(pose, abs=1e-12)
    assert state.twist == pytest.approx(TWIST, abs=1e-12)
    others = [joint for joint in model.joint_names if joint != "root_joint"]
    for joint in others:
        assert np.array_equal(moved[model.q_index(joint)], q[model.q_index(joint)])
        assert np.array_equal(moving[model.v_index(joint)], v[model.v_index(joint)])
    moved, moving = root.moved(moved, moving, TURNED, None)
    assert root.state(moved, moving).twist == pytest.approx(TWIST, abs=1e-12), "a pose alone keeps the twist"
    moved, moving = root.moved(moved, moving, None, np.zeros(6))
    assert root.state(moved, moving).pose == pytest.approx(TURNED, abs=1e-12), "and a twist alone the pose"


def test_a_quaternion_that_was_rounded_is_taken_and_anything_else_refused():
    model, q, v = at_rest("floating_rod")
    root = RootBody(model, StateBounds(model, 1e-3))
    rounded, _ = root.moved(q, v, [0, 0, 0, 0.71, 0, 0, 0.71], None)
    assert np.linalg.norm(rounded[3:7]) == pytest.approx(1.0, abs=1e-15)
    for bad, field in (
        ([0, 0, 0, 0, 0, 0, 0], "quaternion"),
        ([0, 0, 0, 2, 0, 0, 0], "quaternion"),
        ([0, 0, np.nan, 0, 0, 0, 1], "pose"),
        ([0, 0, 0, 0, np.inf, 0, 1], "pose"),
        ([0, 2 * NO_LIMIT, 0, 0, 0, 0, 1], "pose"),
    ):
        with refused(PoseError, field=field):
            root.moved(q, v, bad, None)
    with refused(InputError, field="twist"):
        root.moved(q, v, None, [np.nan, 0, 0, 0, 0, 0])
    model, q, v = at_rest("floating_rod_euler")
    with pytest.raises(PoseError):  # Euler angles are singular there
        RootBody(model, StateBounds(model, 1e-3)).moved(q, v, [0, 0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5)], None)
