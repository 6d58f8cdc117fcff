# SPDX-License-Identifier: Apache-2.0
"""When a measured state is a reason to stop: each bound from both sides, by numbers made by hand."""

import math

import numpy as np
import pytest

from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.driver import Feedback
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import StateMonitor

T = 0.002
LAG = 0.02  # [s], the default of drive_lag
DECELERATION = 10.0  # [rad/s^2]: from 1 rad/s to rest within 0.1 s
JOINTS = [JointLimit("a", -2.0, 1.0, 1.0, 5.0), JointLimit("b", -2.0, 1.0, 1.0, 5.0)]
EPS = 1e-6


def watch(**settings):
    return StateMonitor(JointRules(JOINTS, SafetySettings(**settings)), SafetySettings(**settings), T)


def state(position=(0.0, 0.0), velocity=(0.0, 0.0)):
    return Feedback(0.0, np.array(position), np.array(velocity), np.full(2, math.nan))


def trouble(mode=Mode.EFFORT, demanded=(0.0, 0.0), **told):
    return watch().trouble(mode, np.array(demanded), state(**told))


@pytest.mark.parametrize(
    ("within", "beyond", "words"),
    [
        # position_margin 0.02
        ({"position": (0.0, 1.0 + 0.02)}, {"position": (0.0, 1.02 + EPS)}, "'b' is at 1.02"),
        ({"position": (-2.0 - 0.02, 0.0)}, {"position": (-2.02 - EPS, 0.0)}, "'a' is at -2.02"),
        # a quarter more than the limit, and standstill 0.05
        ({"velocity": (0.0, 1.25 + 0.05)}, {"velocity": (0.0, 1.3 + EPS)}, "'b' moves at 1.3; its limit is 1"),
        ({"velocity": (-1.25 - 0.05, 0.0)}, {"velocity": (-1.3 - EPS, 0.0)}, "'a' moves at -1.3; its limit is 1"),
        # max_following_error: what the velocity limit is in 0.2 s
        (
            {"mode": Mode.POSITION, "demanded": (0.0, 0.2)},
            {"mode": Mode.POSITION, "demanded": (0.0, 0.2 + EPS)},
            "'b' does not follow: measured 0, expected 0.2",
        ),
        (
            {"mode": Mode.POSITION, "demanded": (-0.2, 0.0)},
            {"mode": Mode.POSITION, "demanded": (-0.2 - EPS, 0.0)},
            "'a' does not follow",
        ),
    ],
)
def test_a_state_is_no_trouble_up_to_each_bound_and_one_beyond_it(within, beyond, words):
    assert trouble(**within) == ""
    assert words in trouble(**beyond)


def test_joints_that_a_device_says_nothing_of_are_not_judged():
    unknown = (math.nan, math.nan)
    for mode in Mode:
        assert trouble(mode, position=unknown, velocity=unknown) == ""
    assert "'b' is at 3" in trouble(position=(math.nan, 3.0))


def test_a_joint_counts_as_standing_still_up_to_standstill():
    assert watch().moving(np.array([0.05, -0.05])) == ""
    assert "'a' moves at 0.051" in watch().moving(np.array([0.051, 0.051]))
    assert "'b' moves at -0.051" in watch().moving(np.array([0.05, -0.051]))
    assert watch(standstill=0.1).moving(np.array([0.1, 0.1])) == ""


def held_for(speed, **settings):
    """How long a joint that is held by something is told to move, before that is trouble [s]."""
    held, now = watch(**settings), 0.0
    for _ in range(2000):
        held.expect(now, Demand(Mode.VELOCITY, np.array([0.0, speed])))
        if held.trouble(Mode.VELOCITY, np.array([0.0, speed]), state()):
            return now
        now += T
    return math.inf


@pytest.mark.parametrize("speed", [0.1, -0.4, 1.0])
def test_a_joint_that_is_held_is_behind_by_three_quarters_of_its_way_less_what_creeping_forgives(speed):
    assert held_for(speed) == pytest.approx(0.2 / (0.75 * abs(speed) - 0.005), abs=2 * T)


