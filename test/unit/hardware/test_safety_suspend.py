# SPDX-License-Identifier: Apache-2.0
"""A machine that was suspended (lid closed, virtual machine paused) does not go on where it was."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_step import LockStep
from pa10_bus import Bus, Program

from ada_robot.contract import Mode
from ada_robot.safety.pace import Pace, Suspends
from ada_robot.safety.phases import Phase


class Machine:
    """Two clocks, of which one stands still while it is suspended; each reading takes as long as a test has it."""

    def __init__(self) -> None:
        self.run, self.slept, self.delays = 50.0, 7.0, [0.0]

    def steady(self) -> float:
        self.run += self.delays.pop() if len(self.delays) > 1 else self.delays[0]
        return self.run

    def since_boot(self) -> float:
        return self.steady() + self.slept

    def suspends(self) -> Suspends:
        return Suspends(self.since_boot, self.steady)


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=60), st.integers(1, 10))
def test_a_process_that_stands_still_between_two_clocks_is_taken_for_no_suspend(
    delays: list[float], looks: int
) -> None:
    machine = Machine()
    machine.delays = [0.0, *delays]
    suspends = machine.suspends()
    assert [suspends.look() for _ in range(looks)] == [0.0] * looks


def test_each_suspend_is_told_once_with_its_length() -> None:
    machine = Machine()
    suspends = machine.suspends()
    for length in (0.3, 3600.0, 0.05):
        machine.slept += length
        assert suspends.look() == pytest.approx(length, abs=1e-6)
        assert suspends.look() == 0.0


def test_the_clocks_of_this_machine_tell_no_suspend_while_there_is_none() -> None:
    suspends = Suspends()
    assert sum(suspends.look() for _ in range(1000)) == 0.0


def test_an_arm_that_moved_before_a_suspend_is_told_nothing_that_moves_after_it() -> None:
    bus = Bus()
    ours = Program(bus).moving()
    machine = Machine()
    ours.cycle.pace = Pace(ours.driver.period, ours.driver.device_timeout, machine.suspends().look)
    ours.steps(5, 0.36)
    machine.slept += 0.2
    then = bus.now
    ours.steps(100, 0.36)
    assert ours.cycle.phase is Phase.STOPPED and "suspended for 0.2 s" in ours.cycle.latched
    assert not [frame for frame in bus.frames if frame.time >= then and frame.moves]


def test_a_robot_without_a_watchdog_of_its_own_is_stopped_as_well() -> None:
    robot = LockStep().open().active()
    machine = Machine()
    robot.cycle.pace = Pace(robot.arm.period, math.inf, machine.suspends().look)
    robot.steps(5, Mode.VELOCITY, 0.1)
    machine.slept += 30.0
    robot.step(Mode.VELOCITY, 0.1)
    assert robot.cycle.phase is Phase.STOPPED
    assert "suspended" in robot.cycle.latched
