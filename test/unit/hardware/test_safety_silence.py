# SPDX-License-Identifier: Apache-2.0
"""Silence of commanders and devices, gaps between exchanges, suspends, and speeds that a device does not report."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_step import LockStep
from pa10_bus import Bus, Program
from refused import refused

from ada_dynamics.clock import ManualClock
from ada_robot.contract import JointLimit, Mode
from ada_robot.driver import Feedback
from ada_robot.errors import Refused
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import MeasuredState, StateMonitor, require_ready
from ada_robot.safety.watchdogs import DeadMan, ExchangeTiming, SuspendDetector

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


PERIOD, TIMEOUT = 0.25, 1.0  # [s], which sums of floats do not round


def paced(gaps, is_driven=True, slept=0.0):
    """What is counted of cycles with these gaps between them."""
    clock, now = ManualClock(), 10.0
    timing = ExchangeTiming(PERIOD, TIMEOUT, clock)
    assert timing.count(now, is_driven) == 0.0
    for gap in gaps:
        now += gap
        clock.suspend(slept)
        assert timing.count(now, is_driven) == gap + slept
    return timing.late, timing.longest, timing.brake


@pytest.mark.parametrize(
    ("gaps", "late", "longest", "brake"),
    [
        ([], 0, 0.0, 0),
        ([0.25, 0.25], 0, 0.25, 0),
        ([0.75], 0, 0.75, 0),  # half of what the device waits too late
        ([0.8125], 1, 0.8125, 3),  # 0.5625 s are two cycles and a quarter
        ([1.0], 1, 1.0, 3),
        ([1.0, 0.25], 1, 1.0, 2),
        ([1.0, 0.25, 0.25, 0.25], 1, 1.0, 0),
        ([1.0, 0.25, 0.25, 0.25, 0.25], 1, 1.0, 0),
        ([1.0625], 1, 1.0625, 4),
        ([2.0, 1.0], 2, 2.0, 6),  # seven, of which one is over
        ([2.0, 2.0], 2, 2.0, 7),
    ],
)
def test_a_robot_slows_down_for_as_many_cycles_as_were_lost(gaps, late, longest, brake):
    assert paced(gaps) == (late, longest, brake)


def test_gaps_of_a_robot_that_is_not_driven_are_told_and_not_counted():
    assert paced([2.0, 0.25], is_driven=False) == (0, 0.0, 0)
    timing = ExchangeTiming(PERIOD, TIMEOUT, ManualClock())
    for now in (0.0, 2.0):
        timing.count(now, True)
    assert timing.brake == 7
    timing.count(2.25, False)
    assert timing.brake == 0, "it is at rest, and begins anew"


def test_what_was_before_the_start_is_no_gap():
    timing = ExchangeTiming(PERIOD, TIMEOUT, ManualClock())
    for now in (0.0, 2.0):
        timing.count(now, True)
    timing.begin()
    assert timing.brake == 0
    assert timing.count(9.0, True) == 0.0
    assert timing.late == 1


def test_time_in_which_the_machine_was_suspended_belongs_to_the_gap():
    assert paced([0.25], slept=1.0) == (1, 1.25, 4)


class SlowClock(ManualClock):
    """Each reading takes as long as a test has it."""

    def __init__(self, delays: list[float]) -> None:
        super().__init__(50.0)
        self.delays = delays

    def now(self) -> float:
        self.advance(self.delays.pop() if len(self.delays) > 1 else self.delays[0])
        return super().now()


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=60), st.integers(1, 10))
def test_a_process_that_stands_still_between_two_clocks_is_taken_for_no_suspend(
    delays: list[float], looks: int
) -> None:
    suspends = SuspendDetector(SlowClock([0.0, *delays]))
    assert [suspends.look() for _ in range(looks)] == [0.0] * looks


def test_each_suspend_is_told_once_with_its_length() -> None:
    clock = ManualClock(50.0)
    suspends = SuspendDetector(clock)
    for length in (0.3, 3600.0, 0.05):
        clock.suspend(length)
        assert suspends.look() == pytest.approx(length, abs=1e-6)
        assert suspends.look() == 0.0


def test_an_arm_that_moved_before_a_suspend_is_told_nothing_that_moves_after_it() -> None:
    bus = Bus()
    ours = Program(bus).moving()
    bus.clock.suspend(0.2)
    then = bus.now
    ours.steps(100, 0.36)
    assert ours.cycle.phase is Phase.STOPPED and "suspended for 0.2 s" in ours.cycle.latched
    assert not [frame for frame in bus.frames if frame.time >= then and frame.moves]


def test_a_robot_without_a_watchdog_of_its_own_is_stopped_as_well() -> None:
    robot = LockStep(device_timeout=0.0).active()
    robot.steps(5, Mode.VELOCITY, 0.1)
    robot.clock.suspend(30.0)
    robot.step(Mode.VELOCITY, 0.1)
    assert robot.cycle.phase is Phase.STOPPED and "suspended" in robot.cycle.latched


def taken(measured, now, position, velocity=(math.nan, math.nan), **more):
    position, velocity = np.array(position, dtype=float), np.array(velocity, dtype=float)
    return measured.take(Feedback(now, position, velocity, np.full(2, math.nan), **more), now)


def test_a_speed_that_the_device_does_not_say_is_smoothed_over_half_a_second():
    measured = MeasuredState(2)
    assert taken(measured, 5.0, (1.0, 0.0))
    assert measured.speed.tolist() == [0.0, 0.0], "one position is no speed"
    taken(measured, 5.1, (1.1, 0.0))  # 1 rad/s
    np.testing.assert_allclose(measured.speed, [0.2, 0.0])
    taken(measured, 5.2, (1.2, -0.2))
    np.testing.assert_allclose(measured.speed, [0.2 + 0.2 * 0.8, -0.2 * 2.0])
    taken(measured, 6.2, (1.7, -0.2))  # longer than that: the difference alone
    np.testing.assert_allclose(measured.speed, [0.5, 0.0])


def test_a_speed_that_the_device_says_is_taken_as_it_is_beside_one_that_it_does_not():
    measured = MeasuredState(2)
    taken(measured, 5.0, (1.0, 0.0), (3.0, 4.0))
    assert measured.speed.tolist() == [3.0, 4.0]
    taken(measured, 6.0, (1.0, 0.5), (-3.0, math.nan))
    assert measured.speed.tolist() == [-3.0, 0.5]
    np.testing.assert_array_equal(measured.velocity, [-3.0, math.nan])
    taken(measured, 6.0, (2.0, 7.0), (math.nan, math.nan))  # at the same time: nothing can be said
    assert measured.speed.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("bad", [{"is_fresh": False}, {"position": (math.nan, 0.0)}])
def test_an_answer_without_all_positions_or_of_before_changes_nothing(bad):
    measured = MeasuredState(2)
    assert measured.at == -math.inf
    taken(measured, 5.0, (1.0, 2.0), (0.5, 0.5))
    assert not taken(measured, 6.0, **{"position": (9.0, 9.0), "velocity": (9.0, 9.0), **bad})
    assert (measured.position.tolist(), measured.speed.tolist(), measured.at) == ([1.0, 2.0], [0.5, 0.5], 5.0)
