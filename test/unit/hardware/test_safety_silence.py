# SPDX-License-Identifier: Apache-2.0
"""Silence of commanders and devices: the times of the dead man's switch from both sides, and ways out that are last."""

import math

import numpy as np
import pytest
from lock_step import LockStep
from refused import refused

from ada_robot.contract import JointLimit, Mode
from ada_robot.driver import Feedback
from ada_robot.errors import Refused
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import MeasuredState, StateMonitor, require_ready
from ada_robot.safety.watchdogs import DeadMan

BEGIN, LITTLE = 10.0, 1 / 64  # [s], which floats hold exactly, as the timeouts here
TIMES = {"command_timeout": 0.125, "host_timeout": 0.5}
HOLD = {**TIMES, "hold_without_commands": True}
NEVER = -math.inf


def begun(settings, can_ramp=True):
    """A switch that looked at its robot first at BEGIN."""
    switch = DeadMan(SafetySettings(**settings), can_ramp=can_ramp)
    assert switch.lapsed(BEGIN, BEGIN, BEGIN) == ""
    return switch


@pytest.mark.parametrize(
    ("settings", "after", "seen", "commanded", "words"),
    [
        (HOLD, 0.5, BEGIN, NEVER, "no message of the commanding program for 0.5 s"),
        (HOLD, 0.5, BEGIN - 5.0, NEVER, "no message"),  # it has that long after activation, too
        (HOLD, 0.75, BEGIN + 0.25, BEGIN + 0.5, "no message"),
        (TIMES, 0.5, math.inf, BEGIN, "no command was accepted for 0.5 s"),
        (TIMES, 0.5, math.inf, NEVER, "no command was accepted for 0.5 s"),
        (TIMES, 0.75, math.inf, BEGIN + 0.25, "no command was accepted for 0.5 s"),
        ({**TIMES, "arm_within": 0.25}, 0.25, math.inf, NEVER, "not armed within 0.25 s"),
    ],
)
def test_a_robot_is_deactivated_after_each_time_and_not_at_it(settings, after, seen, commanded, words):
    assert begun(settings).lapsed(BEGIN + after, seen, commanded) == ""
    assert words in begun(settings).lapsed(BEGIN + after + LITTLE, seen, commanded)


def test_a_robot_by_efforts_alone_is_left_to_its_device_once_commands_are_late():
    for settings in (TIMES, HOLD):
        assert begun(settings, can_ramp=False).lapsed(BEGIN + 0.125, math.inf, NEVER) == ""
        text = begun(settings, can_ramp=False).lapsed(BEGIN + 0.125 + LITTLE, math.inf, NEVER)
        assert text == "no command was accepted for 0.125 s, and efforts cannot hold a position"


def test_a_command_counts_for_the_command_timeout():
    switch = begun(TIMES)
    assert not switch.is_idle(BEGIN + 1.125, BEGIN + 1.0)
    assert switch.is_idle(BEGIN + 1.125 + LITTLE, BEGIN + 1.0)
    assert not switch.is_idle(BEGIN + 0.125, NEVER), "its activation counts as one"


def test_a_commander_that_falls_silent_is_noted_once_as_held_and_once_as_disarmed():
    world = LockStep(SafetySettings(**HOLD, arm_within=0.25)).active()
    world.cycle.arm(world.now)
    world.seconds(0.2, Mode.VELOCITY, 0.1)
    words = ("holds: no command was accepted for 0.125 s", "disarmed: no command was accepted for 0.5 s")
    assert not set(words) & set(world.notes.events)
    world.seconds(0.6)
    assert [world.notes.events.count(one) for one in words] == [1, 1]
    assert world.cycle.phase is Phase.ACTIVE and not world.cycle.is_armed


def test_a_pose_is_fresh_up_to_its_age_and_eight_joints_without_one_are_named():
    joints = [JointLimit(f"j{i}", -1.0, 1.0, 1.0, 1.0) for i in range(1, 11)]
    watch = StateMonitor(JointRules(joints, SafetySettings()), SafetySettings(), 0.002)
    measured, rest = MeasuredState(10), np.zeros(10)
    good = Feedback(5.0, rest, rest, rest)
    measured.take(good, 5.0)
    require_ready(good, measured, watch, 5.0, "")
    unknown = Feedback(6.0, np.array([0.0, *[math.nan] * 9]), rest, rest)
    with refused(Refused, joint="j2", value=tuple(f"j{i}" for i in range(2, 10))):
        require_ready(unknown, measured, watch, 5.0 + LITTLE, "no answer")


def test_a_ramp_ends_by_itself_where_the_robot_seems_to_move_on():
    world = LockStep(SafetySettings(**HOLD)).active()
    world.arm.runs_at = np.array([0.0, 0.06, 0.0])
    world.step()
    world.cycle.deactivate(world.now)
    begin = world.now
    world.until_rest()
    assert world.cycle.phase is Phase.INACTIVE
    assert world.now - begin == pytest.approx(0.3, abs=0.005)


def test_a_ramp_that_late_cycles_stretch_ends_a_second_after_the_longest_one():
    world = LockStep(SafetySettings(**HOLD, max_deceleration=0.5)).active()
    world.seconds(0.2, Mode.VELOCITY, 0.9)
    world.cycle.deactivate(world.now)
    begin = world.now
    while world.cycle.phase.is_driven:
        world.step(after=0.008)
    assert world.arm.told[-2:] == ["stop", "idle"] and world.cycle.phase is Phase.INACTIVE
    assert world.now - begin == pytest.approx(1.0 / 0.5 + 1.0, abs=0.01)
