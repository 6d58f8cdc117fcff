# SPDX-License-Identifier: Apache-2.0
"""A machine that was suspended (lid closed, virtual machine paused) does not go on where it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_step import LockStep
from pa10_bus import Bus, Program

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Mode
from ada_robot.safety.pace import Suspends
from ada_robot.safety.phases import Phase


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
    suspends = Suspends(SlowClock([0.0, *delays]))
    assert [suspends.look() for _ in range(looks)] == [0.0] * looks


def test_each_suspend_is_told_once_with_its_length() -> None:
    clock = ManualClock(50.0)
    suspends = Suspends(clock)
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
