# SPDX-License-Identifier: Apache-2.0
"""Demands: speeds and accelerations within bounds, rest before limits and at targets, without overshoot."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ada_robot.contract import JointLimit
from ada_robot.safety.demand_shaper import Braking, DemandShaper
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings

T = 0.002
A = 10.0
ROUNDING = 1e-12  # of sums of some thousand steps of size 1e-3


def way_to_rest(speed, deceleration, period):
    """How far a joint goes that loses a T of speed after each cycle: added up cycle by cycle."""
    way = 0.0
    while speed > 0.0:
        way += speed * period
        speed -= deceleration * period
    return way


def shaper(lower=-1.0, upper=1.0, speed=1.0, **safety):
    limits = [JointLimit("a", lower, upper, speed, 1.0)]
    return DemandShaper(JointRules(limits, SafetySettings(**safety)), T)


def moves(demand_shaper, count, call):
    rows = []
    for _ in range(count):
        call()
        rows.append((demand_shaper.position[0], demand_shaper.velocity[0]))
    return np.array(rows)


@given(
    st.floats(0.0, 10.0),
    st.floats(0.1, 1000.0),
    st.sampled_from([0.001, 0.002, 0.03]),
    st.sampled_from([0.0, 0.0085, 0.398]),
)
def test_the_stopping_speed_is_the_inverse_of_the_way_to_rest(speed, deceleration, period, late):
    way = late * speed + way_to_rest(speed, deceleration, period)
    found = Braking(np.array([deceleration]), period).speed(np.array([way]), late)[0]
    # the square root of the way's rounding is what is left near rest
    assert found == pytest.approx(speed, rel=1e-7, abs=1e-7)


@given(st.floats(0.0, 3.0), st.floats(0.1, 1000.0), st.floats(0.0, 0.5))
def test_the_stopping_speed_never_needs_more_than_the_distance(distance, deceleration, late):
    speed = Braking(np.array([deceleration]), T).speed(np.array([distance]), late)[0]
    assert late * speed + way_to_rest(speed, deceleration, T) <= distance * (1.0 + 1e-9) + 1e-12


def test_without_a_bound_on_deceleration_all_of_the_distance_may_be_used_in_one_cycle():
    at_once = Braking(np.array([math.inf, 10.0]), T)
    assert at_once.speed(np.array([0.5, math.inf]))[0] == pytest.approx(0.5 / T)
    np.testing.assert_array_equal(at_once.speed(np.array([-0.5, -1.0])), [0.0, 0.0])


def test_a_velocity_is_approached_with_the_acceleration_that_is_set():
    one = shaper(max_acceleration=5.0)
    at = np.zeros(1)
    speeds = moves(one, 60, lambda: one.approach(np.array([0.5]), at, at))[:, 1]
    np.testing.assert_allclose(np.diff(speeds[:49]), 5.0 * T, rtol=1e-9)
    assert speeds[-1] == 0.5


@settings(max_examples=10)
@given(st.floats(-1.0, 0.999), st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=3), st.floats(1.0, 200.0))
def test_no_velocity_command_runs_a_joint_over_its_limits(start, commands, deceleration):
    one = shaper(max_deceleration=deceleration)
    position, none = np.array([start]), np.zeros(1)
    before = 0.0
    for wanted in commands:
        for _ in range(250):
            velocity = one.approach(np.array([wanted]), position, none)
            assert abs(velocity[0] - before) <= max(A, deceleration) * T * (1.0 + 1e-9)
            before = velocity[0]
            position = position + velocity * T  # the joint does what it is told
            assert -1.0 - 1e-9 <= position[0] <= 1.0 + 1e-9
            assert abs(velocity[0]) <= 1.0


@pytest.mark.parametrize("lag", [0.0, 0.01, 0.02, 0.05])
def test_a_joint_whose_drive_lags_stops_before_its_limit_too(lag):
    one = shaper()
    position, speed = np.zeros(1), np.zeros(1)
    for _ in range(3000):
        wanted = one.approach(np.ones(1), position, speed * (lag + T))
        speed = speed + (1.0 - math.exp(-T / lag)) * (wanted - speed) if lag else wanted
        position = position + speed * T
        assert position[0] <= 1.0 + 1e-6
    assert position[0] == pytest.approx(1.0, abs=2e-3)  # and it gets there


def test_braking_loses_the_same_speed_in_each_cycle_and_ends_at_zero():
    one = shaper(max_deceleration=4.0)
    one.move_at(np.zeros(1), np.array([0.5]))
    speeds = moves(one, 70, lambda: one.brake(np.zeros(1)))[:, 1]
    np.testing.assert_allclose(speeds[:62], 0.5 - 4.0 * T * np.arange(1, 63), atol=ROUNDING)
    assert speeds[-1] == 0.0
    assert one.is_at_rest


@settings(max_examples=10)
@given(st.floats(-0.99, 0.99), st.floats(-0.99, 0.99))
def test_a_target_is_reached_exactly_without_overshoot(start, target):
    one = shaper()
    one.rest_at(np.array([start]))
    one.aim(np.array([target]), T)
    rows = moves(one, 1050, one.follow)
    assert rows[-1, 0] == target
    assert rows[-1, 1] == pytest.approx(0.0, abs=1e-9)
    low, high = min(start, target), max(start, target)
    assert rows[:, 0].min() >= low - 1e-9
    assert rows[:, 0].max() <= high + 1e-9
    assert np.abs(rows[:, 1]).max() <= 1.0 + 1e-12
    assert np.abs(np.diff(rows[:, 1], prepend=0.0)).max() <= A * T * (1.0 + 1e-6)


def test_the_way_to_a_far_target_takes_the_time_of_a_trapezoid():
    one = shaper()
    one.rest_at(np.array([-0.8]))
    one.aim(np.array([0.8]), T)
    rows = moves(one, 1500, one.follow)
    first = int(np.flatnonzero(np.abs(rows[:, 0] - 0.8) < 1e-6)[0])
    assert (first + 1) * T == pytest.approx(1.6 / 1.0 + 1.0 / A, abs=3 * T)


def test_a_smooth_motion_in_step_with_the_cycle_passes_as_it_is():
    one = shaper()
    times = np.arange(1, 3000) * T
    wanted = 0.4 * (1.0 - np.cos(2.0 * times))  # fastest 0.8, acceleration 1.6
    for target in wanted:
        one.aim(np.array([target]), T)
        assert one.follow()[0] == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("every", [2, 5, 10, 25])
def test_a_slower_host_gives_a_motion_that_is_smooth_nevertheless(every):
    one = shaper()
    wanted = lambda t: 0.4 * (1.0 - math.cos(2.0 * t))  # noqa: E731
    rows = []
    for i in range(1600):
        if i % every == 0:
            one.aim(np.array([wanted(i * T)]), every * T)
        one.follow()
        rows.append((one.position[0], one.velocity[0]))
    position, speed = np.array(rows).T
    late = np.array([wanted(max(0.0, (i + 1 - every) * T)) for i in range(1600)])
    # a chord is off its arc by a h^2 / 8; while the speed changes from one to the next it is behind by dv^2 / 2a
    chord = 1.6 * (every * T) ** 2 / 8 + (1.6 * every * T) ** 2 / (2 * A) + 1.6 * every * T * T
    assert np.abs(position - late)[every:].max() <= 1.5 * chord
    assert np.abs(speed).max() <= 0.8 * 1.05
    assert np.abs(np.diff(speed)).max() <= A * T * (1.0 + 1e-6)


def test_slowing_down_takes_the_way_of_its_deceleration():
    one = shaper()
    for i in range(1, 200):
        one.aim(np.array([0.8 * i * T]), T)
        one.follow()
    begin = one.position[0]
    rows = moves(one, 300, one.slow_down)
    # the first cycle of the way to rest has lost a T already
    assert rows[-1, 0] - begin == pytest.approx(way_to_rest(0.8 - A * T, A, T), abs=1e-9)
    assert rows[-1, 1] == 0.0
    assert moves(one, 300, one.follow)[-1, 0] == 0.8 * 199 * T, "the last target is still there to be followed"
