# SPDX-License-Identifier: Apache-2.0
"""Bytes of all force sensors: the published ones (docs/force_sensors.md), whatever else comes, and damage."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.force_torque.dynpick import codec as dynpick
from ada_hardware.force_torque.dynpick.codec import DynPickParser
from ada_hardware.force_torque.ft300 import codec as ft300
from ada_hardware.force_torque.rdt import codec as rdt
from ada_hardware.force_torque.rdt.codec import RdtRecord, RdtRequest

ZERO_FRAME = b"0" + b"2000" * 6 + b"\r\n"


class Stream(NamedTuple):
    """A sensor on a serial line: a new parser, the bytes of a record, six counts, and bytes without its end."""

    parser: Callable[[], Any]
    encode: Callable[[int, tuple[int, ...]], bytes]
    read: Callable[[Any], tuple[int, ...]]
    counts: st.SearchStrategy[tuple[int, ...]]
    random: Callable[[random.Random], int]
    uncertain: int  # bytes of a record after which noise may bring the rest


STREAMS = {
    "dynpick": Stream(
        DynPickParser,
        dynpick.encode_record,
        lambda one: getattr(one, "counts", ()),
        st.tuples(*[st.integers(0, 16383)] * 6),
        lambda rng: rng.randrange(16384),
        25,
    ),
    "ft300": Stream(
        ft300.frame_parser,
        lambda number, counts: ft300.encode_frame(counts),
        lambda one: one,
        st.tuples(*[st.integers(-32768, 32767)] * 6),
        lambda rng: rng.randrange(-32768, 32768),
        14,
    ),
}
EACH = pytest.mark.parametrize("name", STREAMS)


@EACH
@given(data=st.data(), piece=st.integers(1, 40))
def test_records_in_pieces_of_any_size_come_back(name: str, data: Any, piece: int) -> None:
    kind = STREAMS[name]
    sent = data.draw(st.lists(kind.counts, max_size=6))
    stream, parser, found = b"".join(kind.encode(i, one) for i, one in enumerate(sent)), kind.parser(), []
    for begin in range(0, len(stream), piece):
        found += parser.feed(stream[begin : begin + piece])
    assert [kind.read(one) for one in found] == sent and parser.refused == 0


@EACH
@pytest.mark.parametrize("size", [20_000, pytest.param(1_000_000, marks=pytest.mark.fuzz)])
def test_noise_neither_raises_nor_is_taken_nor_lasts(name: str, size: int) -> None:
    rng, kind = random.Random(size), STREAMS[name]
    parser, fed, taken, sent = kind.parser(), 0, 0, set()
    length = len(kind.encode(0, (0,) * 6))
    while fed < size:
        values = tuple(kind.random(rng) for _ in range(6))
        data, share = kind.encode(rng.randrange(10), values), rng.random()
        if share < 0.5:
            sent.add(values)
        elif share < 0.7:
            data = data[: rng.randrange(length)]
            sent |= {values} if len(data) >= kind.uncertain else set()
        else:
            data = rng.randbytes(rng.randrange(80))
        fed += len(data)
        found = [kind.read(one) for one in parser.feed(data) if kind.read(one)]
        taken += len(found)
        assert sent.issuperset(found)
    assert taken > size / length / 8
    parser.feed(kind.encode(0, (1,) * 6))
    assert kind.read(parser.feed(kind.encode(0, (2,) * 6))[-1]) == (2,) * 6


def test_the_records_of_a_dynpick_are_the_published_ones() -> None:
    assert len(ZERO_FRAME) == 27
    assert dynpick.encode_record(0, [8192] * 6) == ZERO_FRAME
    assert DynPickParser().feed(ZERO_FRAME) == [dynpick.DynPickRecord(0, (8192,) * 6)]
    assert DynPickParser().feed(b"7000020013FFF1fFfABC00010\r\n") == []  # ABC0 is beyond 14 bits
    assert DynPickParser().feed(b"7000020013FFF1fFf0ABC0010\r\n") == [
        dynpick.DynPickRecord(7, (0, 0x2001, 0x3FFF, 0x1FFF, 0x0ABC, 0x10))
    ]
    for raw, is_saturated in ((0, True), (1, False), (16382, False), (16383, True)):  # the ends of its 14 bits
        assert dynpick.DynPickRecord(0, (8192, 8192, raw, 8192, 8192, 8192)).is_saturated is is_saturated


def test_the_commands_and_answers_of_a_dynpick_are_the_published_ones() -> None:
    c = dynpick
    sent = (c.READ, c.START, c.STOP, c.ZERO, c.SENSITIVITY, c.VERSION)
    assert sent == (b"R", b"S", b"E", b"O", b"p", b"V")
    scales = (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)
    data = c.encode_sensitivity(scales)
    assert data == b"24.900,24.600,24.500,1664.70,1639.70,1638.00\r\n" and len(data) == 46
    (one,) = DynPickParser().feed(data)
    assert isinstance(one, str) and c.decode_sensitivity(one) == scales
    for end in ("", "1,2,3", "6,7", "x", "0", "-6", "nan", "inf"):
        assert c.decode_sensitivity(f"1,2,3,4,5,{end}") is None


@given(st.integers(0, 26), st.integers(0, 255), STREAMS["dynpick"].counts)
def test_a_changed_byte_is_refused_unless_it_is_another_digit(place: int, byte: int, values: tuple[int, ...]) -> None:
    data = bytearray(dynpick.encode_record(5, values))
    data[place] = byte
    found = [one for one in DynPickParser().feed(bytes(data)) if isinstance(one, dynpick.DynPickRecord)]
    is_digit = chr(byte) in ("0123456789" if place == 0 else "0123456789abcdefABCDEF") and place < 25
    if found:
        assert is_digit or data == dynpick.encode_record(5, values)
        assert max(found[0].counts) <= 16383
    else:
        assert not is_digit or max(int(data[i : i + 4], 16) for i in range(1, 25, 4)) > 16383


def test_an_endless_line_is_not_kept() -> None:
    parser = DynPickParser()
    for _ in range(1000):
        assert parser.feed(b"A" * 100) == []
    assert parser.feed(b"\r\n" + ZERO_FRAME) == [dynpick.DynPickRecord(0, (8192,) * 6)]
    assert parser.refused == 1


def test_the_bytes_of_an_ft300_are_the_published_ones() -> None:
    assert ft300.crc(b"123456789") == 0x4B37  # the check value of Modbus
    assert bytes.fromhex("09 10 01 9A 00 01 02 02 00 CD CA") == ft300.START
    frame = ft300.encode_frame([100, -1, 0, 256, 32767, -32768])
    assert frame[:14] == bytes.fromhex("20 4E 64 00 FF FF 00 00 00 01 FF 7F 00 80") and len(frame) == 16
    assert ft300.frame_parser().feed(frame) == [(100, -1, 0, 256, 32767, -32768)]


@given(STREAMS["ft300"].counts, st.integers(0, 15), st.integers(1, 255))
def test_no_changed_byte_of_a_frame_with_a_checksum_is_taken(values: tuple[int, ...], place: int, change: int) -> None:
    frame = bytearray(ft300.encode_frame(values))
    frame[place] ^= change
    assert ft300.frame_parser().feed(bytes(frame)) == []


u32, i32 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("request_, data", [
    (RdtRequest(rdt.START), "1234000200000000"),
    (RdtRequest(rdt.BIAS), "1234004200000000"),
    (RdtRequest(rdt.STOP), "1234000000000000"),
    (RdtRequest(rdt.RESET_THRESHOLD), "1234004100000000"),
    (RdtRequest(rdt.SPEED, 10), "123400820000000a"),
])  # fmt: skip
def test_requests_of_rdt_are_the_published_bytes(request_: RdtRequest, data: str) -> None:
    assert rdt.encode_request(request_) == bytes.fromhex(data)
    assert rdt.decode_request(bytes.fromhex(data)) == request_


def test_a_hand_written_record_of_rdt_reads_as_its_bytes_say() -> None:
    packet = bytes.fromhex("00000007 00000100 80020000 000f4240 fff0bdc0 00000000 00000001 ffffffff 7fffffff")
    assert rdt.decode_records(packet) == [RdtRecord(7, 256, 0x80020000, (1_000_000, -1_000_000, 0, 1, -1, 2**31 - 1))]


@given(st.binary(max_size=120))
def test_packets_that_are_nothing_of_rdt_are_refused(packet: bytes) -> None:
    assert len(rdt.decode_records(packet)) == (0 if len(packet) % 36 else len(packet) // 36)
    if len(packet) != 8 or packet[:2] != b"\x12\x34":
        assert rdt.decode_request(packet) is None
