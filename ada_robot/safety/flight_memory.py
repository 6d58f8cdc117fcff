# SPDX-License-Identifier: Apache-2.0
"""The memory of a flight recorder: a ring of rows and a ring of texts, which survive the death of any process.

It is a file without a name, in memory, that the commanding program, the cycle and the one who writes the record share
by its descriptor. Each cycle writes one row, which takes microseconds; the oldest one is overwritten.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array

MEMORY_NAME = "ada_hardware.flight"  # as the system shows it among the open files of a process
EVENTS = 512
EVENT_SIZE = 512  # bytes, its time and length among them
_HEAD = 8192  # bytes: counters, then the description
_TEXT_AT = 64
_LENGTH = struct.Struct("=I")
_EVENT_HEAD = struct.Struct("=dI")
FIXED = 6  # columns before the joints'
VECTORS = 4  # demand, position, velocity, effort


@dataclass(frozen=True)
class Flight:
    """The robot of a flight.

    Attributes:
        device: name of the kind of device.
        robot: name in the catalogue of models; "" where it is not there.
        joints: names.
        period: between rows [s].
        rows: that the ring has room for.
    """

    device: str
    robot: str
    joints: tuple[str, ...]
    period: float
    rows: int

    @property
    def columns(self) -> int:
        """Numbers of a row: time, phase, mode, flags, alarm, two in a row; then four vectors."""
        return FIXED + VECTORS * len(self.joints)

    @property
    def size(self) -> int:
        """Size of the memory [bytes]."""
        return _HEAD + EVENTS * EVENT_SIZE + 8 * self.rows * self.columns


class Event(NamedTuple):
    """Something that happened: its time on the steady clock [s], and words."""

    time: float
    text: str


def new_memory(flight: Flight) -> int:
    """Memory for a flight.

    Returns:
        Its descriptor, to be closed by the caller.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(MEMORY_NAME, os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, flight.size)
    memory = FlightMemory._mapped(descriptor)
    text = json.dumps(asdict(flight)).encode()
    if len(text) > _HEAD - _TEXT_AT - _LENGTH.size:
        os.close(descriptor)
        raise ValueError(f"the names of {len(flight.joints)} joints do not fit into a flight recorder")
    memory[_TEXT_AT : _TEXT_AT + _LENGTH.size + len(text)] = _LENGTH.pack(len(text)) + text
    memory.close()
    return descriptor


class FlightMemory:
    """The rings, as arrays.

    Attributes:
        flight: whose they are.
    """

    def __init__(self, descriptor: int, *, is_writer: bool = True) -> None:
        """Look at a memory that `new_memory` made; the descriptor stays the caller's.

        Args:
            descriptor: of the memory.
            is_writer: false: nothing in it can be changed, and the descriptor need not allow it.
        """
        self._map = self._mapped(descriptor, mmap.ACCESS_WRITE if is_writer else mmap.ACCESS_READ)
        (length,) = _LENGTH.unpack_from(self._map, _TEXT_AT)
        start = _TEXT_AT + _LENGTH.size
        fields = json.loads(self._map[start : start + length])
        self.flight = Flight(**{**fields, "joints": tuple(fields["joints"])})
        self._counters = np.frombuffer(self._map, dtype=np.uint64, count=2)  # rows and events ever written
        self._events_at = _HEAD
        shape = (self.flight.rows, self.flight.columns)
        at = _HEAD + EVENTS * EVENT_SIZE
        self._rows = np.frombuffer(self._map, dtype=np.float64, count=shape[0] * shape[1], offset=at).reshape(shape)
        self._count, self._event_count = (int(n) for n in self._counters)

    @staticmethod
    def _mapped(descriptor: int, access: int = mmap.ACCESS_WRITE) -> mmap.mmap:
        return mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=access)

    # --- the writer -----------------------------------------------------------------------------------------------
    def next_row(self) -> Array:
        """The row to be filled; `written` counts it."""
        row: Array = self._rows[self._count % len(self._rows)]
        return row

    def written(self) -> None:
        """The row is complete."""
        self._count += 1
        self._counters[0] = self._count

    def event(self, time: float, text: str) -> None:
        """Add a text, cut off where it is too long."""
        data = text.encode()[: EVENT_SIZE - _EVENT_HEAD.size]
        at = self._events_at + self._event_count % EVENTS * EVENT_SIZE
        self._map[at : at + _EVENT_HEAD.size + len(data)] = _EVENT_HEAD.pack(time, len(data)) + data
        self._event_count += 1
        self._counters[1] = self._event_count

    # --- readers --------------------------------------------------------------------------------------------------
    def rows(self) -> Array:
        """The rows of the ring, the oldest first; rows that were overwritten meanwhile are left out."""
        capacity = len(self._rows)
        before = int(self._counters[0])
        copy = self._rows.copy()
        overwritten = max(0, int(self._counters[0]) - before) + 1  # and the one that is being written
        first = max(0, before - capacity + (overwritten if before >= capacity else 0))
        return copy[np.arange(first, before) % capacity]

    def newest_row(self) -> Array | None:
        """The row that was completed last; None before the first."""
        count = int(self._counters[0])
        return self._rows[(count - 1) % len(self._rows)].copy() if count else None

    def events(self) -> list[Event]:
        """The events, the oldest first."""
        count = int(self._counters[1])
        return [self._event(i) for i in range(max(0, count - EVENTS), count)]

    def _event(self, index: int) -> Event:
        at = self._events_at + index % EVENTS * EVENT_SIZE
        time, length = _EVENT_HEAD.unpack_from(self._map, at)
        start = at + _EVENT_HEAD.size
        return Event(time, self._map[start : start + min(length, EVENT_SIZE)].decode(errors="replace"))
