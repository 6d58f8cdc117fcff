# SPDX-License-Identifier: Apache-2.0
"""Packets of the HEXA table: their layout byte by byte, round trips, damage, numbers that wrap, alarms in words."""

import math
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from ada_hardware.hexa.alarms import AxisAlarm, TableAlarm, alarms_of
from ada_hardware.hexa.kinematics import JOINTS
from ada_hardware.hexa.packets import (
    COMMAND_SIZE,
    NUMBERS,
    STATUS_SIZE,
    CommandPacket,
    TableRequest,
    TableState,
    TableStatus,
    decode_command,
    decode_status,
    encode_command,
    encode_status,
    is_newer,
)
from ada_robot.errors import Refused

finite = st.floats(allow_nan=False, allow_infinity=False)
words, numbers = st.integers(0, 0xFFFF), st.integers(0, NUMBERS - 1)
commands = st.builds(CommandPacket, st.sampled_from(TableRequest), numbers, numbers, st.tuples(*[finite] * 6))
six = st.tuples(*[finite] * 6)
statuses = st.builds(
    TableStatus, st.sampled_from(TableState), numbers, numbers, words, st.tuples(*[words] * 6), finite, six, six, six
)
A_COMMAND = CommandPacket(TableRequest.POSITION, 0x01020304, 0xA1B2C3D4, (1.0, -1.0, 0.5, 0.0, 2.0, -0.25))
A_STATUS = TableStatus(
    TableState.EFFORT, 7, 9, 0x0003, (0, 1, 2, 4, 8, 16), 1.5, (1.0,) * 6, (-2.0,) * 6, (0.5, 0.0, 0.0, 0.0, 0.0, -0.5)
)


def test_a_command_has_the_bytes_that_the_page_says():
    body = bytes.fromhex(
        "4858 01 02 01020304 a1b2c3d4"
        "3ff0000000000000 bff0000000000000 3fe0000000000000 0000000000000000 4000000000000000 bfd0000000000000"
    )
    packet = encode_command(A_COMMAND)
    assert packet[:60] == body
    assert packet[60:] == struct.pack(">I", zlib.crc32(body))
    assert len(packet) == COMMAND_SIZE == 64


def test_a_status_has_the_bytes_that_the_page_says():
    packet = encode_status(A_STATUS)
    assert packet[:28] == bytes.fromhex("4853 01 02 00000007 00000009 0003 0000 0001 0002 0004 0008 0010 0000")
    assert packet[28:36] == bytes.fromhex("3ff8000000000000")
    assert packet[36:84] == bytes.fromhex("3ff0000000000000") * 6
    assert packet[84:132] == bytes.fromhex("c000000000000000") * 6
    assert packet[132:140] == bytes.fromhex("3fe0000000000000")
    assert packet[180:] == struct.pack(">I", zlib.crc32(packet[:180]))
    assert len(packet) == STATUS_SIZE == 184


CODECS = {"command": (commands, encode_command, decode_command), "status": (statuses, encode_status, decode_status)}


@pytest.mark.parametrize("kind", CODECS)
@given(data=st.data())
def test_packets_come_back_as_they_were_and_with_one_bit_changed_are_none(kind, data):
    made, encode, decode = CODECS[kind]
    value = data.draw(made)
    packet = bytearray(encode(value))
    assert decode(bytes(packet)) == value
    bit = data.draw(st.integers(0, 8 * len(packet) - 1))
    packet[bit // 8] ^= 1 << bit % 8
    assert decode(bytes(packet)) is None


@pytest.mark.parametrize(("at", "value"), [(2, 2), (3, 77)])
def test_another_version_or_an_unknown_request_is_none_even_when_it_is_whole(at, value):
    for packet, decode in ((encode_command(A_COMMAND), decode_command), (encode_status(A_STATUS), decode_status)):
        body = bytearray(packet[:-4])
        body[at] = value
        assert decode(bytes(body) + struct.pack(">I", zlib.crc32(body))) is None


def test_a_status_that_is_not_finite_is_none():
    for bad in (math.nan, math.inf):
        assert decode_status(encode_status(A_STATUS._replace(rates=(bad, 0.0, 0.0, 0.0, 0.0, 0.0)))) is None
        assert decode_status(encode_status(A_STATUS._replace(time=bad))) is None


@pytest.mark.parametrize("values", [(math.nan,) + (0.0,) * 5, (math.inf,) + (0.0,) * 5, (0.0,) * 5, (0.0,) * 7])
def test_values_that_are_none_never_become_bytes(values):
    with refused(Refused, field="values"):
        encode_command(A_COMMAND._replace(values=values))


@given(numbers, st.integers(1, NUMBERS // 2 - 1))
@settings(max_examples=50)
def test_numbers_are_newer_across_the_wrap(number, ahead):
    later = (number + ahead) % NUMBERS
    assert is_newer(later, number)
    assert not is_newer(number, later)
    assert not is_newer(number, number)


def test_alarms_are_told_in_words_by_joint_and_unknown_bits_by_number():
    status = A_STATUS._replace(
        alarms=int(TableAlarm.EMERGENCY_STOP) | 0x8000, axis_alarms=(0, int(AxisAlarm.RESOLVER), 0, 0, 0, 0)
    )
    stop, unknown, resolver = alarms_of(status, JOINTS)
    assert stop.is_stop
    assert "release it, then reset" in stop.text
    assert not unknown.is_stop
    assert "unknown alarm bit 0x8000" in unknown.text
    assert resolver.joint == "leg_2_crank"
    assert "resolver signal lost" in resolver.text
