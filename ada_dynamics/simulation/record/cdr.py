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
    raw = text.encode() + b"\x00"
    return HEADER + struct.pack("<I", len(raw)) + raw


def read_text(raw: bytes) -> str:
    """Return the text of a std_msgs/String.

    Raises:
        ValueError: the message is truncated or has another format.
    """
    if raw[:4] != HEADER or len(raw) < 8:
        raise ValueError(f"a message of {len(raw)} bytes is not a text in little-endian CDR")
    end = 8 + int(struct.unpack_from("<I", raw, 4)[0])
    if end > len(raw):
        raise ValueError(f"a message of {len(raw)} bytes is truncated")
    return raw[8 : end - 1].decode()


# Header, number of dimensions, then label (with its length), size and stride of each, data_offset, number of data.
_TABLE = struct.Struct("<4sII8sIII8sIIII4x")


def table_message(table: Array) -> bytes:
    """Return a std_msgs/Float64MultiArray of a table, row by row."""
    rows, columns = table.shape
    count = rows * columns
    beginning = _TABLE.pack(HEADER, 2, 5, b"rows", rows, count, 8, b"columns", columns, columns, 0, count)
    return beginning + np.ascontiguousarray(table, dtype="<f8").tobytes()


def read_table(raw: bytes) -> Array:
    """Return the table of a `table_message`.

    Raises:
        ValueError: the message is truncated or has another format.
    """
    if raw[:4] != HEADER or len(raw) < _TABLE.size:
        raise ValueError(f"a message of {len(raw)} bytes is not a table of states in little-endian CDR")
    _, dimensions, _, _, rows, _, _, _, columns, _, _, count = _TABLE.unpack_from(raw)
    if dimensions != 2 or count != rows * columns or len(raw) < _TABLE.size + _DOUBLE * count:
        raise ValueError(f"a table of {rows} x {columns} states has {count} numbers in {len(raw)} bytes")
    return np.frombuffer(raw, dtype="<f8", count=count, offset=_TABLE.size).reshape(rows, columns)
