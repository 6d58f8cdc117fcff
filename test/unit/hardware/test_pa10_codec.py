# SPDX-License-Identifier: Apache-2.0
"""Packets and status words of the PA-10 against what is documented of each of them, and against random bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_hardware.pa10.alarms import AXIS_ALARMS, CONTROLLER_ALARMS, alarm_of, alarms, is_only_silence, switches
from ada_hardware.pa10.axis_data import AxisData, axis_of, decode_axis_data, encode_axis_data, read_payload
from ada_hardware.pa10.cyclic import (
    ANGLE_COUNT,
    SPEED_COUNT,
    AxisCommand,
    AxisResponse,
    CyclicCommand,
    CyclicResponse,
    decode_response,
    encode_command,
    encode_response,
)
from ada_hardware.pa10.packets import (
    CONTROLLER,
    HOST,
    Packet,
    PacketParser,
    PacketType,
    alarm_clear_payload,
    encode_packet,
)
from ada_hardware.pa10.variants import CE, OLD_7C, Variant
from ada_robot.errors import Refused

BOTH = pytest.mark.parametrize("kind", [CE, OLD_7C], ids=["ce", "7c"])
variants = st.sampled_from([CE, OLD_7C])
counts16 = st.integers(-0x7FFF, 0x7FFF)


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (PacketType.START, b"", "FF FE FE B7 11 53"),
        (PacketType.END, b"", "FF FE FE B7 11 45"),
        (PacketType.TEACH, b"", "FF FE FE B7 11 54"),
        (PacketType.CLEAR_ALARM, alarm_clear_payload(3), "FF FE FC B7 11 41 00 03"),
        (PacketType.READ, read_payload(4), "FF FE FC B7 11 52 02 20"),
    ],
)
def test_packets_without_a_cycle_are_those_of_the_sources(kind, payload, expected):
    assert encode_packet(Packet(kind, 0x11, payload)) == bytes.fromhex(expected)


def test_a_command_of_a_ce_is_big_endian_mode_torque_speed_and_a_word():
    axes = [AxisCommand(0x0002, 0x0102, -2)] + [AxisCommand(0x0001, 0, 0)] * 5 + [AxisCommand(0x0006, -1, 0x1388)]
    payload = encode_command(CyclicCommand(tuple(axes), 0x0008), CE)
    assert payload == bytes.fromhex("00020102fffe" + "000100000000" * 5 + "0006ffff1388" + "0008")


def test_a_command_of_a_7c_is_little_endian_with_a_byte_of_mode_and_no_word():
    axes = [AxisCommand(0x02, 0x0102, -2)] + [AxisCommand(0x01, 0, 0)] * 5 + [AxisCommand(0x06, -1, 0x1388)]
    payload = encode_command(CyclicCommand(tuple(axes)), OLD_7C)
    assert payload == bytes.fromhex("020201feff" + "0100000000" * 5 + "06ffff8813")


def test_a_response_of_a_ce_is_big_endian_status_angle_speed_torque_and_a_word():
    first = "c060fffffffe01028000"
    payload = bytes.fromhex(first + "00000001e2400000fffe" * 6 + "200d")
    response = decode_response(payload, CE)
    assert response.axes[0] == AxisResponse(0xC060, -2, 0x0102, -0x8000)
    assert response.axes[1:] == (AxisResponse(0, 123456, 0, -2),) * 6
    assert response.controller == 0x200D
    assert encode_response(response, CE) == payload


def test_a_response_of_a_7c_is_little_endian_status_angle_torque_and_a_word():
    payload = bytes.fromhex("60c0feffffff0080" + "000040e20100feff" * 6 + "0d20")
    response = decode_response(payload, OLD_7C)
    assert response.axes[0] == AxisResponse(0xC060, -2, 0, -0x8000)
    assert response.axes[1:] == (AxisResponse(0, 123456, 0, -2),) * 6
    assert response.controller == 0x200D
    assert encode_response(response, OLD_7C) == payload


def test_counts_are_those_of_the_documents():
    assert round(6.283185307179586 / ANGLE_COUNT) == 819_200
    assert SPEED_COUNT == 2e-4


def test_4096_counts_of_torque_are_the_rated_torque_of_a_ce_and_1000_a_newton_metre_of_a_7c():
    assert CE.motor_torque(4.64) * 4096 == pytest.approx(4.64)
    assert CE.motor_torque(4.64) * 4096 * 50.0 == pytest.approx(232.0)  # of the joint, behind the gear
    assert OLD_7C.motor_torque(4.64) == 1e-3


@given(
    variants,
    st.lists(
        st.tuples(st.integers(0, 0xFFFF), st.integers(-(2**31), 2**31 - 1), st.integers(-0x8000, 0x7FFF), counts16),
        min_size=7,
        max_size=7,
    ),
    st.integers(0, 0xFFFF),
)
def test_responses_come_back_as_they_were(kind: Variant, axes, word):
    axes = [axis if kind.tells_speed else (axis[0], axis[1], 0, axis[3]) for axis in axes]
    response = CyclicResponse(tuple(AxisResponse(*axis) for axis in axes), word)
    assert decode_response(encode_response(response, kind), kind) == response


@given(
    variants,
    st.integers(1, 7),
    st.floats(-10.0, 10.0),
    st.floats(-10.0, 10.0),
    st.floats(-10.0, 10.0),
    st.integers(0, 64),
)
def test_stored_data_of_an_axis_come_back_to_half_a_count(kind: Variant, axis, upper, lower, offset, poles):
    payload = encode_axis_data(axis, AxisData(upper, lower, offset, poles), kind)
    back = decode_axis_data(payload, kind)
    assert back is not None
    assert axis_of(payload[:2]) == axis
    assert back.poles == poles
    for told, stored in zip(back[:3], (upper, lower, offset), strict=True):
        assert told == pytest.approx(stored, abs=0.51 * ANGLE_COUNT)


def test_stored_words_stand_where_sdu_reads_them():
    words = [0] * 32
    words[18], words[19] = 0x0006, 0x2480
    words[20], words[21] = 0xFFF9, 0xDB80
    words[22], words[23] = 0x0064, 0x0001
    words[27] = 8
    payload = bytes((1, 32)) + struct.pack("<32H", *words)
    data = decode_axis_data(payload, OLD_7C)
    degrees = 360.0 * 4.0 / (65536.0 * 50.0)
    assert data.upper == pytest.approx(0x62480 * degrees * 3.141592653589793 / 180.0)
    assert data.lower == pytest.approx(-0x62480 * degrees * 3.141592653589793 / 180.0)
    assert data.offset == pytest.approx(0x10064 * degrees * 3.141592653589793 / 180.0)
    assert data.poles == 8


@given(st.sampled_from([HOST, CONTROLLER]), variants, st.integers(0, 0x7F), st.integers(0, 255))
def test_packets_come_back_as_they_were(sender, kind: Variant, sequence, filler):
    receiver = CONTROLLER if sender == HOST else HOST
    size = kind.command.size if sender == HOST else kind.response.size
    packet = Packet(PacketType.CYCLE, sequence, bytes(size), sender, receiver)
    data = bytearray(encode_packet(packet))
    data[3] = filler  # what it is in answers is not known
    assert PacketParser(kind, sender).feed(bytes(data)) == [packet]


ODD = [AxisCommand(2, 0, 40000), AxisCommand(2, 0, -0x8000), AxisCommand(2, 70000, 0)]
STILL = (AxisCommand(),) * 3


@pytest.mark.parametrize(
    ("encode", "facts"),
    [
        *(
            (
                lambda kind=kind, axis=axis: encode_command(CyclicCommand((*STILL, axis, *STILL)), kind),
                {"joint": "axis 4"},
            )
            for kind in (CE, OLD_7C)
            for axis in ODD
        ),
        (lambda: encode_command(CyclicCommand((AxisCommand(0x100),) * 7), OLD_7C), {"field": "mode"}),
        (lambda: encode_command(CyclicCommand((AxisCommand(0x10000),) * 7), CE), {"field": "mode"}),
        (lambda: encode_command(CyclicCommand((AxisCommand(),) * 7, 8), OLD_7C), {"field": "controller", "allowed": 0}),
        (lambda: encode_command(CyclicCommand((AxisCommand(),) * 7, 0x10000), CE), {"field": "controller"}),
        (lambda: encode_command(CyclicCommand((AxisCommand(),) * 6), CE), {"field": "axes", "value": 6}),
        *((lambda axis=axis: alarm_clear_payload(axis), {"field": "axis", "value": axis}) for axis in (0, 8, -1)),
        *((lambda axis=axis: read_payload(axis), {"field": "axis", "value": axis}) for axis in (0, 8, -1)),
        (lambda: encode_packet(Packet(PacketType.START, 128)), {"field": "sequence", "allowed": 127}),
        (lambda: encode_packet(Packet(PacketType.CHANGE, 0, bytes(252))), {"field": "payload", "allowed": 251}),
    ],
)
def test_what_no_packet_can_hold_is_refused(encode, facts):
    with refused(Refused, **facts):
        encode()


@pytest.mark.parametrize(
    ("size", "is_answer"), [(56, False), (57, False), (58, True), (59, False), (60, True), (250, True)]
)
def test_an_answer_from_the_memory_has_an_axis_a_count_and_whole_words_up_to_the_poles_at_least(size, is_answer):
    data = encode_packet(Packet(PacketType.READ, 1, bytes(size), CONTROLLER, HOST))
    assert len(PacketParser(CE, CONTROLLER).feed(data)) == is_answer


@pytest.mark.parametrize(("kind", "sizes"), [(PacketType.CLEAR_ALARM, (0, 2)), (PacketType.MEASURE_ZERO, (0, 2))])
def test_an_answer_about_an_axis_repeats_it_or_says_nothing(kind, sizes):
    packets = [encode_packet(Packet(kind, 1, bytes(size), CONTROLLER, HOST)) for size in range(5)]
    taken = [size for size, data in enumerate(packets) if PacketParser(CE, CONTROLLER).feed(data)]
    assert tuple(taken) == sizes


@BOTH
def test_a_packet_with_any_damage_to_its_head_or_length_is_refused(kind: Variant):
    whole = encode_packet(Packet(PacketType.CYCLE, 9, bytes(kind.response.size), CONTROLLER, HOST))
    parser = PacketParser(kind, CONTROLLER)
    assert len(parser.feed(whole)) == 1
    for at in (0, 1, 2):
        for value in set(range(256)) - {whole[at]}:
            assert parser.feed(whole[:at] + bytes((value,)) + whole[at + 1 :]) == []
    for value in set(range(256)) - {whole[5]}:
        found = parser.feed(whole[:5] + bytes((value,)) + whole[6:])
        assert found == [] or found[0].type is PacketType.READ  # its size is not fixed
    for length in range(len(whole)):
        assert parser.feed(whole[:length]) == []
    assert parser.feed(whole + b"\0") == []
    assert parser.refused > 0
    assert parser.last_problem


def test_the_echo_of_an_own_packet_is_no_answer_and_no_damage():
    parser = PacketParser(CE, CONTROLLER)
    assert parser.feed(encode_packet(Packet(PacketType.START, 0))) == []
    assert parser.refused == 0


@given(st.binary(max_size=300), variants, st.sampled_from([HOST, CONTROLLER]))
def test_a_parser_takes_any_bytes_and_gives_only_packets_that_are_the_same_when_written_again(data, kind, sender):
    for packet in PacketParser(kind, sender).feed(data):
        again = bytearray(encode_packet(packet))
        again[3] = data[3]
        assert bytes(again) == data


@pytest.mark.parametrize(("kind", "odd"), [(PacketType.CYCLE, 1), (PacketType.START, 0), (PacketType.READ, 0)])
def test_of_packets_with_a_payload_of_another_size_those_of_the_cycle_are_counted_as_of_another_variant(kind, odd):
    parser = PacketParser(CE, HOST)
    assert parser.feed(encode_packet(Packet(kind, 0, bytes(3)))) == []
    assert (parser.refused, parser.odd_sizes) == (1, odd)
    assert parser.last_problem == f"3 bytes of payload in a packet {chr(kind)}"


@pytest.mark.parametrize("kind", [PacketType.STORE, PacketType.CHANGE])
def test_a_packet_to_the_memory_carries_up_to_251_bytes(kind):
    parser = PacketParser(CE, HOST)
    for size in (0, 250, 251):
        packet = Packet(kind, 5, bytes(size))
        assert parser.feed(encode_packet(packet)) == [packet]
    with refused(Refused, field="payload", value=252, allowed=251):
        encode_packet(Packet(kind, 5, bytes(252)))


def table(text):
    """Code and a word of its meaning, of docs/pa10_hardware.md."""
    return {int(entry[:3], 16): entry[4:] for entry in text.split("; ")}


OF_AXES = table(
    "010 shared memory; 020 EEPROM; 050 processor; 060 speed differs; 070 resolvers; 080 position; 090 motor torque; "
    "0A0 IPM; 0B0 brake is short; 0C0 resolver at the motor; 0D0 resolver at the gear; 0E0 current; 0F0 too fast; "
    "100 unknown; 110 emergency stop; 120 dead-man; 130 limit switch; FF0 no packet"
)
OF_CONTROLLER = table(
    "020 EEPROM; 030 ARCNET; 040 processor; 050 no packet; 060 too hot; 070 100 V; 100 unknown; 110 emergency stop; "
    "120 dead-man; 130 limit switch"
)
JOINTS = ("s1", "s2", "s3", "e1", "e2", "w1", "w2")


@pytest.mark.parametrize(("code", "words"), OF_AXES.items())
def test_each_documented_alarm_of_an_axis_is_told_in_words_with_what_to_do(code, words):
    alarm = alarm_of(0xC003 | code, AXIS_ALARMS, "e1")
    assert (alarm.code, alarm.joint) == (code, "e1")
    assert words in alarm.text
    assert len(alarm.text.split("; ", 1)[1]) > 10  # a remedy
    assert alarm.is_stop == (code in (0x110, 0x120, 0x130))


@pytest.mark.parametrize(("code", "words"), OF_CONTROLLER.items())
def test_each_documented_alarm_of_the_controller_is_told_in_words(code, words):
    alarm = alarm_of(0x700F | code, CONTROLLER_ALARMS)
    assert (alarm.code, alarm.joint) == (code, "")
    assert words in alarm.text


@given(st.integers(0, 0xFFFF))
def test_any_word_has_one_alarm_or_none(word):
    alarm = alarm_of(word, AXIS_ALARMS, "s1")
    assert (alarm is None) == ((word & 0x0FF0) == 0)
    if alarm is not None and alarm.code not in OF_AXES:
        assert "not documented" in alarm.text
        assert alarm.is_stop  # who does not know what it is does not go on


def test_what_all_axes_and_the_controller_say_alike_is_told_once():
    found = alarms((0xC110,) * 7, 0x4110, JOINTS)
    assert len(found) == 1
    assert found[0].joint == ""
    assert found[0].is_stop
    found = alarms((0xCFF0,) * 7, 0x4050, JOINTS)
    assert len(found) == 1


def test_switches_are_told_as_they_stand():
    assert switches(0x200D) == {
        "dead-man switch held": 1.0,
        "emergency stop released": 1.0,
        "limit switch free": 1.0,
        "motor power on": 1.0,
        "power supply too warm": 0.0,
        "teaching switch on": 0.0,
    }
    assert switches(0x1002)["power supply too warm"] == 1.0
    assert switches(0x1002)["emergency stop released"] == 0.0


@pytest.mark.parametrize(
    ("axes", "controller", "expected"),
    [
        ((0xCFF0,) * 7, 0x4050, True),
        ((0xCFF0,) * 7, 0x4000, True),
        ((0xC000,) * 7, 0x4050, True),
        ((0xC000,) * 7, 0x4000, False),
        ((0xCFF0,) * 6 + (0xC060,), 0x4050, False),
        ((0xCFF0,) * 7, 0x4110, False),
    ],
)
def test_silence_of_the_host_is_told_from_what_is_wrong_with_the_arm(axes, controller, expected):
    assert is_only_silence(axes, controller) == expected
