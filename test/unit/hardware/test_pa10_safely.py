# SPDX-License-Identifier: Apache-2.0
"""The PA-10 under the rules of safety, whatever is commanded and whatever fails: the emulated arm is the judge."""

from __future__ import annotations

import numpy as np
import pytest

from ada_dynamics.clock import ManualClock
from ada_hardware.emulation.in_process import InProcessPackets
from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.emulator import Pa10Emulator
from ada_hardware.pa10.emulator_settings import Pa10EmulatorSettings
from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings


class Safely:
    """A safe cycle, the driver, a wire with faults and the arm, on a clock that nobody waits for."""

    def __init__(self, variant: str = "ce") -> None:
        self.clock = ManualClock(10.0)
        self.emulator = Pa10Emulator(Pa10EmulatorSettings(variant=variant))
        self.wire = InProcessPackets(self.emulator, clock=self.clock.now, sleep=self.clock.sleep, seed=5)
        self.driver = Pa10Driver(Pa10Settings(variant=variant), wire=self.wire, clock=self.clock.now)
        self.cycle = SafeCycle(self.driver, SafetySettings(record_seconds=0.0), clock=self.clock)
        self.cycle.open(self.clock.now())
        self._due = self.clock.now()

    def step(self, mode: Mode | None = None, values: object = None) -> None:
        now = self.clock.now()
        commands = [] if mode is None else [Demand(mode, np.asarray(values, dtype=float), now)]
        self.cycle.step(now, commands)
        self._due = max(self._due + self.driver.period, self.clock.now())
        self.clock.sleep(self._due - self.clock.now())

    def activate(self) -> None:
        if self.cycle.phase is Phase.STOPPED:
            self.cycle.reset(self.clock.now())
        for _ in range(5):
            self.step()
        self.cycle.activate(self.clock.now())
        self._due = self.clock.now()

    def rest(self) -> None:
        for _ in range(2000):
            if not self.cycle.phase.is_driven:
                return
            self.step()
        raise AssertionError("it did not come to rest")

    def until(self, phase: Phase, most: int) -> int:
        for count in range(most):
            if self.cycle.phase is phase:
                return count
            self.step()
        raise AssertionError(f"{self.cycle.phase} instead of {phase}: {self.cycle.reason}")

    @property
    def violations(self) -> list[str]:
        return [one.text for one in self.emulator.violations]


@pytest.mark.parametrize("variant", ["ce", "7c"])
def test_random_commands_and_ends_never_send_what_must_not_be_sent_and_no_start_moves_the_arm(variant):
    chance = np.random.default_rng(3)
    arm = Safely(variant)
    speed = np.array([limit.velocity for limit in arm.driver.limits])
    for trial in range(12):
        before = arm.emulator.arm.q.copy()
        arm.activate()
        arm.step()
        arm.step()
        assert np.abs(arm.emulator.arm.q - before).max() <= ANGLE_COUNT
        for k in range(60):
            values = chance.uniform(-1.2, 1.2, 7) * speed
            if trial % 2:
                values = arm.cycle.feedback.position + 0.03 * values / speed
            if k % 7 == 0:
                values[chance.integers(7)] = chance.choice([np.nan, np.inf, 1e6])
            arm.step(Mode.POSITION if trial % 2 else Mode.VELOCITY, values)
        now = arm.clock.now()
        if trial % 3 == 0:
            arm.cycle.stop(now, "test")
        else:
            arm.cycle.deactivate(now)
        arm.rest()
        assert arm.emulator.state()["ways"] == ["braked"] * 7
    assert arm.violations == []
    assert sum(arm.cycle.check.refused.values()) > 0


@pytest.mark.parametrize("when", ["inactive", "starting", "still", "moving", "stopping"])
@pytest.mark.parametrize("fault", ["emergency_stop", "axis_alarm", "limit_switch"])
def test_an_alarm_in_each_phase_stops_the_arm_until_it_is_reset(when, fault):
    arm = Safely()
    value = 2 + 0x0E0 / 4096 if fault == "axis_alarm" else 1.0
    if when == "inactive":
        for _ in range(5):
            arm.step()
        arm.wire.fault(fault, value)
    elif when == "starting":
        arm.wire.fault(fault, value)
        with pytest.raises(HardwareError):
            arm.activate()
    else:
        arm.activate()
        for k in range(30):
            arm.step(Mode.VELOCITY, np.full(7, 0.0 if when == "still" else 0.01 * k))
        if when == "stopping":
            arm.cycle.deactivate(arm.clock.now())
            arm.step()
        arm.wire.fault(fault, value)
    cycles = arm.until(Phase.STOPPED, 10)
    assert cycles <= 2
    assert arm.violations == []
    arm.wire.fault(fault, 0.0)
    arm.activate()
    arm.step(Mode.VELOCITY, np.zeros(7))
    assert arm.cycle.phase is Phase.ACTIVE
    assert arm.violations == []


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5])
def test_lost_packets_bring_nothing_unsafe_onto_the_wire_and_the_arm_recovers(share):
    arm = Safely()
    recoveries = 0
    for _ in range(6):
        arm.wire.fault("drop", 0.0)
        arm.activate()
        arm.wire.fault("drop", share)
        for _ in range(150):
            arm.step(Mode.VELOCITY, np.full(7, 0.2))
        if arm.cycle.phase is Phase.ACTIVE:
            arm.cycle.deactivate(arm.clock.now())
        arm.rest()
        recoveries += 1
    assert recoveries == 6
    assert arm.violations == []
    assert share < 0.2 or arm.driver.counts.missed > 0


@pytest.mark.parametrize("fault", ["mute", "off", "disconnect", "silence"])
def test_an_arm_that_vanishes_while_it_moves_is_stopped_by_its_own_watchdog_and_taken_up_again(fault):
    arm = Safely()
    arm.activate()
    for k in range(50):
        arm.step(Mode.VELOCITY, np.full(7, 0.004 * k))
    arm.wire.fault(fault, 1.0)
    for _ in range(300):
        arm.step(Mode.VELOCITY, np.full(7, 0.2))
    assert arm.cycle.phase is Phase.STOPPED
    arm.wire.run()
    assert arm.emulator.state()["ways"] == ["braked"] * 7
    arm.wire.fault(fault, 0.0)
    arm.activate()
    arm.step(Mode.VELOCITY, np.zeros(7))
    assert arm.cycle.phase is Phase.ACTIVE
    assert arm.violations == []


@pytest.mark.parametrize("late", [0.003, 0.008, 0.05, 0.4])
def test_a_host_that_is_late_stops_the_arm_or_catches_up_but_never_jerks_it(late):
    arm = Safely()
    arm.activate()
    for k in range(60):
        arm.step(Mode.VELOCITY, np.full(7, 0.01 * k))
    arm.clock.sleep(late)
    for _ in range(60):
        arm.step(Mode.VELOCITY, np.full(7, 0.6))
    expected = Phase.ACTIVE if late < 0.008 else Phase.STOPPED
    assert arm.cycle.phase is expected or late == 0.008
    assert arm.violations == []
