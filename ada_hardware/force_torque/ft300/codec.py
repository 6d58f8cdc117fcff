# SPDX-License-Identifier: Apache-2.0
"""Bytes of the FT 300: a Modbus request that starts its stream, frames of 16 bytes with a checksum, and what ends it.

A frame is 0x20 0x4E, six signed words Fx Fy Fz Mx My Mz with the low byte first, and the CRC of Modbus
(hygradme/ft300python and others).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

BAUD, SLAVE = 19_200, 9
FORCE_SCALE, MOMENT_SCALE = 100.0, 1000.0  # [1/N], [1/(N m)]
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


class FrameParser:
    """Finds frames in what comes in pieces of any size; all else is passed over.

    Attributes:
        refused: runs of bytes that were no frame.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._rest = b""
        self._is_in_run = False

    def feed(self, data: bytes) -> list[tuple[int, ...]]:
        """The counts of all frames that are complete by now, in order."""
        found: list[tuple[int, ...]] = []
        rest, at = self._rest + data, 0
        while True:
            begin = rest.find(HEAD, at)
            # the last byte may be the first half of a head, unless it belongs to a frame that was found
            end = begin if begin >= 0 else len(rest) - rest.endswith(HEAD[:1], at)
            self._pass_over(end - at)
            at = end
            frame = rest[at : at + FRAME_SIZE]
            if begin < 0 or len(frame) < FRAME_SIZE:
                self._rest = rest[at:]
                return found
            if crc(frame[:-2]) == int.from_bytes(frame[-2:], "little"):
                found.append(_COUNTS.unpack(frame[2:-2]))
                self._is_in_run = False
                at += FRAME_SIZE
            else:
                self._pass_over(1)
                at += 1

    def _pass_over(self, count: int) -> None:
        if count > 0 and not self._is_in_run:
            self.refused += 1
            self._is_in_run = True

    def restart(self) -> None:
        """Forget what is incomplete."""
        self._rest, self._is_in_run = b"", False
