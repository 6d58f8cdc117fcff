# SPDX-License-Identifier: Apache-2.0
"""Flight recorder: the last minutes of demands, states and phases, written to a file when a fault latches.

A ring buffer of rows and one of texts are in shared memory, which survives process crashes: the client, the cycle
process and the process that writes the file share an anonymous memory file by its descriptor. Each cycle writes one row
within microseconds, overwriting the oldest one. A separate process of low priority writes the file, so that the cycle
is not delayed.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.processes import stderr_for_children
from ada_robot.ros.environment import child_environment
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

_MEMORY_NAME = "ada_hardware.flight"  # name shown among the open files of a process
EVENTS = 512
EVENT_SIZE = 512  # size including time [bytes]
_HEAD = 8192  # size of counters and description [bytes]
_TEXT_AT = 64  # offset of the description, JSON followed by zeros
_EVENT = np.dtype([("time", np.float64), ("text", f"S{EVENT_SIZE - 8}")])
FIXED = 6  # columns before those of the joints
VECTORS = 4  # demand, position, velocity, effort
PHASES, MODES = tuple(Phase), tuple(Mode)
FRESH, DRIVEN = 1, 2  # flags of a row
_PHASE_NUMBER = {phase: i for i, phase in enumerate(PHASES)}
_MODE_NUMBER = {mode: i for i, mode in enumerate(MODES)}


@dataclass(frozen=True)
class Flight:
    """Description of the recorded robot."""

    device: str  # device type
    joints: tuple[str, ...]  # joint names
    period: float  # time between rows [s]
    rows: int  # capacity of the ring buffer

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
    """Create the memory of a flight; -1 for a flight without rows.

    Returns:
        Its descriptor, which the caller closes.
    """
    if flight.rows < 1:
        return -1
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(_MEMORY_NAME, os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, flight.size)
    memory = FlightMemory._mapped(descriptor)
    text = json.dumps(asdict(flight)).encode()
    if len(text) > _HEAD - _TEXT_AT:
        os.close(descriptor)
        raise ValueError(f"flight recorder: the names of {len(flight.joints)} joints exceed the description size")
    memory[_TEXT_AT : _TEXT_AT + len(text)] = text
    memory.close()
    return descriptor


class FlightMemory:
    """Ring buffers as arrays, for readers.

    Attributes:
        flight: description of the recorded robot.
    """

    def __init__(self, descriptor: int) -> None:
        """Map a memory made by `new_memory`; the caller closes the descriptor."""
        self._map = self._mapped(descriptor)
        fields = json.loads(self._map[_TEXT_AT:_HEAD].rstrip(b"\0"))
        self.flight = Flight(**{**fields, "joints": tuple(fields["joints"])})
        self._counters = np.frombuffer(self._map, dtype=np.uint64, count=2)  # total number of rows and of events
        self._events = np.frombuffer(self._map, dtype=_EVENT, count=EVENTS, offset=_HEAD)
        shape = (self.flight.rows, self.flight.columns)
        at = _HEAD + self._events.nbytes
        self._rows = np.frombuffer(self._map, dtype=np.float64, count=shape[0] * shape[1], offset=at).reshape(shape)
        self._count, self._event_count = (int(n) for n in self._counters)

    @staticmethod
    def _mapped(descriptor: int) -> mmap.mmap:
        return mmap.mmap(descriptor, os.fstat(descriptor).st_size)

    def rows(self) -> Array:
        """Return the rows, the oldest first, without those overwritten during the copy."""
        capacity = len(self._rows)
        before = int(self._counters[0])
        copy = self._rows.copy()
        overwritten = max(0, int(self._counters[0]) - before) + 1  # plus the row being written
        first = max(0, before - capacity + (overwritten if before >= capacity else 0))
        return copy[np.arange(first, before) % capacity]

    def events(self) -> list[Event]:
        """Return the events, the oldest first."""
        count = int(self._counters[1])
        newest = [self._events[i % EVENTS].item() for i in range(max(0, count - EVENTS), count)]
        return [Event(time, text.decode(errors="replace")) for time, text in newest]


def record_folder(setting: str) -> Path:
    """Return the folder of flight records.

    Args:
        setting: `SafetySettings.record_folder`; empty for the state folder of the user.
    """
    if setting:
        return Path(setting).expanduser()
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "ada_dynamics" / "flights"


def sibling_environment() -> dict[str, str]:
    """Return an environment in which a child process finds the same Python modules."""
    folders = [entry or str(Path.cwd()) for entry in sys.path]
    return {**child_environment(), "PYTHONPATH": os.pathsep.join(folders)}


class FlightRecorder(FlightMemory):
    """Fills the memory, and starts the process that writes it.

    Attributes:
        newest: path of the latest record; "" before the first.
    """

    def __init__(self, descriptor: int, folder: Path, keep: int, clock: Clock = SYSTEM_CLOCK) -> None:
        """Map a memory. Args: as `FlightMemory`; folder of the records; number of them to keep; wall clock of names."""
        super().__init__(descriptor)
        self._descriptor, self._folder, self._keep, self._clock = descriptor, folder, keep, clock
        self._environment = sibling_environment()  # computed here: too slow for a cycle
        self._writers: list[subprocess.Popen[bytes]] = []
        self.newest = ""

    # --- called in each cycle -------------------------------------------------------------------------------------
    def cycle(self, now: float, phase: Phase, demand: Demand | None, feedback: Feedback) -> None:
        """Record one exchange."""
        row = self._rows[self._count % len(self._rows)]
        flags = FRESH * feedback.is_fresh | DRIVEN * feedback.is_driven
        mode = -1 if demand is None else _MODE_NUMBER[demand.mode]
        alarm = feedback.alarms[0].code if feedback.alarms else 0
        row[:FIXED] = now, _PHASE_NUMBER[phase], mode, flags, alarm, feedback.time
        demanded = math.nan if demand is None else demand.values
        vectors = row[FIXED:].reshape(VECTORS, -1)
        vectors[0], vectors[1], vectors[2], vectors[3] = demanded, feedback.position, feedback.velocity, feedback.effort
        self._count += 1
        self._counters[0] = self._count  # completes the row

    def event(self, now: float, text: str) -> None:
        """Record an event; long texts are truncated."""
        self._events[self._event_count % EVENTS] = now, text.encode()
        self._event_count += 1
        self._counters[1] = self._event_count

    # --- file -----------------------------------------------------------------------------------------------------
    def save(self, why: str) -> subprocess.Popen[bytes]:
        """Start a process that writes the record, without waiting for it. Args: reason stored in the file.

        Raises:
            OSError: if the process cannot be started.
        """
        self._writers = [writer for writer in self._writers if writer.poll() is None]
        wall = self._clock.wall()
        stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(wall)) + f"_{int(wall * 1e3) % 1000:03d}"
        path = self._folder / f"flight_{self.flight.device}_{stamp}.mcap"
        self.newest = str(path)
        arguments = [str(self._descriptor), str(path), str(self._keep), why]
        writer = subprocess.Popen(
            [sys.executable, "-m", "ada_robot.safety.flight_file", *arguments],
            pass_fds=[self._descriptor],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr_for_children(),
            start_new_session=True,
        )
        self._writers.append(writer)
        return writer


def recorder_of(descriptor: int, safety: SafetySettings, clock: Clock = SYSTEM_CLOCK) -> FlightRecorder | None:
    """Return the recorder of a memory; None for the descriptor -1."""
    if descriptor < 0:
        return None
    return FlightRecorder(descriptor, record_folder(safety.record_folder), safety.record_files, clock)
