# SPDX-License-Identifier: Apache-2.0
"""Bytes of the FT 300: a Modbus request that starts its stream, frames of 16 bytes with a checksum, and what ends it.

A frame is 0x20 0x4E, six signed words Fx Fy Fz Mx My Mz with the low byte first, and the CRC of Modbus
(hygradme/ft300python and others).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ada_hardware.transport import framing

BAUD, SLAVE = 19_200, 9
SCALE = (100.0,) * 3 + (1000.0,) * 3  # [1/N], [1/(N m)]
RATE = 100.0  # [Hz]
FRAME_SIZE = 16
HEAD = b"\x20\x4e"
STOP = b"\xff" * 50
LOWEST, HIGHEST = -(1 << 15), (1 << 15) - 1
_STREAM_REGISTER, _STREAM_ON = 410, 0x0200
_WRITE = 0x10
_COUNTS = struct.Struct("<6h")


def crc(data: bytes) -> int:
    """CRC-16 of Modbus: polynomial 0xA001, from 0xFFFF."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ 0xA001 if value & 1 else value >> 1
    return value


def with_crc(data: bytes) -> bytes:
    """Data and its checksum, low byte first."""
    return data + crc(data).to_bytes(2, "little")


START = with_crc(struct.pack(">BBHHBH", SLAVE, _WRITE, _STREAM_REGISTER, 1, 2, _STREAM_ON))
START_ANSWER = with_crc(struct.pack(">BBHH", SLAVE, _WRITE, _STREAM_REGISTER, 1))


def encode_frame(counts: Sequence[int]) -> bytes:
    """A frame."""
    return with_crc(HEAD + _COUNTS.pack(*counts))


class FrameParser(framing.FrameParser[tuple[int, ...]]):
    """Finds the counts of frames in what comes in pieces of any size; all else is passed over."""

    def __init__(self) -> None:
        super().__init__(_length, _decode)


def _length(begin: bytes) -> int | None:
    return FRAME_SIZE if HEAD.startswith(begin[:2]) else None


def _decode(frame: bytes) -> tuple[int, ...] | None:
    return _COUNTS.unpack(frame[2:-2]) if frame == with_crc(frame[:-2]) else None
