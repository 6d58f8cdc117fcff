# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, in whatever order: no unsafe demand, no phase out of turn, rest when it is promised."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from lock_step import LockStep

from ada_robot.contract import Mode
from ada_robot.driver import Alarm
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

ALARM = Alarm(0x60, "velocity deviation", "j2")
T = 0.002
any_number = st.floats(-1.2, 1.2) | st.sampled_from([math.nan, math.inf, -math.inf, 1.0, -1.0, 1e300])

FOLLOWS = {
    Phase.CLOSED: {Phase.INACTIVE, Phase.STOPPED},  # STOPPED: the device has an alarm when opened
    Phase.INACTIVE: {Phase.STARTING, Phase.STOPPED, Phase.CLOSED},
    Phase.STARTING: {Phase.ACTIVE, Phase.INACTIVE, Phase.STOPPED, Phase.CLOSED},
    Phase.ACTIVE: {Phase.STOPPING, Phase.STOPPED, Phase.CLOSED},
    Phase.STOPPING: {Phase.INACTIVE, Phase.STOPPED, Phase.CLOSED},
    Phase.STOPPED: {Phase.INACTIVE, Phase.CLOSED},
}


class AnyOrder(RuleBasedStateMachine):
    """Requests, commands and faults at random; the arm judges every demand."""

    def __init__(self):
        super().__init__()
        self.world = LockStep(SafetySettings(max_following_error=5.0))
        self.arm, self.cycle = self.world.arm, self.world.cycle

    def tried(self, call):
        try:
            call()
        except HardwareError:
            assert self.cycle.phase is not Phase.STARTING

    @rule()
    def opened(self):
        self.tried(lambda: self.cycle.open(self.world.now))

    @rule(wanted=st.sampled_from(["", "", "", "a stop"]))
    def activated(self, wanted):
        before = self.arm.position.copy()
        self.tried(lambda: self.cycle.activate(self.world.now, lambda: wanted))
        if self.cycle.phase is Phase.ACTIVE and not self.cycle.feedback.is_driven:
            self.world.step()
            np.testing.assert_array_equal(self.arm.position, before)  # no motion at activation

    @rule()
    def deactivated(self):
        self.tried(lambda: self.cycle.deactivate(self.world.now))

    @rule()
    def stopped(self):
        was_open = self.cycle.phase is not Phase.CLOSED
        self.cycle.stop(self.world.now, "any time")
        if was_open:
            assert self.cycle.latched
            assert self.cycle.phase in (Phase.STOPPING, Phase.STOPPED)

    @rule()
    def reset(self):
        self.tried(lambda: self.cycle.reset(self.world.now))

    @precondition(lambda self: not self.cycle.phase.is_driven)
    @rule()
    def closed(self):
        self.cycle.close(self.world.now)

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule(
        mode=st.sampled_from(list(Mode)),
        values=st.lists(any_number, min_size=2, max_size=4),
        count=st.integers(1, 60),
        age=st.sampled_from([0.0, 0.0, 0.05, 0.2, -1.0]),
    )
    def commanded(self, mode, values, count, age):
        for _ in range(count):
            self.world.step(mode, values, age=age)

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule(rate=st.floats(-0.9, 0.9), count=st.integers(1, 200))
    def led(self, rate, count):
        for _ in range(count):
            self.world.step(Mode.POSITION, np.clip(self.arm.position + rate * T, -2.0, 2.0))

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule(count=st.integers(1, 400))
    def left_alone(self, count):
        self.world.steps(count)

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule(gap=st.sampled_from([0.003, 0.006, 0.009, 0.02, 0.4]))
    def late(self, gap):
        was_driven = self.cycle.phase.is_driven
        self.world.step(after=gap)
        if gap > self.arm.device_timeout and was_driven and not self.cycle.phase.is_driven:
            assert self.cycle.phase in (Phase.STOPPED, Phase.INACTIVE)

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule(count=st.integers(1, 15))
    def silent(self, count):
        self.arm.is_silent = True
        self.world.steps(count)
        self.arm.is_silent = False

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule()
    def alarmed(self):
        self.arm.alarms = (ALARM,)
        self.world.step()
        assert self.cycle.phase is Phase.STOPPED

    @precondition(lambda self: self.cycle.phase is not Phase.CLOSED)
    @rule()
    def unplugged(self):
        self.arm.is_unplugged = True
        self.world.step()
        self.arm.is_unplugged = False
        assert self.cycle.phase is Phase.STOPPED

    @invariant()
    def no_unsafe_demand(self):
        assert not self.arm.violations

    @invariant()
    def phases_in_turn(self):
        phases = self.world.phases
        for before, after in pairwise(phases):
            assert after is before or after in FOLLOWS[before], (before, after)

    @invariant()
    def the_latch_holds(self):
        assert (self.cycle.phase is Phase.STOPPED) <= bool(self.cycle.latched)
        assert not (self.cycle.latched and self.cycle.phase in (Phase.INACTIVE, Phase.ACTIVE, Phase.STARTING))

    @invariant()
    def what_is_not_driven_does_not_move(self):
        if not self.cycle.phase.is_driven:
            assert not self.arm.speed.any()
            assert not self.arm.is_driven

    def teardown(self):
        """From everywhere: rest in time, and back to work after a reset."""
        self.arm.alarms = ()
        if self.cycle.phase is Phase.CLOSED:
            self.cycle.open(self.world.now)
        self.cycle.stop(self.world.now, "the end")
        self.world.seconds(0.11)  # the longest ramp
        assert self.cycle.phase is Phase.STOPPED
        self.cycle.reset(self.world.now)
        self.world.steps(2)
        self.cycle.activate(self.world.now)
        self.world.step()
        assert self.cycle.phase is Phase.ACTIVE
        assert not self.arm.violations


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