def test_a_joint_that_is_held_and_should_hardly_move_is_never_behind():
    assert held_for(0.006) == math.inf  # three quarters of it are less than what is forgiven


def test_a_joint_that_goes_at_three_quarters_of_its_speed_follows_and_one_at_half_does_not():
    for share, follows in ((0.75, True), (1.2, True), (0.5, False)):
        seen, now, place, told = watch(), 0.0, -1.9, []
        for _ in range(1000):
            seen.expect(now, Demand(Mode.VELOCITY, np.array([0.0, 0.9])))
            told.append(seen.trouble(Mode.VELOCITY, np.array([0.0, 0.9]), state((0.0, place))))
            now, place = now + T, place + 0.9 * share * T
        assert (not any(told)) == follows


def test_a_motion_that_begins_owes_nothing_of_the_one_before():
    held = watch()
    for i in range(300):
        held.expect(i * T, Demand(Mode.VELOCITY, np.array([0.0, 0.4])))
        assert held.trouble(Mode.VELOCITY, np.zeros(2), state()) == ""
    held.begin()
    for i in range(300, 600):
        held.expect(i * T, Demand(Mode.VELOCITY, np.array([0.0, 0.4])))
        assert held.trouble(Mode.VELOCITY, np.zeros(2), state()) == ""


def way_to_rest(speed):
    """Cycle by cycle, each a T slower than the one before."""
    way = 0.0
    while speed > 1e-12:
        way += speed * T
        speed -= DECELERATION * T
    return way


@pytest.mark.parametrize("speed", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_efforts_are_ended_where_a_joint_could_just_be_stopped_before_its_limit(speed, way):
    least = speed * (LAG + 2.0 * T) + way_to_rest(speed)
    for left, stops in ((least + EPS, False), (least - EPS, True)):
        seen = watch()
        far = state((0.0, -0.5), (0.0, way * speed))  # it goes on as fast as it went
        assert seen.trouble(Mode.EFFORT, np.zeros(2), far) == ""
        place = 1.0 - left if way > 0.0 else -2.0 + left
        text = seen.trouble(Mode.EFFORT, np.zeros(2), state((0.0, place), (0.0, way * speed)))
        assert ("'b' moves" in text and "could not be stopped before the limit" in text) == stops
        assert seen.trouble(Mode.VELOCITY, np.zeros(2), state((0.0, place), (0.0, way * speed))) == ""
        away = state((0.0, place), (0.0, -way * speed))
        assert watch().trouble(Mode.EFFORT, np.zeros(2), away) == ""


def test_efforts_of_a_joint_that_gains_speed_are_ended_sooner():
    speed, gained = 0.5, 0.02
    fastest = speed + gained
    least = fastest * (LAG + 2.0 * T) + gained * T + way_to_rest(fastest)
    for left, stops in ((least + EPS, False), (least - EPS, True)):
        seen = watch()
        assert seen.trouble(Mode.EFFORT, np.zeros(2), state((0.0, 0.0), (0.0, speed - gained))) == ""
        assert bool(seen.trouble(Mode.EFFORT, np.zeros(2), state((0.0, 1.0 - left), (0.0, speed)))) == stops
    slower = watch()
    assert slower.trouble(Mode.EFFORT, np.zeros(2), state((0.0, 0.0), (0.0, speed + gained))) == ""
    near = speed * (LAG + 2.0 * T) + way_to_rest(speed) + EPS
    assert slower.trouble(Mode.EFFORT, np.zeros(2), state((0.0, 1.0 - near), (0.0, speed))) == ""


def test_efforts_of_a_joint_that_stands_at_its_limit_go_on():
    assert trouble(position=(0.0, 1.0), velocity=(0.0, 0.05)) == ""
    assert "could not be stopped" in trouble(position=(0.0, 1.0), velocity=(0.0, 0.0501))
