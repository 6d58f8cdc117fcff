# SPDX-License-Identifier: Apache-2.0
"""Limits of users within those of devices, and what a command must keep to be followed."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.limits import joint_limits
from ada_robot.safety.joint_rules import DemandGuard, JointRules
from ada_robot.safety.settings import SafetySettings

DEVICE = [JointLimit("s1", -3.0, 3.0, 1.0, 200.0), JointLimit("w1", -1.0, 2.0, 4.0, 15.0)]
MODES = {Mode.POSITION, Mode.VELOCITY, Mode.EFFORT}
NOW = 50.0


def rules(**settings):
    return JointRules(DEVICE, SafetySettings(**settings))


def check(**settings):
    return DemandGuard(rules(**settings), MODES, 0.1)


def judged(command_check, values, mode=Mode.POSITION, stamp=NOW, demanded=(0.0, 0.0)):
    return command_check.judge(Demand(mode, np.array(values, dtype=float), stamp), NOW, np.array(demanded))


def test_the_limits_are_those_of_the_device_or_narrower():
    made = rules()
    assert made.limits == tuple(DEVICE)
    assert [made.lower.tolist(), made.upper.tolist()] == [[-3.0, -1.0], [3.0, 2.0]]
    assert [made.velocity.tolist(), made.effort.tolist()] == [[1.0, 4.0], [200.0, 15.0]]
    made = rules(position_lower=(-1.0, -0.5), position_upper=(1.0, 2.0), velocity=(0.5, 4.0), effort=(10.0, 1.0))
    assert made.limits == (JointLimit("s1", -1.0, 1.0, 0.5, 10.0), JointLimit("w1", -0.5, 2.0, 4.0, 1.0))


@pytest.mark.parametrize(
    ("joints", "field"),
    [
        (DEVICE + DEVICE[:1], "joints"),
        ([JointLimit("a", 1.0, -1.0)], "limits"),
        ([JointLimit("a", math.nan)], "limits"),
        ([JointLimit("a", velocity=-1.0)], "velocity"),
        ([JointLimit("a", effort=math.nan)], "effort"),
    ],
)
def test_limits_of_a_driver_that_contradict_each_other_are_refused(joints, field):
    with refused(InputError, field=field):
        JointRules(joints, SafetySettings())


def test_what_is_not_set_follows_from_the_velocity_limits():
    made = rules(velocity_scale=0.5, command_timeout=0.2, host_timeout=1.0)
    np.testing.assert_allclose(made.velocity, [0.5, 2.0])
    np.testing.assert_allclose(made.deceleration, [5.0, 20.0])  # to rest in 0.1 s
    np.testing.assert_allclose(made.acceleration, [5.0, 20.0])
    np.testing.assert_allclose(made.step, [0.1, 0.4])  # within command_timeout
    np.testing.assert_allclose(made.following, [0.1, 0.4])  # within 0.2 s


def test_the_longest_ramp_is_that_of_the_slowest_joint():
    assert rules().longest_ramp == pytest.approx(0.1)
    assert rules(max_deceleration=2.0).longest_ramp == 2.0  # 4 rad/s at 2 rad/s^2
    assert JointRules([JointLimit("a", -1.0, 1.0, 0.0, 1.0)], SafetySettings()).longest_ramp == 0.0
    np.testing.assert_allclose(rules().effort_rate, [2000.0, 150.0])  # to the limit in 0.1 s
    assert rules(max_effort_rate=(3.0, 4.0)).effort_rate.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("name", ["pa10", "khr1"])
def test_the_limits_of_a_models_joints_are_those_of_its_description(name):
    text = resources.find("urdf", f"{name}.urdf").read_text(encoding="utf-8")
    wanted = {}
    for joint in ElementTree.fromstring(text).iter("joint"):
        limit = joint.find("limit")
        if joint.get("type") == "revolute" and limit is not None:
            wanted[joint.get("name")] = [float(limit.get(key)) for key in ("lower", "upper", "velocity", "effort")]
    motors = [*wanted][::2]
    found = joint_limits(load(name), motors)
    assert {one.name: [one.lower, one.upper, one.velocity, one.effort] for one in found} == wanted
    assert [one.name for one in found if one.has_motor] == motors


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"position_lower": (-3.5, -1.0)}, {"joint": "s1", "field": "position_lower", "value": -3.5, "allowed": -3.0}),
        ({"position_upper": (3.0, 2.5)}, {"joint": "w1", "field": "position_upper", "value": 2.5, "allowed": 2.0}),
        ({"velocity": (1.0, 4.5)}, {"joint": "w1", "field": "velocity", "value": 4.5, "allowed": 4.0}),
        ({"effort": (200.5, 15.0)}, {"joint": "s1", "field": "effort", "value": 200.5, "allowed": 200.0}),
        ({"velocity": (1.0, 1.0, 1.0)}, {"field": "velocity", "value": 3, "allowed": 2}),
        ({"position_lower": (1.0, -1.0), "position_upper": (1.0, 1.0)}, {"joint": "s1", "value": 1.0, "allowed": 1.0}),
        ({"host_timeout": 0.05}, {"field": "host_timeout", "value": 0.05, "allowed": 0.1}),
    ],
)
def test_settings_that_cannot_be_are_refused_with_joint_and_both_values(settings, facts):
    with refused(InputError, **facts):
        rules(**settings)


def test_a_command_within_all_limits_is_accepted_and_counted():
    commands = check()
    assert judged(commands, [0.05, 0.3]) is None
    assert judged(commands, [-1.0, 4.0], Mode.VELOCITY) is None
    assert judged(commands, [200.0, -15.0], Mode.EFFORT) is None
    assert judged(commands, [0.0, 0.0], stamp=NOW - 0.099) is None
    assert commands.accepted == 4
    assert not commands.refused


@pytest.mark.parametrize(
    ("given", "reason", "joint"),
    [
        ({"values": [3.1, 0.0], "demanded": (3.0, 0.0)}, "over a limit", "s1"),
        ({"values": [0.0, -1.01], "demanded": (0.0, -1.0)}, "over a limit", "w1"),
        ({"values": [1.01, 0.0], "mode": Mode.VELOCITY}, "over a limit", "s1"),
        ({"values": [0.0, -4.1], "mode": Mode.VELOCITY}, "over a limit", "w1"),
        ({"values": [0.0, 15.1], "mode": Mode.EFFORT}, "over a limit", "w1"),
        ({"values": [0.05, 0.35], "demanded": (0.0, 0.2)}, "jump", "w1"),
        ({"values": [0.0, 0.0], "demanded": (math.nan, 0.0)}, "jump", "s1"),
        ({"values": [0.0, 0.0], "stamp": NOW - 0.101}, "too old", ""),
        ({"values": [0.0, 0.0], "stamp": NOW + 1.0}, "from the future", ""),
        ({"values": [0.0, 0.0], "stamp": math.nan}, "not finite", ""),
        *(({"values": bad}, "wrong length", "") for bad in ([], [0.0], [0.0] * 3, [[0.0, 0.0]])),
        *(({"values": [0.0, bad], "mode": mode}, "not finite", "w1") for bad in (math.nan, -math.inf) for mode in Mode),
    ],
)
def test_what_breaks_a_rule_is_refused_as_a_whole_and_counted(given, reason, joint):
    commands = check(max_step=0.1)
    refusal = judged(commands, **given)
    assert (refusal.reason, refusal.joint) == (reason, joint)
    assert commands.refused == {reason: 1} and commands.last_refusal == refusal.text and commands.accepted == 0


def test_a_mode_that_the_robot_has_not_is_refused():
    guard = DemandGuard(rules(), {Mode.POSITION}, 0.1)
    assert judged(guard, [0.0, 0.0], Mode.EFFORT).reason == "no such mode"


numbers = st.floats(width=64) | st.sampled_from([math.nan, math.inf, 1.0, -1.0, 4.0, 3.0 + 1e-12])


@given(st.sampled_from(list(Mode)), st.tuples(numbers, numbers), st.tuples(numbers, numbers), numbers)
def test_only_finite_commands_within_limits_near_and_recent_pass(mode, values, demanded, stamp):
    accepted = judged(check(), values, mode, stamp, demanded) is None
    made = rules()

    def allowed(i):
        value = values[i]
        if not math.isfinite(value):
            return False
        if mode is Mode.POSITION:
            lower, upper = made.lower[i], made.upper[i]
            if math.isfinite(demanded[i]):  # a joint beyond a limit may be held there, and led back
                lower, upper = min(lower, demanded[i]), max(upper, demanded[i])
            inside = lower - 1e-9 <= value <= upper + 1e-9
            return inside and abs(value - demanded[i]) <= made.step[i] + 1e-9
        return abs(value) <= (made.velocity if mode is Mode.VELOCITY else made.effort)[i]

    recent = math.isfinite(stamp) and NOW - 0.1 <= stamp <= NOW + 0.01
    assert accepted == (allowed(0) and allowed(1) and recent)
