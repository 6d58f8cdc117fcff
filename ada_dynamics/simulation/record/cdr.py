# SPDX-License-Identifier: Apache-2.0
"""CDR, the encoding of ROS 2 messages: little-endian numbers, aligned to their size behind a header of four bytes.

OMG DDSI-RTPS, 10: "CDR_LE". Messages whose strings and lengths stay the same are laid out once, with slots for their
numbers; many of them are then filled at once.
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
    """Where numbers belong in a message."""

    name: str
    offset: int
    size: int  # how many numbers


class Layout:
    """A message being laid out."""

    def __init__(self) -> None:
        """Begin with the header."""
        self._bytes = bytearray(HEADER)
        self._slots: list[Slot] = []
        self._stamps: list[int] = []

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(HEADER)) % size)

    def uint32(self, value: int) -> None:
        """A number that stays the same."""
        self._align(4)
        self._bytes += struct.pack("<I", value)

    def string(self, text: str) -> None:
        """A text that stays the same, ended by a zero that counts."""
        raw = text.encode() + b"\x00"
        self.uint32(len(raw))
        self._bytes += raw

    def strings(self, texts: Sequence[str]) -> None:
        """A sequence of texts."""
        self.uint32(len(texts))
        for text in texts:
            self.string(text)

    def doubles(self, slot: str, count: int) -> None:
        """Room for numbers of a message with a fixed number of them."""
        self._align(_DOUBLE)
        self._slots.append(Slot(slot, len(self._bytes), count))
        self._bytes += bytes(_DOUBLE * count)

    def double_sequence(self, slot: str, count: int) -> None:
        """Room for a sequence of numbers; an empty one has no elements that would need alignment."""
        self.uint32(count)
        if count:
            self.doubles(slot, count)

    def time(self) -> None:
        """builtin_interfaces/Time: room for seconds and nanoseconds."""
        self._align(4)
        self._stamps.append(len(self._bytes))
        self._bytes += bytes(8)

    def header(self, frame: str) -> None:
        """std_msgs/Header: room for the time, and a frame."""
        self.time()
        self.string(frame)

    def fixed(self) -> Message:
        """The message, ready to be filled."""
        return Message(bytes(self._bytes), self._slots, self._stamps)


class Message:
    """A message with slots for its numbers and times."""

    def __init__(self, raw: bytes, slots: Sequence[Slot], stamps: Sequence[int]) -> None:
        """Args are those of a `Layout`."""
        self._raw = np.frombuffer(raw, dtype=np.uint8)
        self._slots = list(slots)
        self._stamps = list(stamps)
        # Behind the header everything is aligned to its size: places there are whole numbers of words or doubles.
        self._words = np.array([[(at - len(HEADER)) // 4 + i for i in (0, 1)] for at in self._stamps], dtype=np.intp)
        places = [range((at - len(HEADER)) // _DOUBLE, (at - len(HEADER)) // _DOUBLE + n) for _, at, n in self._slots]
        self._doubles = np.array([place for some in places for place in some], dtype=np.intp)
        self._end = len(HEADER) + (len(raw) - len(HEADER)) // _DOUBLE * _DOUBLE

    def fill_one(self, time: int, numbers: Array) -> bytes:
        """One message, faster than by `fill`.

        Args:
            time: of the message [ns].
            numbers: of all slots, one behind the other in the order of the layout.
        """
        raw = self._raw.copy()
        if self._stamps:
            body = raw[len(HEADER) : len(HEADER) + (len(raw) - len(HEADER)) // 4 * 4]
            body.view("<u4")[self._words] = divmod(time, NANOSECONDS)
        if len(self._doubles):
            raw[len(HEADER) : self._end].view("<f8")[self._doubles] = numbers
        return raw.tobytes()

    def fill(self, times: Sequence[int] | NDArray[np.int64], values: dict[str, Array]) -> list[bytes]:
        """Many messages.

        Args:
            times: of the messages [ns].
            values: numbers by slot, a row per message.
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
    """std_msgs/String."""
    layout = Layout()
    layout.string(text)
    return bytes(layout._bytes)


def table_message(table: Array) -> bytes:
    """std_msgs/Float64MultiArray of a table, row by row."""
    rows, columns = table.shape
    layout = Layout()
    layout.uint32(2)  # dimensions, each with the numbers in it and in all that is below
    for label, size, stride in (("rows", rows, rows * columns), ("columns", columns, columns)):
        layout.string(label)
        layout.uint32(size)
        layout.uint32(stride)
    layout.uint32(0)  # data_offset
    layout.uint32(rows * columns)
    layout._align(_DOUBLE)
    return bytes(layout._bytes) + np.ascontiguousarray(table, dtype="<f8").tobytes()


class Reader:
    """Reads what this module writes.

    Raises:
        ValueError: the bytes end too early, or are no such message.
    """

    def __init__(self, raw: bytes) -> None:
        """Args: a whole message."""
        if raw[:4] != HEADER:
            raise ValueError(f"a message begins with {raw[:4].hex()}, which is no little-endian CDR")
        self._raw = raw
        self._at = len(HEADER)

    def _take(self, size: int, alignment: int) -> int:
        start = self._at + -(self._at - len(HEADER)) % alignment
        if start + size > len(self._raw):
            raise ValueError(f"a message of {len(self._raw)} bytes ends too early")
        self._at = start + size
        return start

    def uint32(self) -> int:
        """A number."""
        value: int = struct.unpack_from("<I", self._raw, self._take(4, 4))[0]
        return value

    def string(self) -> str:
        """A text."""
        size = self.uint32()
        start = self._take(size, 1)
        return self._raw[start : start + size - 1].decode()

    def table(self) -> Array:
        """A Float64MultiArray of two dimensions."""
        if self.uint32() != 2:
            raise ValueError("a table of states has other than two dimensions")
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
