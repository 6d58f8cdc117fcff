# SPDX-License-Identifier: Apache-2.0
"""Joints in q and v: places, what holds for each number, limits; joint types and what they say of themselves."""

import math

import numpy as np
import pytest
from random_trees import constants
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.model import Builder, Limits, Mimic, planar_chain
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, JointType
from ada_dynamics.model.joints.base import NORMAL, SECOND


@pytest.fixture(scope="module")
def model() -> ada.Model:
    """A chain of one joint of each size, with numbers of its own each, a fixed link and a follower."""
    builder = Builder("zoo")
    for number in range(8):
        builder.link(f"l{number}", 0.5 + number, (0.1, 0.2, 0.3), (1.0, 1.0, 1.0))
    builder.joint("turn", "revolute", "l0", "l1", limits=Limits(-1.0, 2.0, 3.0, 4.0), damping=0.1, friction=0.2)
    builder.joint("ball", "spherical", "l1", "l2", damping=0.3, armature=0.4, limits=Limits(upper=1.5))
    builder.joint("weld", "fixed", "l2", "l3")
    builder.joint("slide", "prismatic", "l3", "l4", limits=Limits(-0.5, 0.25, 5.0, 6.0), stiffness=7.0, rest=0.1)
    builder.joint("plane", "planar", "l4", "l5", friction=0.5)
    builder.joint("echo", "revolute", "l5", "l6", mimic=Mimic("turn", 2.0, 0.1))
    builder.joint("wheel", "continuous", "l6", "l7", armature=0.6)
    return builder.build()


def test_coordinates_stand_one_behind_the_other_without_those_that_follow_or_are_fixed(model):
    assert (model.nq, model.nv) == (1 + 4 + 1 + 3 + 1, 1 + 3 + 1 + 3 + 1)
    assert model.joint_names == ["turn", "ball", "slide", "plane", "wheel"]
    assert [model.q_index(n) for n in model.joint_names] == [
        slice(*x) for x in ((0, 1), (1, 5), (5, 6), (6, 9), (9, 10))
    ]
    assert [model.v_index(n) for n in model.joint_names] == [
        slice(*x) for x in ((0, 1), (1, 4), (4, 5), (5, 8), (8, 9))
    ]
    assert model.actuated == tuple(model.joint_names)
    for name in ("echo", "weld", "tern"):
        with pytest.raises(InputError):
            model.q_index(name)
    for call, facts in (
        (lambda: model.as_velocities([1.0, 2.0], "tau"), {"field": "tau", "value": (2,), "allowed": (9,)}),
        (lambda: model.as_positions("here"), {"field": "q", "value": "here", "allowed": (10,)}),
    ):
        with refused(InputError, **facts):
            call()


