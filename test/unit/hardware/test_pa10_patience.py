# SPDX-License-Identifier: Apache-2.0
"""How long a PA-10's driver waits, and what it says then: slow ways, a stop while the arm starts."""

from __future__ import annotations

import pytest
from pa10_bus import Bus, Program
from refused import refused

from ada_robot.errors import HardwareError, NoAnswer
from ada_robot.safety.phases import Phase

SOON = 0.2  # [s]: packets that are under way, joints to rest, brakes, E


@pytest.mark.parametrize("latency", [0.003, 0.005, 0.007, 0.02])
def test_answers_that_come_too_late_for_a_cycle_are_told_as_late_and_not_as_another_variant(latency: float) -> None:
    bus = Bus()
    bus.latency = latency
    with pytest.raises(NoAnswer) as caught:
        Program(bus).open()
    if latency < 0.008:
        assert caught.value.field == "reply_timeout" and caught.value.allowed == pytest.approx(latency, rel=0.01)
    else:  # nothing is answered in time
        assert caught.value.field == "packet"


def test_a_controller_that_leaves_c_unanswered_may_be_of_the_other_variant() -> None:
    bus = Bus()
    bus.silent_on = "C"
    with refused(NoAnswer, field="variant", value="ce"):
        Program(bus).open()


@pytest.mark.parametrize("obstacle", ["alarms are not cleared", "the start is not answered", "servos do not come on"])
def test_a_stop_while_the_arm_starts_comes_into_force_within_a_fraction_of_a_second(obstacle: str) -> None:
    bus = Bus(servo_on=1e9 if obstacle == "servos do not come on" else 0.0)
    ours = Program(bus).open()
    bus.silent_on = {"alarms are not cleared": "A", "the start is not answered": "S"}.get(obstacle, "")
    wanted_at = bus.now + 0.05

    def stop_wanted() -> str:
        return "a person fell" if bus.now >= wanted_at else ""

    with pytest.raises(HardwareError):
        ours.cycle.activate(bus.now, stop_wanted)
    assert bus.now - wanted_at < SOON
    assert ours.cycle.phase is Phase.STOPPED
    assert ours.cycle.latched == "stop: a person fell"
    assert bus.frames[-1].kind == "E"
    assert not [frame for frame in bus.frames if frame.moves]
