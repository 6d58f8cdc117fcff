# SPDX-License-Identifier: Apache-2.0
"""The emulated humanoids answer as their documents say, are silent where they say so, and judge what they are told."""

import pytest

from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE
from ada_hardware.kondo.rcb1.codec import ACK, FREE, LOW, Rcb1Code, Rcb1Command, encode_command
from ada_hardware.kondo.rcb1.emulator import Rcb1Emulator, Rcb1EmulatorSettings
from ada_hardware.kondo.rcb4 import codec as m
from ada_hardware.kondo.rcb4 import codec as rcb4
from ada_hardware.kondo.rcb4.codec import COUNTS_PER_DEGREE, HOLD, Move
from ada_hardware.kondo.rcb4.codec import FREE as FREE_COUNTS
from ada_hardware.kondo.rcb4.emulator import Rcb4Emulator, Rcb4EmulatorSettings
from ada_robot.settings import checked

# Awa 2009, table 5, channels 1 to 12 and 13 to 24; 0xE1 = 225 where there is no servo
UPPER = (5, 0, 90, LOW, LOW, 90, 175, 180, 90, LOW, LOW, LOW)
LOWER = (88, 115, 115, 90, 92, LOW, 92, 65, 65, 90, 88, LOW)


def khr1(**settings):
    return Rcb1Emulator(checked(Rcb1EmulatorSettings, settings))


def khr3(**settings):
    return Rcb4Emulator(checked(Rcb4EmulatorSettings, settings))


def sent(emulator, command, now=0.0):
    return [reply.data for reply in emulator.receive(rcb4.encode_command(command), now)]


def told(emulator, text, now=0.0):
    return [reply.data for reply in emulator.receive(bytes.fromhex(text), now)]


def asked(emulator, code, board=-1, values=(), now=0.0):
    replies = emulator.receive(encode_command(Rcb1Command(code, board, tuple(values))), now)
    assert len(replies) <= 1
    return replies[0].data if replies else None


def test_there_is_no_answer_to_a_wrong_checksum_an_unknown_board_or_half_a_command():
    for text in ("FC 00 7B", "FC 05 01", "EF 00 00 6E", "00", "12 34 56", "04 FE 06 09"):
        assert told(khr1(), text) == told(khr3(), text) == []
    emulator = khr1()
    assert told(emulator, "FD 00 04 5A", 0.0) == []
    assert len(told(emulator, "FC 00 7C", 0.1)) == 1  # not taken for the rest


def test_every_answer_has_its_documented_length_and_switches_are_kept():
    emulator = khr1()
    assert asked(emulator, Rcb1Code.SET_SWITCHES, 1, (2,)) == bytes((1, ACK))
    assert tuple(asked(emulator, Rcb1Code.GET_SWITCHES, 1)[1:-1]) == (2,)
    for code in set(Rcb1Code) - {Rcb1Code.SET_ID, Rcb1Code.GET_ID}:
        kind = Rcb1Command(code).kind
        values = tuple(90 if "channel" in field.name else field.lowest for field in kind.fields)
        answer = asked(khr1(free_is_allowed=True, max_step=0), code, 1, values)
        assert len(answer) == kind.reply_length


@pytest.mark.parametrize("speed", range(8))
def test_servos_arrive_together_after_the_largest_way_at_the_speed(speed):
    emulator = khr1(max_step=0)
    target = [LOW] * 12
    target[:3], target[5:9] = [45, 20, 90], [90, 175, 180, 90]
    asked(emulator, Rcb1Code.SET_POSITIONS, 0, (speed, *target), now=1.0)
    duration = SECONDS_PER_DEGREE[speed] * 40
    emulator.advance(1.0 + duration / 2)
    angles = emulator.state()["angles"]
    assert (angles["left_shoulder_pitch"], angles["left_shoulder_roll"]) == pytest.approx((25.0, 10.0), abs=1e-3)
    emulator.advance(1.0 + duration)
    assert emulator.state()["angles"]["left_shoulder_pitch"] == 45.0


