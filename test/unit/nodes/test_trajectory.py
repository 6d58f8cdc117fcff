# SPDX-License-Identifier: Apache-2.0
"""Following of trajectories against polynomials in closed form and scipy; each refusal; random and mutated messages."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate

from ada_robot.contract import JointLimit, Reason
from ada_robot.trajectory.path import spline_derivatives
from ada_robot.trajectory.trajectory import MAX_POINTS, OfferedTrajectory, TrajectoryFollower

JOINTS = (
    JointLimit("a", -2.0, 2.0, velocity=3.0, effort=10.0),
    JointLimit("b", -1.0, 1.0, velocity=1.0, effort=5.0),
    JointLimit("free"),
    JointLimit("passive", has_motor=False),
)
REST = {"a": 0.0, "b": 0.0, "free": 0.0}
NOW = 1.7e9  # [s], as today's clocks show


def follower(**rules):
    return TrajectoryFollower(JOINTS, **rules)


def offer(it, names, times, *tables, start=None, now=NOW, present=REST):
    """Offer points; the refusal, if there is one. Args: start: when time 0 is; None or 0: now."""
    start_in = start - now if start else None
    return it.accept(OfferedTrajectory(names, times, *tables, start_in=start_in), now, present)


def following(names, times, *tables, **more):
    it = follower()
    assert offer(it, names, times, *tables, **more) is None, it.last_refusal
    return it


def state(it, t, name="a"):
    point = it.sample(t)
    j = point.names.index(name)
    return np.array([point.position[j], point.velocity[j], point.acceleration[j]])


def test_the_last_point_is_reached_exactly_and_held_at_rest():
    last = 0.1 + 0.2
    it = following(["a"], [0.1, 0.7], [[0.1], [last]], [[0.5], [0.4]], [[0.0], [2.0]])
    for t in (0.7 + 1e-6, 1.0, 1e6):
        np.testing.assert_array_equal(state(it, NOW + t), [last, 0.0, 0.0])
    assert it.is_active(NOW + 0.69)
    assert not it.is_active(NOW + 0.71)


def test_on_a_clock_of_many_digits_neither_position_nor_velocity_skips_at_a_point():
    times = np.arange(1, 200) * 0.01
    it = following(["a"], times, np.sin(times)[:, None], np.cos(times)[:, None], start=NOW - 0.001234567)
    ticks = NOW + 0.02 + np.arange(0.0, 1.9, 1.0 / 4096.0)
    found = np.array([state(it, t) for t in ticks])
    since = ticks - (NOW - 0.001234567)
    # the cubic's own error, of fourth and third order in 0.01 s
    np.testing.assert_allclose(found[:, 0], np.sin(since), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[:, 1], np.cos(since), rtol=0, atol=1e-7)


def test_of_a_trajectory_that_started_already_the_rest_is_followed_from_where_the_joint_is():
    it = following(["a"], [0.0, 1.0, 2.0, 3.0], [[0.0], [9e-1], [0.5], [1.5]], start=8.5, now=10.0)
    assert state(it, 10.0)[0] == 0.0  # not 0.7, where it should have been
    assert state(it, 10.25)[0] == 0.25
    assert state(it, 10.5)[0] == 0.5
    assert state(it, 11.0)[0] == 1.0


@pytest.mark.parametrize("start", [None, NOW + 0.75])
def test_a_new_trajectory_goes_on_at_once_from_the_state_of_the_old_one(start):
    first = ([1.0, 2.0], [[0.5], [1.0]], [[0.6], [0.0]], [[-1.0], [0.0]])
    it, alone, at = following(["a"], *first), following(["a"], *first), NOW + 0.5
    assert offer(it, ["a"], [1.0], [[-0.5]], [[0.0]], [[0.0]], start=start, now=at, present={"a": 9.0}) is None
    # a float of this clock is 2.4e-7 s: times a speed below 3, an acceleration below 10, a jerk below 100
    np.testing.assert_allclose(state(it, at), state(alone, at), rtol=0, atol=3e-5)
    np.testing.assert_array_equal(state(it, (start or at) + 1.0 + 1e-6), [-0.5, 0.0, 0.0])
    assert state(it, (start or at) + 0.9)[0] > -0.5, "the point is reached at its time"


def test_joints_that_a_trajectory_does_not_name_go_on():
    it = following(["a", "b"], [2.0], [[1.0, 0.5]])
    assert offer(it, ["b"], [1.0], [[0.0]], now=NOW + 1.0) is None
    assert state(it, NOW + 1.5, "a")[0] == 0.75
    assert state(it, NOW + 1.5, "b")[0] == 0.125


def test_cancelled_joints_are_followed_no_more():
    it = following(["a", "b"], [2.0], [[1.0, 0.5]])
    it.cancel(["a", "nobody"])
    assert it.sample(NOW + 1.0).names == ("b",)
    it.cancel()
    assert it.sample(NOW + 1.0) is None
    assert not it.is_active(NOW)


@pytest.mark.parametrize(
    ("names", "times", "tables", "reason"),
    [
        ([], [1.0], [[[]]], Reason.EMPTY),
        (["c"], [1.0], [[[0.0]]], Reason.UNKNOWN_JOINT),
        (["a", "a"], [1.0], [[[0.0, 0.0]]], Reason.DUPLICATE_JOINT),
        (["passive"], [1.0], [[[0.0]]], Reason.NO_MOTOR),
        (["a"], [1.0, 1.0], [[[0.0], [0.0]]], Reason.TIMES),
        (["a"], [0.0, math.nan], [[[0.0], [0.0]]], Reason.NOT_FINITE),
        (["a"], [1.0], [[[]], [[1.0]]], Reason.LENGTH),
        (["a"], [1.0, 2.0], [[[0.0], []]], Reason.LENGTH),
        (["a"], [1.0], [[[0.0]], [[0.0, 1.0]]], Reason.LENGTH),
        (["a"], [1.0], [[[0.0]], (), [[0.0]]], Reason.LENGTH),  # accelerations without velocities
        (["a"], [1.0], [[[math.nan]]], Reason.NOT_FINITE),
        (["a"], [1.0], [[[0.0]], [[0.0]], [[-math.inf]]], Reason.NOT_FINITE),
        (["a"], [1.0, 2.0], [[[0.0], [2.1]]], Reason.OVER_LIMIT),
        (["b"], [9.0], [[[0.0]], [[1.1]]], Reason.OVER_LIMIT),
        (["b"], [9.0], [[[0.0]], (), (), [[-6.0]]], Reason.OVER_LIMIT),
        (["b"], [1.0, 1.5], [[[0.0], [0.6]]], Reason.OVER_LIMIT),  # the speed between them
        (["a"], [0.0], [[[1.5]]], Reason.JUMP),
        (["free"], [1e-300], [[[1.0]]], Reason.OVER_LIMIT),  # numbers beyond any machine
    ],
)
def test_a_trajectory_that_breaks_a_rule_is_refused(names, times, tables, reason):
    it = follower()
    refusal = offer(it, names, times, *tables)
    assert refusal.reason is reason
    assert (it.accepted, it.refused, it.last_refusal) == (0, {reason: 1}, refusal.text)
    assert it.sample(NOW) is None


def test_a_start_that_is_no_number_and_too_many_points_are_refused():
    it = follower()
    for start in (math.nan, math.inf):
        assert offer(it, ["a"], [1.0], [[0.0]], start=start).reason is Reason.NOT_FINITE
    many = range(MAX_POINTS + 1)
    assert offer(it, ["a"], many, [[0.0]] * len(many)).reason is Reason.LENGTH


def test_a_joint_whose_position_is_not_known_cannot_start_and_any_jump_may_be_allowed():
    for present in ({}, {"a": math.nan}):
        assert offer(follower(), ["a"], [1.0], [[0.0]], present=present).reason is Reason.JUMP
    assert offer(follower(max_jump=0.0), ["a"], [0.0], [[1.5]]) is None


def test_a_curve_that_swings_over_a_limit_between_its_points_is_refused():
    # p = 0.96 + 0.4 s (1 - s): highest in the middle, 1.06
    refusal = offer(follower(), ["b"], [0.0, 1.0], [[0.96]] * 2, [[0.4], [-0.4]], present={"b": 0.96})
    assert refusal.reason is Reason.OVER_LIMIT
    assert offer(follower(), ["b"], [0.0, 1.0], [[0.89]] * 2, [[0.4], [-0.4]], present={"b": 0.89}) is None


def test_a_joint_behind_its_limit_may_come_back_but_not_go_further():
    outside = {"b": 1.2}
    assert offer(follower(), ["b"], [1.0], [[0.9]], [[0.0]], present=outside) is None
    it = following(["b"], [2.0], [[0.9]], [[0.0]], present=outside)
    assert max(state(it, NOW + t, "b")[0] for t in np.linspace(0.0, 2.0, 50)) == 1.2
    for points in ([[1.1]], [[0.9], [0.95]]):  # the second swings to 1.07 on its way
        times, speeds = [1.0, 2.0][: len(points)], [[0.6], [-0.3]][: len(points)]
        refusal = offer(follower(), ["b"], times, points, speeds, present=outside)
        assert refusal.reason is Reason.OVER_LIMIT


def test_scipy_follows_the_same_curves():
    rng = np.random.default_rng(3)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 2.0, 9))])
    states = rng.uniform(-1.0, 1.0, (10, 3))
    for order in (1, 2, 3):
        it = following(["free"], times, *(states[:, [k]] for k in range(order)), now=0.25, present={"free": 0.0})
        oracle = interpolate.BPoly.from_derivatives(times, states[:, :order])
        for t in np.linspace(0.0, times[-1] - 1e-9, 301):
            wanted = [oracle(t, nu) for nu in range(3)]
            np.testing.assert_allclose(state(it, 0.25 + t, "free"), wanted, rtol=1e-9, atol=1e-9)


def random_trajectory(rng):
    count = int(rng.integers(1, 5))
    times = np.cumsum(rng.uniform(0.5, 3.0, count)) - (0.5 if rng.random() < 0.3 else 0.0)
    tables = [rng.uniform(-0.9, 0.9, (count, 2)), rng.uniform(-0.5, 0.5, (count, 2)), rng.uniform(-1, 1, (count, 2))]
    return times, tables[: int(rng.integers(1, 4))]


def test_accepted_trajectories_stay_within_the_limits_and_their_velocity_is_the_rate_of_their_position():
    rng = np.random.default_rng(11)
    it, now, taken, small = follower(), 100.0, 0, 2.0**-20
    for _ in range(150):
        times, tables = random_trajectory(rng)
        start = rng.choice([0.0, now - 0.3, now + 0.2])
        refusal = offer(it, ["a", "b"], times, *tables, start=start, now=now)
        taken += refusal is None
        step = float(rng.uniform(0.05, 1.0))
        for t in now + np.linspace(small, step, 20) if it.sample(now) is not None else ():
            points = [it.sample(t + d) for d in (-small, 0.0, small)]
            p, v, a = (np.array([point[k] for point in points]) for k in (1, 2, 3))
            assert (np.abs(p) <= [2.0 + 1e-9, 1.0 + 1e-9]).all()
            assert (np.abs(v) <= np.array([3.0, 1.0]) * (1.0 + 1e-9)).all()
            is_smooth = np.abs(v[2] - v[0]) < 1e-3  # not at a corner of straight lines
            slope = (p[2] - p[0]) / (2.0 * small)
            # differences: rounding 2e-16 / small, and the velocity's own change over `small`
            np.testing.assert_allclose(slope[is_smooth], v[1][is_smooth], rtol=0, atol=1e-3)
            assert np.isfinite(a).all()
        now += step
    assert 30 < taken < 140
    assert it.accepted == taken
    assert it.accepted + sum(it.refused.values()) == 150


numbers = st.floats(width=64) | st.floats(-2.0, 2.0) | st.sampled_from([0.0, 1e-300, 1e300, 5e-324])
rows = st.lists(st.lists(numbers, max_size=3), max_size=4)


def same_shape(draw, points, joints):
    return draw(
        st.just([]) | st.lists(st.lists(numbers, min_size=joints, max_size=joints), min_size=points, max_size=points)
    )


@st.composite
def messages(draw):
    if draw(st.booleans()):
        return (
            draw(st.lists(st.sampled_from(["a", "b", "free", "passive", "x"]), max_size=3)),
            draw(st.lists(numbers, max_size=4)),
            *(draw(rows) for _ in range(4)),
        )
    names = draw(st.lists(st.sampled_from(["a", "b", "free"]), min_size=1, max_size=3, unique=True))
    times = sorted(draw(st.lists(st.floats(0.0, 1e300), min_size=1, max_size=4, unique=True)))
    return names, times, *(same_shape(draw, len(times), len(names)) for _ in range(4))


@given(messages(), messages(), st.none() | numbers, st.floats(-1e10, 1e10), st.floats(-1e10, 1e10))
def test_whatever_messages_hold_the_follower_judges_and_never_says_what_is_not_finite(one, two, start, now, later):
    it = follower()
    for message in (one, two):
        offer(it, *message, start=start, now=now)
    assert it.accepted + sum(it.refused.values()) == 2
    for t in (now, now + 0.5, later, now + later, now + later + 1e-3, now + later + 2.0):
        point = it.sample(t)
        if point is not None:
            assert np.isfinite(np.array(point[1:])).all()


def test_scipy_has_the_same_spline_through_points():
    times = np.array([0.0, 0.4, 0.5, 1.3, 2.0])
    points = np.array([[0.0, 1.0], [0.5, -1.0], [0.2, 0.3], [-0.7, 0.1], [0.4, 2.0]])
    start = np.array([[0.4, -0.2], [1.0, 0.5]])
    ends = [(1, start[0]), (2, start[1])], [(1, [0.0, 0.0]), (2, [0.0, 0.0])]
    other = interpolate.make_interp_spline(times, points, k=5, bc_type=ends)
    for order, values in enumerate(spline_derivatives(times, points, *start), 1):
        np.testing.assert_allclose(values, other.derivative(order)(times), rtol=1e-9, atol=1e-9)