def test_each_coordinate_has_the_numbers_of_its_joint(model):
    inf = math.inf
    assert model.lower.tolist() == [-1.0, *4 * [-inf], -0.5, *3 * [-inf], -inf]
    assert model.upper.tolist() == [2.0, *4 * [inf], 0.25, *3 * [inf], inf]
    assert model.velocity_limit.tolist() == [3.0, *3 * [inf], 5.0, *4 * [inf]]
    assert model.effort_limit.tolist() == [4.0, *3 * [inf], 6.0, *4 * [inf]]
    assert model.armature.tolist() == [0.0, 0.4, 0.4, 0.4, 0.0, 0.0, 0.0, 0.0, 0.6]
    assert model.damping.tolist() == [0.1, 0.3, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert model.friction.tolist() == [0.2, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0]
    assert model.stiffness.tolist() == [0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0]
    assert model.total_mass == sum(0.5 + i for i in range(8))
    assert model.has_mimics and model.has_manifold_coordinates
    plain = planar_chain(2)
    assert not plain.has_mimics and not plain.has_manifold_coordinates


def test_the_zero_position_is_zero_but_for_the_real_part_of_quaternions(model):
    assert model.neutral().tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert not model.position_problems(model.neutral())
    assert model.position_problems(np.zeros(model.nq)) == [
        "joint 'ball': its quaternion (x, y, z, w) = [0.0, 0.0, 0.0, 0.0] has length 0, allowed 1 +- 1e-06"
    ]
    for excess, is_fine in ((0.9e-6, True), (-0.9e-6, True), (1.1e-6, False), (-1.1e-6, False)):
        assert (not model.position_problems((1.0 + excess) * model.neutral())) is is_fine


def test_random_positions_are_within_limits_and_all_of_them_are_usable(model):
    rng = np.random.default_rng(1)
    states = [model.random_state(rng) for _ in range(200)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    assert q.shape == (200, model.nq) and v.shape == (200, model.nv)
    assert (q >= model.lower).all() and (q <= model.upper).all()
    assert q[:, 0].min() < -0.9 and q[:, 0].max() > 1.9, "and they fill the range"
    assert q[:, 9].min() < -2.9 and q[:, 9].max() > 2.9, "half a turn to either side where there are none"
    assert np.linalg.norm(q[:, 1:5], axis=1) == pytest.approx(1.0, abs=1e-15)
    assert abs(v.mean()) < 0.1 and abs(v.std() - 1.0) < 0.1
    assert not any(model.position_problems(x) for x in q)


def test_positions_that_add_up_move_by_their_velocities_times_the_time(model):
    q, v = model.neutral(), np.arange(1.0, 10.0)
    moved = model.integrate(q, v, 0.01)
    assert moved[[0, 5, 9]] == pytest.approx([0.01, 0.05, 0.09], abs=1e-16)
    assert moved[8] == pytest.approx(0.08)
    assert model.difference(q, moved) == pytest.approx(0.01 * v, abs=1e-15)
    assert model.integrate(q, v)[[0, 5, 9]].tolist() == [1.0, 5.0, 9.0]


def test_a_second_axis_is_at_right_angles_to_rounding_where_it_was_nearly():
    builder = Builder("cross").link("base").link("body", 1.0, inertia=(1.0, 1.0, 1.0))
    builder.joint("joint", "universal", "base", "body", axis=(0.0, 0.6, 0.8), axis2=(0.0, -0.8, 0.6 + 1e-10))
    one = builder.build().joints["joint"]
    assert abs(one.axis @ one.axis2) < 2e-16
    assert one.axis2 == pytest.approx([0.0, -0.8, 0.6], abs=2e-10)
    assert np.linalg.norm(one.axis2) == pytest.approx(1.0, abs=2e-16)


@pytest.mark.parametrize("count", [0, 1, 9])
def test_many_configurations_move_and_differ_as_each_of_them_does(count):
    builder, parent = Builder("all_kinds").link("base", 1.0, (0.0, 0.0, 0.0), np.eye(3)), "base"
    for kind in ("revolute", "spherical", "prismatic", "planar", "spherical_euler", "cylindrical", "universal"):
        axes = {} if kind.startswith("spherical") else {"axis": (1.0, 0.0, 0.0)}
        builder.link(kind, 1.0, (0.0, 0.0, 0.1), np.eye(3)).joint(f"{kind}_joint", kind, parent, kind, **axes)
        parent = kind
    model, rng = builder.build(base="floating"), np.random.default_rng(count)
    q = np.array([model.random_state(rng)[0] for _ in range(count)]).reshape(count, model.nq)
    v = rng.normal(size=(count, model.nv))
    moved = model.integrate(q, v, 0.1)
    assert np.array_equal(moved, np.reshape([model.integrate(a, b, 0.1) for a, b in zip(q, v, strict=True)], q.shape))
    back = model.difference(q, moved)
    assert np.array_equal(back, np.reshape([model.difference(a, b) for a, b in zip(q, moved, strict=True)], v.shape))
    assert np.abs(back - 0.1 * v).max(initial=0.0) < 1e-12
    with refused(InputError, field="v", value=(count + 1, model.nv), allowed=(count, model.nv)):
        model.integrate(q, np.zeros((count + 1, model.nv)))


@pytest.mark.parametrize(("x", "y"), [(1e-6, 0.0), (0.0, 1e-6), (3e-6, 4e-6)])
def test_a_mass_near_the_axis_has_the_inertia_of_its_distance_to_twelve_digits(x, y):
    builder = Builder("off_axis").link("base").link("arm", 1.0, (x, y, 0.5))
    model = builder.joint("turn", "continuous", "base", "arm", axis=(0, 0, 1)).build()
    found = ada.Dynamics(model).mass_matrix(np.zeros(1))[0, 0]
    assert np.isclose(found, x * x + y * y, rtol=1e-12, atol=0.0)


E = np.eye(3)
UNLIMITED = np.full(7, np.inf)


def made(kind: str, k: int) -> JointType:
    """On coordinate axis k, where it has an axis; its second axis across."""
    cls = JOINT_TYPES[kind]
    return cls.aligned(E[k], E[(k + 1) % 3], None, **constants(kind))[0]


JOINTS = [pytest.param(made(kind, k), id=f"{kind}-{'xyz'[k]}") for kind in JOINT_TYPES for k in range(3)]


def positions(joint, count=5):
    rng = np.random.default_rng(3)
    return [joint.random(rng, -UNLIMITED[: joint.nq], UNLIMITED[: joint.nq]) for _ in range(count)]


@pytest.mark.parametrize("joint", JOINTS)
def test_the_commutator_is_what_two_small_motions_do_in_one_order_and_not_in_the_other(joint):
    rng, h = np.random.default_rng(5), 1e-3
    for q in positions(joint, 3):
        v, w, p = rng.normal(size=(3, joint.nv))
        found = np.zeros(joint.nv)
        for sign in (1.0, -1.0):  # terms of third order cancel
            there = q
            for step in (v, w, -v, -w):
                there = joint.integrate(there, sign * h * step)
            found += 0.5 * joint.difference(q, there) / h**2
        assert np.dot(joint.commutator(v.tolist(), p.tolist()), w) == pytest.approx(-p @ found, abs=2e-5)


def wrench(row):
    """[moment, force] of a row, at the zero position of a universal joint: axes z and y, normal x."""
    axis = {NORMAL: E[0], SECOND: E[1]}.get(row.axis)
    axis = E[row.axis] if axis is None else axis
    return [*(-row.pitch * axis), *axis] if row.is_force else [*axis, *(row.pitch * axis)]


@pytest.mark.parametrize("joint", [one for one in JOINTS if one.values[0].kind in LOOP_KINDS])
def test_a_loop_joint_carries_all_that_it_does_not_leave_free(joint):
    columns = joint.subspace(joint.neutral().tolist())
    S = np.array([[*m.angular, *m.linear] for m in columns], dtype=float).reshape(-1, 6)
    rows, free = joint.rows(), joint.free_rows()
    carried = np.array([wrench(row) for row in rows]).reshape(-1, 6)
    assert len(rows) == 6 - joint.nv == np.linalg.matrix_rank(carried)
    assert np.abs(carried @ S.T).max(initial=0.0) < 1e-15
    assert len(free) == joint.nv
    # The turn of a screw is given as a motion, all others are wrenches that work on one velocity each.
    work = np.array([wrench(row) for row in free]).reshape(-1, 6) @ S.T
    assert np.linalg.matrix_rank(work) == joint.nv
    for found in (rows, free):
        assert [row.is_force for row in found] == sorted((row.is_force for row in found), reverse=True)
    assert len({*rows, *free}) == 6
    assert len({str(row) for row in (*rows, *free)}) == 6, "each has words of its own"


@pytest.mark.parametrize("joint", JOINTS)
def test_inertia_that_a_joint_does_not_feel_is_the_same_to_the_parent_in_every_position(joint):
    for inertia in joint.movable_inertias():
        seen = [
            np.array(joint.pose(q.tolist()).to_parent(inertia).matrix(), dtype=float)
            for q in [joint.neutral(), *positions(joint)]
        ]
        assert np.ptp(np.array(seen), axis=0).max() < 1e-13 * max(1.0, np.abs(seen[0]).max())
        assert np.abs(seen[0]).max() > 0.5
