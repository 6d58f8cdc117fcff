# SPDX-License-Identifier: Apache-2.0
"""Packets of RDT: docs/force_sensors.md, and whatever else comes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import Record, Request

u32, i32 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)
records = st.builds(Record, u32, u32, u32, st.tuples(*[i32] * 6))


@pytest.mark.parametrize("request_, data", [
    (Request(codec.START), "1234000200000000"),
    (Request(codec.BIAS), "1234004200000000"),
    (Request(codec.STOP), "1234000000000000"),
    (Request(codec.START_BUFFERED, 5), "1234000300000005"),
    (Request(codec.RESET_THRESHOLD), "1234004100000000"),
    (Request(codec.SPEED, 10), "123400820000000a"),
    (Request(codec.FILTER, 4), "1234008100000004"),
])  # fmt: skip
def test_requests_are_the_published_bytes(request_: Request, data: str) -> None:
    assert codec.encode_request(request_) == bytes.fromhex(data)
    assert codec.decode_request(bytes.fromhex(data)) == request_


def test_a_hand_written_record_reads_as_its_bytes_say() -> None:
    packet = bytes.fromhex("00000007 00000100 80020000 000f4240 fff0bdc0 00000000 00000001 ffffffff 7fffffff")
    assert codec.decode_records(packet) == [
        Record(7, 256, 0x80020000, (1_000_000, -1_000_000, 0, 1, -1, 2**31 - 1))
    ]  # fmt: skip


@given(u32.filter(lambda one: one < 65536), u32)
def test_every_request_comes_back(command: int, value: int) -> None:
    assert codec.decode_request(codec.encode_request(Request(command, value))) == Request(command, value)


@given(st.lists(records, min_size=1, max_size=5))
def test_every_packet_of_records_comes_back(some: list[Record]) -> None:
    packet = codec.encode_records(*some)
    assert len(packet) == 36 * len(some) and codec.decode_records(packet) == some


@given(st.binary(max_size=120).filter(lambda data: len(data) % 36 or not data))
def test_a_packet_of_another_length_is_refused(packet: bytes) -> None:
    assert codec.decode_records(packet) == []


@given(st.binary(max_size=20).filter(lambda data: len(data) != 8 or data[:2] != b"\x12\x34"))
def test_what_is_no_request_is_refused(packet: bytes) -> None:
    assert codec.decode_request(packet) is None


def fuzz(size: int, seed: int) -> None:
    """A packet stands for itself: whatever came before it, the next whole one is read right."""
    rng, fed = random.Random(seed), 0
    while fed < size:
        noise = rng.randbytes(rng.randrange(100))
        fed += len(noise) + 36
        assert len(codec.decode_records(noise)) == (len(noise) // 36 if noise and len(noise) % 36 == 0 else 0)
        codec.decode_request(noise)
        sent = Record(
            rng.getrandbits(32), rng.getrandbits(32), 0, tuple(rng.randrange(-(2**31), 2**31) for _ in range(6))
        )
        assert codec.decode_records(codec.encode_records(sent)) == [sent]


def test_noise_neither_raises_nor_lasts() -> None:
    fuzz(20_000, 1)


@pytest.mark.fuzz
def test_a_million_bytes_of_noise_neither_raise_nor_last() -> None:
    fuzz(1_000_000, 2)


def test_the_words_of_a_status_name_its_bits() -> None:
    assert codec.status_words(0) == ""
    assert codec.status_words(0x80020000) == "status 0x80020000: force or torque is out of range"
    assert codec.status_words(0x80010000) == "status 0x80010000: a threshold was passed (latched)"
    assert "watchdog" in codec.status_words(0x80004000)
    assert "manual" in codec.status_words(0x80000000) and "manual" in codec.status_words(0x80000001)
