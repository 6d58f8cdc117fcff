# SPDX-License-Identifier: Apache-2.0
"""A PA-10's controller that shares no code with the driver: its words, a second program on its wire, slow answers."""

from __future__ import annotations

import pytest
from pa10_bus import HELD, LIMIT_FREE, POWER, RELEASED, Bus, Program, cyclic, raw
from peers.pa10_words import BRAKE, CONTROLLER_OFF, NOT_CONTROLLABLE, POWER_OFF, SERVO, TEACHING
from refused import refused

from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, TransportError
from ada_robot.safety.phases import Phase

# docs/pa10_hardware.md: bit of the controller's word that changes, and a word of its meaning
WORDS = {
    "emergency stop": (RELEASED, "emergency stop is pressed"),
    "teaching": (TEACHING, "teaching switch is on"),
    "power": (POWER, "100 V motor supply is off"),
    "dead-man": (HELD, "dead-man switch is released"),
    "limit": (LIMIT_FREE, "limit switch is actuated"),
    "control": (CONTROLLER_OFF, "does not accept control"),
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
    assert not bus.frames[-1].has_servos_on
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
    assert not [frame for frame in bus.frames if frame.has_servos_on]
    bus.word ^= bit
    ours.steps(5)
    ours.cycle.activate(bus.now)
    assert ours.cycle.phase is Phase.ACTIVE


@pytest.mark.parametrize(("word", "words"), [(NOT_CONTROLLABLE, "ended by another host"), (POWER_OFF, "servo is off")])
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
        if frame.has_servos_on:  # type: ignore[attr-defined]
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


def test_switches_are_shown_and_not_obeyed_only_with_obey_switches_false() -> None:
    bus = Bus()
    bus.word = 0
    ours = Program(bus, Pa10Settings(obey_switches=False)).moving()
    assert ours.cycle.feedback.values["emergency stop released"] == 0.0 and bus.speed > 0.05


def second_program_begins(bus: Bus, port: object) -> None:
    """What any host does that opens an arm: E, S, C with brakes on, E; all within one cycle of the first one."""
    for packet in (raw("E", 3), raw("S", 4), cyclic(5), raw("E", 6), raw("S", 7)):
        port.send(packet)  # type: ignore[attr-defined]
        bus.wait(0.0001)


# By what the first program can know of the second: its frames and answers on one card; answers alone; the words of
# its own answers alone, as over UDP, where servos take their time.
WAYS = {
    "overheard": {"overhears": True, "shares_answers": False},
    "answers alone": {"overhears": False, "shares_answers": True},
    "status alone": {"overhears": False, "shares_answers": False, "servo_on": 0.02},
}


@pytest.mark.parametrize("way", WAYS)
def test_an_arm_that_moves_stays_still_once_a_second_program_began_until_somebody_activates_it(way: str) -> None:
    bus = Bus(**WAYS[way])
    ours = Program(bus).moving()
    second_program_begins(bus, bus.host("other"))
    then = bus.now
    for _ in range(500):
        ours.step(0.36)
        assert bus.speed == 0.0
    late = [frame for frame in bus.of("ours") if frame.time > then and frame.moves]
    assert late == []
    assert ours.cycle.phase is Phase.STOPPED
    assert (
        "another program" in ours.cycle.latched
        or "by another host" in ours.cycle.latched
        or "servo" in ours.cycle.latched
    )
    with pytest.raises(HardwareError):
        ours.cycle.activate(bus.now)
    ours.cycle.reset(bus.now)
    ours.steps(3)
    ours.cycle.activate(bus.now)
    ours.steps(100, 0.1)
    assert bus.speed == pytest.approx(0.1, abs=1e-3)


def test_a_single_e_of_another_program_stops_the_cycle_also_where_c_is_not_answered_any_more() -> None:
    bus = Bus()
    ours = Program(bus).moving()
    other = bus.host("other")
    other.send(raw("E", 9))
    bus.silent_on = "C"
    then = bus.now
    ours.steps(2, 0.36)
    assert ours.cycle.phase is Phase.STOPPED
    bus.silent_on = ""
    other.send(raw("S", 10))
    ours.steps(50, 0.36)
    assert not [frame for frame in bus.of("ours") if frame.time > then and frame.moves]
    assert bus.speed == 0.0


def test_our_own_e_that_comes_a_second_time_stops_the_cycle_like_a_foreign_one() -> None:
    bus = Bus(servo_on=0.0)
    ours = Program(bus).moving()
    again = next(frame.data for frame in bus.of("ours") if frame.kind == "E")
    ours.port.send(again)
    bus.take(ours.port, raw("S", 100))
    then = bus.now
    ours.steps(200, 0.36)
    assert ours.cycle.phase is Phase.STOPPED
    assert not [frame for frame in bus.of("ours") if frame.time > then and frame.moves]


def far_from(bus: Bus) -> int:
    return (bus.of("ours")[-1].data[4] + 64) % 128


def test_brakes_that_another_host_closes_for_one_cycle_stop_the_arm_for_good() -> None:
    bus = Bus(overhears=False)
    ours = Program(bus).moving()
    bus.host("other").send(cyclic(far_from(bus)))
    then = bus.now
    ours.steps(200, 0.36)
    assert ours.cycle.phase is Phase.STOPPED and "another program" in ours.cycle.latched
    assert not [frame for frame in bus.of("ours") if frame.time > then and frame.moves]


def test_answers_to_another_hosts_commands_stop_the_arm_whatever_they_say() -> None:
    bus = Bus(overhears=False)
    ours = Program(bus).moving()
    other = bus.host("other")
    for _ in range(2):
        other.send(cyclic(far_from(bus), SERVO, 1800))
        ours.step(0.36)
    ours.step(0.36)
    assert ours.cycle.phase is Phase.STOPPED and "another program" in ours.cycle.latched


def test_an_answer_whose_number_was_damaged_on_the_way_is_no_second_host() -> None:
    bus = Bus()
    ours = Program(bus).moving()
    port = ours.port
    receive = port.receive

    def receive_damaged(timeout: float) -> bytes | None:
        data = receive(timeout)
        return data if data is None else data[:4] + bytes((data[4] ^ 0x40,)) + data[5:]

    port.receive = receive_damaged  # type: ignore[method-assign]
    ours.step(0.36)
    port.receive = receive  # type: ignore[method-assign]
    ours.steps(5, 0.36)
    assert ours.cycle.phase is Phase.ACTIVE, ours.cycle.reason


def test_nothing_is_sent_where_another_program_is_heard_before_the_first_byte() -> None:
    bus = Bus()
    other = bus.host("other")
    ours = Program(bus)
    port = ours.port
    receive = port.receive

    def receive_beside_the_other(timeout: float) -> bytes | None:
        if len(bus.frames) < 20:
            bus.wait(0.002)
            other.send(cyclic(len(bus.frames)))
        return receive(timeout)

    port.receive = receive_beside_the_other  # type: ignore[method-assign]
    with refused(TransportError, field="state", value="in use"):
        ours.cycle.open(bus.now)
    assert bus.of("ours") == []


def test_an_arm_alone_on_its_wire_is_opened_moved_and_closed_without_a_word_of_a_second_host() -> None:
    bus = Bus(servo_on=0.02)
    ours = Program(bus).moving()
    ours.cycle.deactivate(bus.now)
    ours.steps(300)
    assert ours.cycle.phase is Phase.INACTIVE
    ours.cycle.close(bus.now)
    assert "another" not in ours.driver.counts.last_problem
    assert {axis.mode for frame in bus.of("ours")[-2:] for axis in frame.axes} <= {BRAKE}


def test_late_answers_to_ones_own_questions_are_no_second_host() -> None:
    bus = Bus()
    bus.latency = 0.0095  # later than a single command waits: each S, E and A is asked again
    ours = Program(bus)
    with pytest.raises(HardwareError):
        ours.cycle.open(bus.now)
    bus.latency = 0.0003
    ours.open()
    assert ours.cycle.phase is Phase.INACTIVE, ours.cycle.reason


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
