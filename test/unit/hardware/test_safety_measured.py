# SPDX-License-Identifier: Apache-2.0
"""What the cycle measures by itself: gaps between exchanges, and speeds that a device does not say. Numbers by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_step import LockStep
from pa10_bus import Bus, Program

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Mode
from ada_robot.driver import Feedback
from ada_robot.safety.phases import Phase
from ada_robot.safety.state_monitor import MeasuredState
from ada_robot.safety.watchdogs import ExchangeTiming, SuspendDetector

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
