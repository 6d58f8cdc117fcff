# SPDX-License-Identifier: Apache-2.0
"""Shared memory of the flight recorder: a ring buffer of rows and one of texts, which survive process crashes.

The client, the cycle process and the process that writes the file share an anonymous memory file by its descriptor.
Each cycle writes one row within microseconds, overwriting the oldest one.
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

MEMORY_NAME = "ada_hardware.flight"  # name shown among the open files of a process
EVENTS = 512
EVENT_SIZE = 512  # size including time and length [bytes]
_HEAD = 8192  # size of counters and description [bytes]
_TEXT_AT = 64
_LENGTH = struct.Struct("=I")
_EVENT_HEAD = struct.Struct("=dI")
FIXED = 6  # columns before those of the joints
VECTORS = 4  # demand, position, velocity, effort


@dataclass(frozen=True)
class Flight:
    """Description of the recorded robot.

    Attributes:
        device: device type.
        robot: catalogue name of the model; "" if it has none.
        joints: joint names.
        period: time between rows [s].
        rows: capacity of the ring buffer.
    """

    device: str
    robot: str
    joints: tuple[str, ...]
    period: float
    rows: int

    @property
    def columns(self) -> int:
        """Numbers per row: time, phase, mode, flags, alarm, device time, then four vectors."""
        return FIXED + VECTORS * len(self.joints)

    @property
    def size(self) -> int:
        """Memory size [bytes]."""
        return _HEAD + EVENTS * EVENT_SIZE + 8 * self.rows * self.columns


class Event(NamedTuple):
    """Recorded event: time on the steady clock [s] and text."""

    time: float
    text: str


def new_memory(flight: Flight) -> int:
    """Create the memory of a flight.

    Returns:
        Its descriptor, which the caller closes.
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
        raise ValueError(f"flight recorder: the names of {len(flight.joints)} joints exceed the description size")
    memory[_TEXT_AT : _TEXT_AT + _LENGTH.size + len(text)] = _LENGTH.pack(len(text)) + text
    memory.close()
    return descriptor


class FlightMemory:
    """Ring buffers as arrays.

    Attributes:
        flight: description of the recorded robot.
    """

    def __init__(self, descriptor: int, *, is_writer: bool = True) -> None:
        """Map a memory made by `new_memory`; the caller closes the descriptor.

        Args:
            descriptor: descriptor of the memory.
            is_writer: False maps it read-only, for which a read-only descriptor is sufficient.
        """
        self._map = self._mapped(descriptor, mmap.ACCESS_WRITE if is_writer else mmap.ACCESS_READ)
        (length,) = _LENGTH.unpack_from(self._map, _TEXT_AT)
        start = _TEXT_AT + _LENGTH.size
        fields = json.loads(self._map[start : start + length])
        self.flight = Flight(**{**fields, "joints": tuple(fields["joints"])})
        self._counters = np.frombuffer(self._map, dtype=np.uint64, count=2)  # total number of rows and of events
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
        """Return the row to be filled; `written` completes it."""
        row: Array = self._rows[self._count % len(self._rows)]
        return row

    def written(self) -> None:
        """Complete the row."""
        self._count += 1
        self._counters[0] = self._count

    def event(self, time: float, text: str) -> None:
        """Add an event; long texts are truncated."""
        data = text.encode()[: EVENT_SIZE - _EVENT_HEAD.size]
        at = self._events_at + self._event_count % EVENTS * EVENT_SIZE
        self._map[at : at + _EVENT_HEAD.size + len(data)] = _EVENT_HEAD.pack(time, len(data)) + data
        self._event_count += 1
        self._counters[1] = self._event_count

    # --- readers --------------------------------------------------------------------------------------------------
    def rows(self) -> Array:
        """Return the rows, the oldest first, without those overwritten during the copy."""
        capacity = len(self._rows)
        before = int(self._counters[0])
        copy = self._rows.copy()
        overwritten = max(0, int(self._counters[0]) - before) + 1  # plus the row being written
        first = max(0, before - capacity + (overwritten if before >= capacity else 0))
        return copy[np.arange(first, before) % capacity]

    def newest_row(self) -> Array | None:
        """Return the last completed row; None before the first."""
        count = int(self._counters[0])
        return self._rows[(count - 1) % len(self._rows)].copy() if count else None

    def events(self) -> list[Event]:
        """Return the events, the oldest first."""
        count = int(self._counters[1])
        return [self._event(i) for i in range(max(0, count - EVENTS), count)]

    def _event(self, index: int) -> Event:
        at = self._events_at + index % EVENTS * EVENT_SIZE
        time, length = _EVENT_HEAD.unpack_from(self._map, at)
        start = at + _EVENT_HEAD.size
        return Event(time, self._map[start : start + min(length, EVENT_SIZE)].decode(errors="replace"))
