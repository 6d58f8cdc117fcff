# SPDX-License-Identifier: Apache-2.0
"""Bytes of the DynPick: docs/force_sensors.md, whatever else comes, and how long damage lasts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.force_torque.dynpick import codec
from ada_hardware.force_torque.dynpick.codec import DynPickParser, Record, Text

ZERO_FRAME = b"0" + b"2000" * 6 + b"\r\n"
counts = st.tuples(*[st.integers(0, 16383)] * 6)


def test_the_frame_of_no_load_is_the_published_one() -> None:
    assert len(ZERO_FRAME) == 27
    assert codec.encode_record(0, [8192] * 6) == ZERO_FRAME
    assert DynPickParser().feed(ZERO_FRAME) == [Record(0, (8192,) * 6)]


def test_a_hand_written_frame_reads_as_its_digits_say() -> None:
    assert DynPickParser().feed(b"7000020013FFF1fFfABC00010\r\n") == []  # ABC0 is beyond 14 bits
    assert DynPickParser().feed(b"7000020013FFF1fFf0ABC0010\r\n") == [
        Record(7, (0, 0x2001, 0x3FFF, 0x1FFF, 0x0ABC, 0x10))
    ]


def test_the_commands_are_the_published_letters() -> None:
    sent = (codec.READ, codec.START, codec.STOP, codec.ZERO, codec.SENSITIVITY, codec.VERSION, codec.TEMPERATURE)
    assert sent == (b"R", b"S", b"E", b"O", b"p", b"V", b"T")
    assert [codec.filter_command(one) for one in codec.DIVIDERS] == [b"1F", b"2F", b"4F", b"8F"]
    assert codec.FILTER_QUERY == b"0F"


def test_the_answer_with_the_sensitivities_has_46_bytes() -> None:
    data = codec.encode_sensitivity((24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0))
    assert data == b"24.900,24.600,24.500,1664.70,1639.70,1638.00\r\n" and len(data) == 46
    (one,) = DynPickParser().feed(data)
    assert isinstance(one, Text)
    assert codec.decode_sensitivity(one.text) == (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)


@pytest.mark.parametrize("text", ["", "1,2,3,4,5", "1,2,3,4,5,6,7", "1,2,3,4,5,x", "1,2,3,4,5,0", "1,2,3,4,5,-6",
                                  "1,2,3,4,5,nan", "1,2,3,4,5,inf"])  # fmt: skip
def test_what_is_no_six_positive_numbers_is_no_sensitivity(text: str) -> None:
    assert codec.decode_sensitivity(text) is None


def test_a_temperature_counts_sixteenths_of_a_degree() -> None:
    assert codec.decode_temperature("0190") == 25.0
    assert codec.decode_temperature("01A4") == 26.25
    assert codec.encode_temperature(25.0) == b"0190\r\n"
    assert codec.decode_temperature("19") is codec.decode_temperature("01G0") is None


@given(st.integers(-40 * 16, 125 * 16))
def test_temperatures_come_back(sixteenths: int) -> None:
    assert codec.decode_temperature(codec.encode_temperature(sixteenths / 16)[:-2].decode()) == sixteenths / 16


def test_the_answer_of_the_filter_has_three_bytes() -> None:
    assert codec.encode_filter(8) == b"8\r\n"
    assert codec.decode_filter("8") == 8
    assert codec.decode_filter("3") is codec.decode_filter("") is None


@given(st.integers(0, 9), counts)
def test_every_record_comes_back(number: int, values: tuple[int, ...]) -> None:
    assert DynPickParser().feed(codec.encode_record(number, values)) == [Record(number, values)]


@given(st.lists(st.tuples(st.integers(0, 9), counts), max_size=8), st.integers(1, 40))
def test_records_in_pieces_of_any_size_are_the_same(records: list[tuple[int, tuple[int, ...]]], piece: int) -> None:
    data = b"".join(codec.encode_record(*one) for one in records)
    parser, found = DynPickParser(), []
    for begin in range(0, len(data), piece):
        found += parser.feed(data[begin : begin + piece])
    assert found == [Record(*one) for one in records] and parser.refused == 0


@pytest.mark.parametrize("raw, is_saturated", [(0, True), (1, False), (8192, False), (16382, False), (16383, True)])
def test_an_axis_at_an_end_of_its_14_bits_is_saturated(raw: int, is_saturated: bool) -> None:
    assert Record(0, (8192, 8192, raw, 8192, 8192, 8192)).is_saturated is is_saturated


@given(st.binary(max_size=600), counts)
def test_of_two_frames_behind_anything_the_second_is_taken(noise: bytes, values: tuple[int, ...]) -> None:
    parser = DynPickParser()
    parser.feed(noise)
    found = parser.feed(codec.encode_record(3, [1] * 6)) + parser.feed(codec.encode_record(4, values))
    assert found[-1] == Record(4, values)


@given(st.integers(0, 26), st.integers(0, 255), counts)
def test_a_changed_byte_is_refused_unless_it_is_another_digit(place: int, byte: int, values: tuple[int, ...]) -> None:
    data = bytearray(codec.encode_record(5, values))
    data[place] = byte
    found = [one for one in DynPickParser().feed(bytes(data)) if isinstance(one, Record)]
    is_digit = chr(byte) in ("0123456789" if place == 0 else "0123456789abcdefABCDEF") and place < 25
    if found:
        assert is_digit or data == codec.encode_record(5, values)
        assert max(found[0].counts) <= 16383
    else:
        assert not is_digit or max(int(data[i : i + 4], 16) for i in range(1, 25, 4)) > 16383


def fuzz(size: int, seed: int) -> None:
    """Frames, halves of them and noise in pieces of any size: nothing raises, all that is taken was sent."""
    rng = random.Random(seed)
    parser, fed, sent = DynPickParser(), 0, set()
    taken = 0
    while fed < size:
        frame = codec.encode_record(rng.randrange(10), [rng.randrange(16384) for _ in range(6)])
        kind = rng.random()
        if kind < 0.5:
            sent.add(frame)
            data = frame
        elif kind < 0.7:
            data = frame[: rng.randrange(27)]
            if len(data) >= 25:  # only the end is missing, which noise may bring
                sent.add(frame)
        else:
            data = rng.randbytes(rng.randrange(80))
        fed += len(data)
        for one in parser.feed(data):
            if isinstance(one, Record):
                taken += 1
                assert codec.encode_record(*one) in sent
    assert taken > size / 27 / 8
    for _ in range(2):
        last = parser.feed(ZERO_FRAME)
    assert last == [Record(0, (8192,) * 6)]


def test_noise_neither_raises_nor_lasts() -> None:
    fuzz(20_000, 1)


@pytest.mark.fuzz
def test_a_million_bytes_of_noise_neither_raise_nor_last() -> None:
    fuzz(1_000_000, 2)


def test_an_endless_line_is_not_kept() -> None:
    parser = DynPickParser()
    for _ in range(1000):
        assert parser.feed(b"A" * 100) == []
    assert parser.feed(b"\r\n" + ZERO_FRAME) == [Record(0, (8192,) * 6)]
    assert parser.refused == 1