def test_the_servos_of_the_khr3_turn_within_their_frames_and_no_faster_than_they_can():
    emulator = khr3(max_step=0)
    sent(emulator, m.MoveServos(100, (Move(0, 8500), Move(2, 7000))), 1.0)
    emulator.advance(1.75)  # half of 100 frames of 15 ms
    angles = emulator.state()["angles"]
    assert angles["neck_yaw"] == pytest.approx(500 / COUNTS_PER_DEGREE, abs=1e-3)
    assert angles["left_shoulder_pitch"] == pytest.approx(-250 / COUNTS_PER_DEGREE, abs=1e-3)
    sent(emulator, m.MoveServos(1, (Move(0, 7500),)), 3.0)
    emulator.advance(3.02)
    wanted = 1000 / COUNTS_PER_DEGREE - 60 / 0.14 * 0.02
    assert emulator.state()["angles"]["neck_yaw"] == pytest.approx(wanted, abs=1e-3)


def raw(*body):
    return bytes((*body, sum(body) & 0x7F))


def with_channel(values, channel, value):
    return (*values[: channel - 1], value, *values[channel:])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (raw(0xFD, 0, 4, *with_channel(UPPER, 6, 200)), "channel 6 is 200"),
        (raw(0xFD, 1, 4, *with_channel(LOWER, 1, 101)), "left_hip_roll: 101"),
        (raw(0xFD, 1, 4, *with_channel(LOWER, 11, 69)), "right_ankle_roll: 69"),
        (raw(0xFD, 1, 5, *with_channel(LOWER, 4, 121)), "left_ankle_pitch: a step of 31"),
        (raw(0xFD, 0, 4, *with_channel(UPPER, 6, FREE)), "neck_yaw: servo freed"),
        (raw(0xFD, 0, 4, *with_channel(UPPER, 6, LOW)), "neck_yaw: servo freed"),
        (raw(0xFD, 0, 9, *UPPER), "speed is 9"),
        (raw(0xF1, 0, 1), "board 1: servo freed"),
        (raw(0xFF, 0x5A, 4), "SET_ID"),
        (raw(0xFD, 1, 7, *with_channel(LOWER, 4, 150)), ""),  # far, but slowly
        (raw(0xFD, 0, 4, *UPPER), ""),
    ],
)
def test_what_must_never_come_to_a_khr1_is_a_violation(frame, text):
    emulator = khr1()
    emulator.receive(frame, 2.5)
    found = [(violation.time, text in violation.text) for violation in emulator.violations]
    assert found == ([(2.5, True)] if text else [])


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (m.MoveServos(1, (Move(0, FREE_COUNTS),)), "neck_yaw: servo freed"),
        (m.MoveServos(10, (Move(12, 7500 - 900),)), "left_hip_roll: 6600"),
        (m.MoveServos(1, (Move(0, 7500 + 1000),)), "neck_yaw: a step of 34"),
    ],
)
def test_what_must_never_come_to_a_khr3_is_a_violation(command, text):
    emulator = khr3()
    sent(emulator, command)
    assert any(text in violation.text for violation in emulator.violations)


def test_a_position_that_no_servo_has_and_one_while_the_program_runs_are_violations():
    emulator, frame = khr3(runs_program=False), bytearray(rcb4.encode_command(m.MoveServos(1, (Move(0, 11500),))))
    frame[8:10] = (11501).to_bytes(2, "little")
    frame[10] = sum(frame[:10]) & 0xFF
    assert emulator.receive(bytes(frame), 0.0)[0].data[2] == 0x15
    assert len(emulator.violations) == 1 and emulator.state()["angles"]["neck_yaw"] == 0.0
    for runs in (False, True):
        emulator = khr3(runs_program=runs)
        sent(emulator, m.MoveServos(10, (Move(0, HOLD),)))
        assert len(emulator.violations) == runs
