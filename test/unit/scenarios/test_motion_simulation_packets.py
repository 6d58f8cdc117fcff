# SPDX-License-Identifier: Apache-2.0
"""Packets of the hybrid motion simulation: round trips, layouts by hand, and that no damaged one is ever taken."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_experiments.motion_simulation.packets import (
    Flags,
    ForcePacket,
    Packet,
    PicturePacket,
    PosePacket,
    decode,
    encode,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)
SEQUENCES = st.integers(0, (1 << 32) - 1)
CLOCKS = st.integers(0, (1 << 64) - 1)
FLAGS = st.integers(0, 127).map(Flags)


def several(count: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(NUMBERS, min_size=count, max_size=count).map(lambda values: np.array(values, dtype=float))


@st.composite
def poses(draw: st.DrawFn) -> np.ndarray:
    turn = np.array(draw(st.tuples(*[st.floats(-1.0, 1.0)] * 4)))
    size = float(np.linalg.norm(turn))
    turn = turn / size if size > 1e-3 else np.array([0.0, 0.0, 0.0, 1.0])
    return np.concatenate([draw(several(3)), turn])


POSE_PACKETS = st.builds(PosePacket, SEQUENCES, NUMBERS, CLOCKS, poses(), several(6), FLAGS)
FORCE_PACKETS = st.builds(
    ForcePacket, SEQUENCES, NUMBERS, CLOCKS, CLOCKS, several(6), poses(), FLAGS, st.text(max_size=40)
)
PICTURES = st.builds(
    PicturePacket,
    SEQUENCES,
    NUMBERS,
    several(6),
    several(3),
    poses(),
    NUMBERS,
    st.integers(0, 64).flatmap(several),
    FLAGS,
)
PACKETS = st.one_of(POSE_PACKETS, FORCE_PACKETS, PICTURES)


def same(one: Packet, other: Packet | None) -> bool:
    if other is None or type(one) is not type(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(a, b, equal_nan=not isinstance(a, str)) for a, b in pairs)


def one_of_each() -> list[Packet]:
    pose = np.array([0.1, 0.2, -0.5, 0.0, 0.0, 0.0, 1.0])
    return [
        PosePacket(7, 0.25, 123, pose, np.arange(6.0), Flags.RUN),
        ForcePacket(8, 0.24, 122, 55, np.arange(6.0), pose, Flags.READY, "äß"),
        PicturePacket(9, 0.3, np.arange(6.0), np.ones(3), pose, 0.005, np.arange(22.0), Flags.TOUCHING),
    ]


@given(PACKETS)
def test_what_is_encoded_is_decoded(packet: Packet) -> None:
    assert same(packet, decode(encode(packet)))


def test_a_pose_is_laid_out_as_documented() -> None:
    pose = one_of_each()[0]
    head = struct.pack(">2sBBIH", b"HM", 2, 1, 7, 1)
    body = (
        struct.pack(">dQ", 0.25, 123) + struct.pack(">7d", 0.1, 0.2, -0.5, 0, 0, 0, 1) + struct.pack(">6d", *range(6))
    )
    data = head + body
    assert encode(pose) == data + struct.pack(">I", zlib.crc32(data))


@pytest.mark.parametrize("packet", one_of_each(), ids=["pose", "force", "picture"])
def test_no_packet_with_a_wrong_bit_is_taken(packet: Packet) -> None:
    data = encode(packet)
    for i in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[i // 8] ^= 1 << (i % 8)
        assert decode(bytes(wrong)) is None


@given(
    st.binary(max_size=300), st.sampled_from(one_of_each()), st.lists(st.tuples(st.integers(0), st.integers(0, 255)))
)
def test_random_bytes_and_damaged_packets_are_never_taken(noise: bytes, packet: Packet, damage: list[Any]) -> None:
    assert decode(noise) is None
    data = bytearray(encode(packet))
    for place, value in damage:
        data[place % len(data)] = value
    assert bytes(data) == encode(packet) or decode(bytes(data)) is None
