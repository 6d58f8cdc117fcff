# SPDX-License-Identifier: Apache-2.0
"""A PA-10 with a second program on its wire, judged by what goes over the wire, by a controller that shares no code."""

from __future__ import annotations

import pytest
from pa10_bus import BRAKE, COMMAND, SERVO, Bus, Program, braked, raw
from refused import refused

from ada_robot.errors import HardwareError, TransportError
from ada_robot.safety.phases import Phase


def second_program_begins(bus: Bus, port: object) -> None:
    """What any host does that opens an arm: E, S, C with brakes on, E; all within one cycle of the first one."""
    for packet in (raw("E", 3), raw("S", 4), braked(5), raw("E", 6), raw("S", 7)):
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
        or "from elsewhere" in ours.cycle.latched
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
    """A bridge that keeps packets, or a replay: the controller obeys it, and answers with a number of ours."""
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
    """A number that is not of the newest cycles."""
    return (bus.of("ours")[-1].data[4] + 64) % 128


def test_brakes_that_another_host_closes_for_one_cycle_stop_the_arm_for_good() -> None:
    bus = Bus(overhears=False)
    ours = Program(bus).moving()
    bus.host("other").send(braked(far_from(bus)))
    then = bus.now
    ours.steps(200, 0.36)
    assert ours.cycle.phase is Phase.STOPPED and "another program" in ours.cycle.latched
    assert not [frame for frame in bus.of("ours") if frame.time > then and frame.moves]


def test_answers_to_another_hosts_commands_stop_the_arm_whatever_they_say() -> None:
    bus = Bus(overhears=False)
    ours = Program(bus).moving()
    other = bus.host("other")
    for _ in range(2):
        other.send(raw("C", far_from(bus), COMMAND.pack(*(7 * [SERVO, 0, 1800]), 0)))
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
            other.send(braked(len(bus.frames)))
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
    assert {frame.modes for frame in bus.of("ours")[-2:] if frame.kind == "C"} <= {(BRAKE,) * 7}


def test_late_answers_to_ones_own_questions_are_no_second_host() -> None:
    bus = Bus()
    bus.latency = 0.0095  # later than a single command waits: each S, E and A is asked again
    ours = Program(bus)
    with pytest.raises(HardwareError):
        ours.cycle.open(bus.now)
    bus.latency = 0.0003
    ours.open()
    assert ours.cycle.phase is Phase.INACTIVE, ours.cycle.reason
