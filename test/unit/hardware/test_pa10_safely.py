# SPDX-License-Identifier: Apache-2.0
"""The PA-10 under the rules of safety, whatever is commanded and whatever fails: the emulated arm is the judge."""

from __future__ import annotations

import numpy as np
import pytest
from pa10_stream import Stream
from peers.pa10_words import ANGLE as ANGLE_COUNT

from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings


def made(variant: str = "ce") -> Stream:
    return Stream(SafetySettings(record_seconds=0.0), variant)


@pytest.mark.parametrize("variant", ["ce", "7c"])
def test_random_commands_and_ends_never_send_what_must_not_be_sent_and_no_start_moves_the_arm(variant):
    chance = np.random.default_rng(3)
    arm = made(variant)
    speed = np.array([limit.velocity for limit in arm.driver.limits])
    for trial in range(12):
        before = arm.arm.arm.q.copy()
        arm.activate()
        arm.step()
        arm.step()
        assert np.abs(arm.arm.arm.q - before).max() <= ANGLE_COUNT
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
        arm.until_rest()
        assert arm.arm.state()["ways"] == ["braked"] * 7
    assert arm.violations == []
    assert sum(arm.cycle.check.refused.values()) > 0


@pytest.mark.parametrize("when", ["inactive", "starting", "still", "moving", "stopping"])
@pytest.mark.parametrize("fault", ["emergency_stop", "axis_alarm", "limit_switch"])
def test_an_alarm_in_each_phase_stops_the_arm_until_it_is_reset(when, fault):
    arm = made()
    value = 2 + 0x0E0 / 4096 if fault == "axis_alarm" else 1.0
    if when == "inactive":
        arm.steps(5)
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
    arm.steps(2)
    assert arm.cycle.phase is Phase.STOPPED
    assert arm.violations == []
    arm.wire.fault(fault, 0.0)
    arm.activate()
    arm.step(Mode.VELOCITY, np.zeros(7))
    assert arm.cycle.phase is Phase.ACTIVE
    assert arm.violations == []
