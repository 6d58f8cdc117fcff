# SPDX-License-Identifier: Apache-2.0
"""CDR, the encoding of ROS 2 messages: little-endian numbers, aligned to their size after a header of four bytes.

OMG DDSI-RTPS, 10: "CDR_LE". The layout of a message with constant strings and lengths is computed once, with slots for
its numbers; many messages are then filled together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

HEADER = b"\x00\x01\x00\x00"  # plain CDR, little-endian, no options
NANOSECONDS = 1_000_000_000
_DOUBLE = 8


class Slot(NamedTuple):
    """Position of numbers in a message."""

    name: str
    offset: int
    size: int  # number of floating-point numbers


class Layout:
    """Layout of a message."""

    def __init__(self) -> None:
        """Initialize the layout with the header."""
        self._bytes = bytearray(HEADER)
        self._slots: list[Slot] = []
        self._stamps: list[int] = []

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(HEADER)) % size)

    def uint32(self, value: int) -> None:
        """Append a constant number."""
        self._align(4)
        self._bytes += struct.pack("<I", value)

    def string(self, text: str) -> None:
        """Append a constant string with its terminating zero."""
        raw = text.encode() + b"\x00"
        self.uint32(len(raw))
        self._bytes += raw

    def strings(self, texts: Sequence[str]) -> None:
        """Append a sequence of strings."""
        self.uint32(len(texts))
        for text in texts:
            self.string(text)

    def doubles(self, slot: str, count: int) -> None:
        """Append a slot for a fixed number of floating-point numbers."""
        self._align(_DOUBLE)
        self._slots.append(Slot(slot, len(self._bytes), count))
        self._bytes += bytes(_DOUBLE * count)

    def double_sequence(self, slot: str, count: int) -> None:
        """Append a slot for a sequence of floating-point numbers; an empty sequence is not aligned."""
        self.uint32(count)
        if count:
            self.doubles(slot, count)

    def time(self) -> None:
        """Append a slot for builtin_interfaces/Time: seconds and nanoseconds."""
        self._align(4)
        self._stamps.append(len(self._bytes))
        self._bytes += bytes(8)

    def header(self, frame: str) -> None:
        """Append std_msgs/Header: a slot for the time, and a frame."""
        self.time()
        self.string(frame)

    def fixed(self) -> Message:
        """Return the message with this layout."""
        return Message(bytes(self._bytes), self._slots, self._stamps)


class Message:
    """A message with slots for numbers and times."""

    def __init__(self, raw: bytes, slots: Sequence[Slot], stamps: Sequence[int]) -> None:
        """Initialize the message from a `Layout`.

        Args:
            raw: bytes of the message.
            slots: slots of numbers.
            stamps: positions of times.
        """
        self._raw = np.frombuffer(raw, dtype=np.uint8)
        self._slots = list(slots)
        self._stamps = list(stamps)
        # After the header, values are aligned to their size, so positions are multiples of words or doubles.
        self._words = np.array([[(at - len(HEADER)) // 4 + i for i in (0, 1)] for at in self._stamps], dtype=np.intp)
        places = [range((at - len(HEADER)) // _DOUBLE, (at - len(HEADER)) // _DOUBLE + n) for _, at, n in self._slots]
        self._doubles = np.array([place for some in places for place in some], dtype=np.intp)
        self._end = len(HEADER) + (len(raw) - len(HEADER)) // _DOUBLE * _DOUBLE

    def fill_one(self, time: int, numbers: Array) -> bytes:
        """Return one message; faster than `fill`.

        Args:
            time: time of the message [ns].
            numbers: numbers of all slots, concatenated.
        """
        raw = self._raw.copy()
        if self._stamps:
            body = raw[len(HEADER) : len(HEADER) + (len(raw) - len(HEADER)) // 4 * 4]
            body.view("<u4")[self._words] = divmod(time, NANOSECONDS)
        if len(self._doubles):
            raw[len(HEADER) : self._end].view("<f8")[self._doubles] = numbers
        return raw.tobytes()

    def fill(self, times: Sequence[int] | NDArray[np.int64], values: dict[str, Array]) -> list[bytes]:
        """Return many messages.

        Args:
            times: times of the messages [ns].
            values: numbers by slot, one row per message.
        """
        ns = np.asarray(times, dtype=np.int64)
        rows = np.tile(self._raw, (len(ns), 1))
        stamp = np.stack([ns // NANOSECONDS, ns % NANOSECONDS], axis=1).astype("<u4")
        for offset in self._stamps:
            rows[:, offset : offset + 8] = stamp.view(np.uint8)
        for name, offset, count in self._slots:
            numbers = np.ascontiguousarray(values[name], dtype="<f8").reshape(len(ns), count)
            rows[:, offset : offset + _DOUBLE * count] = numbers.view(np.uint8)
        return [row.tobytes() for row in rows]


def text_message(text: str) -> bytes:
    """Return a std_msgs/String."""
    layout = Layout()
    layout.string(text)
    return bytes(layout._bytes)


def table_message(table: Array) -> bytes:
    """Return a std_msgs/Float64MultiArray of a table, row by row."""
    rows, columns = table.shape
    layout = Layout()
    layout.uint32(2)  # dimensions, each with its size and stride
    for label, size, stride in (("rows", rows, rows * columns), ("columns", columns, columns)):
        layout.string(label)
        layout.uint32(size)
        layout.uint32(stride)
    layout.uint32(0)  # data_offset
    layout.uint32(rows * columns)
    layout._align(_DOUBLE)
    return bytes(layout._bytes) + np.ascontiguousarray(table, dtype="<f8").tobytes()


class Reader:
    """Reader of the messages that this module writes.

    Raises:
        ValueError: the message is truncated or has another format.
    """

    def __init__(self, raw: bytes) -> None:
        """Initialize the reader with a whole message."""
        if raw[:4] != HEADER:
            raise ValueError(f"a message starts with {raw[:4].hex()}, which is not little-endian CDR")
        self._raw = raw
        self._at = len(HEADER)

    def _take(self, size: int, alignment: int) -> int:
        start = self._at + -(self._at - len(HEADER)) % alignment
        if start + size > len(self._raw):
            raise ValueError(f"a message of {len(self._raw)} bytes is truncated")
        self._at = start + size
        return start

    def uint32(self) -> int:
        """Read a number."""
        value: int = struct.unpack_from("<I", self._raw, self._take(4, 4))[0]
        return value

    def string(self) -> str:
        """Read a string."""
        size = self.uint32()
        start = self._take(size, 1)
        return self._raw[start : start + size - 1].decode()

    def table(self) -> Array:
        """Read a Float64MultiArray with two dimensions."""
        if self.uint32() != 2:
            raise ValueError("a table of states does not have two dimensions")
        shape = []
        for _ in range(2):
            self.string()
            shape.append(self.uint32())
            self.uint32()
        self.uint32()
        count = self.uint32()
        if count != shape[0] * shape[1]:
            raise ValueError(f"a table of {shape[0]} x {shape[1]} states has {count} numbers")
        start = self._take(_DOUBLE * count, _DOUBLE if count else 1)
        return np.frombuffer(self._raw, dtype="<f8", count=count, offset=start).reshape(shape)
