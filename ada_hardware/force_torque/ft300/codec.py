# SPDX-License-Identifier: Apache-2.0
"""FT 300 codec: Modbus request that starts the stream, frames of 16 bytes with CRC, stop sequence.

A frame is 0x20 0x4E, six signed little-endian words Fx Fy Fz Mx My Mz, and the Modbus CRC (hygradme/ft300python and
others).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ada_hardware.transport.framing import FrameParser

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
    """Modbus CRC-16: polynomial 0xA001, initial value 0xFFFF."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ 0xA001 if value & 1 else value >> 1
    return value


def with_crc(data: bytes) -> bytes:
    """Append the CRC, low byte first."""
    return data + crc(data).to_bytes(2, "little")


START = with_crc(struct.pack(">BBHHBH", SLAVE, _WRITE, _STREAM_REGISTER, 1, 2, _STREAM_ON))
START_ANSWER = with_crc(struct.pack(">BBHH", SLAVE, _WRITE, _STREAM_REGISTER, 1))


def encode_frame(counts: Sequence[int]) -> bytes:
    """Encode a frame."""
    return with_crc(HEAD + _COUNTS.pack(*counts))


def frame_parser() -> FrameParser[tuple[int, ...]]:
    """Create the parser of frames, which returns their counts."""
    return FrameParser(_length, _decode)


def _length(begin: bytes) -> int | None:
    return FRAME_SIZE if HEAD.startswith(begin[:2]) else None


def _decode(frame: bytes) -> tuple[int, ...] | None:
    return _COUNTS.unpack(frame[2:-2]) if frame == with_crc(frame[:-2]) else None
