# SPDX-License-Identifier: Apache-2.0
"""What a PA-10's controller says about switches, power and control is obeyed; judged by the bytes on the wire."""

from __future__ import annotations

import pytest
from pa10_bus import (
    HELD,
    LIMIT_FREE,
    LOCKED,
    POWER,
    RELEASED,
    SERVO,
    TAKES_NO_CONTROL,
    TEACHING,
    UNPOWERED,
    Bus,
    Program,
)
from refused import refused

from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.errors import DeviceAlarm
from ada_robot.safety.phases import Phase

# docs/pa10_hardware.md: bit of the controller's word that changes, and a word of its meaning
WORDS = {
    "emergency stop": (RELEASED, "emergency stop is pressed"),
    "teaching": (TEACHING, "teaching switch is on"),
    "power": (POWER, "100 V for the motors are off"),
    "dead-man": (HELD, "dead-man switch is released"),
    "limit": (LIMIT_FREE, "limit switch is touched"),
    "control": (TAKES_NO_CONTROL, "takes no control"),
}
EACH = pytest.mark.parametrize("name", WORDS)
LATE = 0.003  # [s]: a command that was under way when the word came


def moving_frames(bus: Bus, since: float) -> list[object]:
    return [frame for frame in bus.frames if frame.time > since + LATE and frame.moves]


@EACH
def test_a_word_of_the_controller_stops_an_arm_that_moves_and_it_stays_so_until_reset_and_activation(name: str) -> None:
    bit, words = WORDS[name]
    bus = Bus()
    ours = Program(bus).moving()
    bus.word ^= bit
    then = bus.now
    ours.steps(3, 0.36)
    assert ours.cycle.phase is Phase.STOPPED
    assert words in ours.cycle.latched
    assert bus.frames[-1].kind != "C" or not any(mode & SERVO for mode in bus.frames[-1].modes)
    bus.word ^= bit  # released again: nothing moves by itself
    ours.steps(300, 0.36)
    assert moving_frames(bus, then) == []
    ours.cycle.reset(bus.now)
    ours.steps(3)
    ours.cycle.activate(bus.now)
    ours.steps(50, 0.1)
    assert bus.speed > 0.05


@EACH
def test_activation_is_refused_with_the_word_while_it_stands_and_nothing_is_switched_on(name: str) -> None:
    bit, words = WORDS[name]
    bus = Bus()
    ours = Program(bus).open()
    bus.word ^= bit
    ours.steps(5)
    assert ours.cycle.phase is Phase.INACTIVE
    with pytest.raises(DeviceAlarm) as caught:
        ours.cycle.activate(bus.now)
    assert words in str(caught.value)
    assert ours.cycle.phase is Phase.INACTIVE
    assert not [frame for frame in bus.frames if frame.kind == "C" and any(mode & SERVO for mode in frame.modes)]
    bus.word ^= bit
    ours.steps(5)
    ours.cycle.activate(bus.now)
    assert ours.cycle.phase is Phase.ACTIVE


@pytest.mark.parametrize(("word", "words"), [(LOCKED, "ended from elsewhere"), (UNPOWERED, "servo is off")])
def test_an_axis_that_does_not_follow_any_more_stops_the_arm_with_its_name(word: int, words: str) -> None:
    bus = Bus()
    ours = Program(bus).moving()
    bus.axis_words[3] = word
    then = bus.now
    ours.step(0.36)
    assert ours.cycle.phase is Phase.STOPPED
    assert f"e1: {words}" in ours.cycle.latched or words in ours.cycle.latched
    assert "e1" in ours.cycle.latched
    ours.steps(100, 0.36)
    assert moving_frames(bus, then) == []


def test_a_switch_that_goes_while_servos_come_on_ends_the_start() -> None:
    bus = Bus(servo_on=0.05)
    ours = Program(bus).open()

    def let_go(frame: object) -> None:
        if any(mode & SERVO for mode in frame.modes) if frame.kind == "C" else False:  # type: ignore[attr-defined]
            bus.word &= ~HELD

    bus.each_time = let_go
    with refused(DeviceAlarm, field="alarm", value=HELD):
        ours.cycle.activate(bus.now)
    assert ours.cycle.phase is Phase.STOPPED
    assert bus.frames[-1].kind == "E"


def test_an_arm_without_an_enabling_device_is_driven_only_where_that_was_said_by_name() -> None:
    bus = Bus()
    bus.word &= ~HELD
    ours = Program(bus).open()
    with refused(DeviceAlarm, field="alarm", value=HELD):
        ours.cycle.activate(bus.now)
    other = Bus()
    other.word &= ~HELD
    Program(other, Pa10Settings(dead_man=False)).moving()
