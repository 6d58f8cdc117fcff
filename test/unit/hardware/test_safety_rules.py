# SPDX-License-Identifier: Apache-2.0
"""Limits of users within those of devices, and what a command must keep to be followed."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics import resources
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_dynamics.settings import as_mapping, checked, fields_of
from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.limits import joint_limits
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings

DEVICE = [JointLimit("s1", -3.0, 3.0, 1.0, 200.0), JointLimit("w1", -1.0, 2.0, 4.0, 15.0)]
MODES = {Mode.POSITION, Mode.VELOCITY, Mode.EFFORT}
NOW = 50.0


def rules(**settings):
    return JointRules(DEVICE, SafetySettings(**settings))


def check(**settings):
    return DemandGuard(rules(**settings), MODES, 0.1, ManualClock())


def judged(command_check, values, mode=Mode.POSITION, stamp=NOW, demanded=(0.0, 0.0)):
    return command_check.judge(Demand(mode, np.array(values, dtype=float), stamp), NOW, np.array(demanded))


# --- limits -------------------------------------------------------------------------------------------------------
def test_the_limits_are_those_of_the_device_or_narrower():
    made = rules()
    assert made.limits == tuple(DEVICE)
    assert [made.lower.tolist(), made.upper.tolist()] == [[-3.0, -1.0], [3.0, 2.0]]
    assert [made.velocity.tolist(), made.effort.tolist()] == [[1.0, 4.0], [200.0, 15.0]]
    made = rules(position_lower=(-1.0, -0.5), position_upper=(1.0, 2.0), velocity=(0.5, 4.0), effort=(10.0, 1.0))
    assert made.limits == (JointLimit("s1", -1.0, 1.0, 0.5, 10.0), JointLimit("w1", -0.5, 2.0, 4.0, 1.0))


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
    ("settings", "text"),
    [
        ({"position_lower": (-3.5, -1.0)}, "'s1': position_lower is -3.5, wider than the device's own limit, -3"),
        ({"position_upper": (3.0, 2.5)}, "'w1': position_upper is 2.5, wider than the device's own limit, 2"),
        ({"velocity": (1.0, 4.5)}, "'w1': velocity is 4.5, wider than the device's own limit, 4"),
        ({"effort": (200.5, 15.0)}, "'s1': effort is 200.5, wider than the device's own limit, 200"),
        ({"velocity": (1.0, 1.0, 1.0)}, r"velocity has 3 numbers for the 2 joints s1, w1.*\[1, 4\]"),
        (
            {"position_lower": (1.0, -1.0), "position_upper": (1.0, 1.0)},
            "'s1': position_lower 1 is not below position_upper 1",
        ),
        ({"host_timeout": 0.05}, "host_timeout is 0.05 s, shorter than command_timeout, 0.1 s"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_joint_and_both_values(settings, text):
    with pytest.raises(InputError, match=text):
        rules(**settings)


def test_settings_are_refused_by_name():
    with pytest.raises(InputError, match=r"parameter command_timeout is 0; it must be a number from 0.001 to 10 \[s\]"):
        checked(SafetySettings, {"command_timeout": 0})
    with pytest.raises(InputError, match="comand_timeout"):
        checked(SafetySettings, {"comand_timeout": 0.1})
    assert checked(SafetySettings, as_mapping(SafetySettings(max_missed=3))).max_missed == 3
    assert all(one.description for one in fields_of(SafetySettings))


# --- commands -----------------------------------------------------------------------------------------------------
def test_a_command_within_all_limits_is_accepted_and_counted():
    commands = check()
    assert judged(commands, [0.05, 0.3]) is None
    assert judged(commands, [-1.0, 4.0], Mode.VELOCITY) is None
    assert judged(commands, [200.0, -15.0], Mode.EFFORT) is None
    assert judged(commands, [0.0, 0.0], stamp=NOW - 0.099) is None
    assert commands.accepted == 4
    assert not commands.refused


@pytest.mark.parametrize(
    ("given", "reason", "text"),
    [
        (
            {"values": [3.1, 0.0], "demanded": (3.0, 0.0)},
            "over a limit",
            r"'s1': position is 3.1, outside of \[-3.*, 3",
        ),
        ({"values": [0.0, -1.01], "demanded": (0.0, -1.0)}, "over a limit", "'w1': position is -1.01"),
        ({"values": [1.01, 0.0], "mode": Mode.VELOCITY}, "over a limit", "'s1': velocity is 1.01"),
        ({"values": [0.0, -4.1], "mode": Mode.VELOCITY}, "over a limit", "'w1': velocity is -4.1"),
        ({"values": [0.0, 15.1], "mode": Mode.EFFORT}, "over a limit", r"'w1': effort is 15.1, outside of \[-15, 15\]"),
        ({"values": [0.05, 0.35], "demanded": (0.0, 0.2)}, "jump", "'w1'.*0.15 away.*max_step"),
        ({"values": [0.0, 0.0], "demanded": (math.nan, 0.0)}, "jump", "'s1'.*not known"),
        ({"values": [0.0, 0.0], "stamp": NOW - 0.101}, "too old", "0.101 s old"),
        ({"values": [0.0, 0.0], "stamp": NOW + 1.0}, "from the future", "1 s ahead"),
        ({"values": [0.0, 0.0], "stamp": math.nan}, "not finite", "stamp"),
        *(({"values": bad}, "wrong length", "s1, w1") for bad in ([], [0.0], [0.0] * 3, [[0.0, 0.0]])),
    ],
)
def test_what_breaks_a_rule_is_refused_as_a_whole_with_what_is_allowed(given, reason, text):
    refusal = judged(check(max_step=0.1), **given)
    assert refusal.reason == reason
    assert re.search(text, refusal.text), refusal.text


def test_a_mode_that_the_robot_has_not_is_refused_with_those_that_it_has():
    refusal = judged(DemandGuard(rules(), {Mode.POSITION}, 0.1, ManualClock()), [0.0, 0.0], Mode.EFFORT)
    assert refusal.reason == "no such mode" and refusal.text.endswith("it can by position.")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("joint", [0, 1])
def test_what_is_not_finite_is_refused_with_its_joint(bad, mode, joint):
    commands, values = check(), [0.0, 0.0]
    values[joint] = bad
    refusal = judged(commands, values, mode)
    assert refusal.reason == "not finite"
    assert repr(DEVICE[joint].name) in refusal.text
    assert commands.refused == {"not finite": 1}
    assert commands.last_refusal == refusal.text
    assert commands.accepted == 0


numbers = st.floats(width=64) | st.sampled_from([math.nan, math.inf, 1.0, -1.0, 4.0, 3.0 + 1e-12])


@given(st.sampled_from(list(Mode)), st.tuples(numbers, numbers), st.tuples(numbers, numbers), numbers)
def test_only_finite_commands_within_limits_near_and_recent_pass(mode, values, demanded, stamp):
    """The rules once more, number by number."""
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
