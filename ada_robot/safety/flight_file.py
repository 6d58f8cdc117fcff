# SPDX-License-Identifier: Apache-2.0
"""Flight record files, written by a separate process.

    python -m ada_robot.safety.flight_file DESCRIPTOR FILE KEEP WHY

The .mcap file can be opened by Foxglove and PlotJuggler:

    /flight/rows       all rows as tables; the metadata "flight" names the columns; `read` reads them
    /flight/events     phases, refusals and faults as text
    /joint_states      measured state; the last ten seconds at full rate, before that at 100 Hz
    /commanded         demands at the same rates: position, velocity or effort, the others NaN

Message times are wall-clock times.
"""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, RecordingError
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.mcap_files import MCAP_MAGIC, Topic, TopicMessage, TopicWriter, read_topics
from ada_dynamics.simulation.record.messages import read_table, read_text
from ada_robot.contract import Mode
from ada_robot.safety.flight_recorder import FIXED, MODES, PHASES, Event, Flight, FlightMemory

Times = NDArray[np.int64]

ROWS, EVENTS, STATES, COMMANDED = "/flight/rows", "/flight/events", "/joint_states", "/commanded"
METADATA = "flight"
FINE_SECONDS = 10.0  # duration at the end of the record shown at full rate [s]
COARSE_RATE = 100.0  # rate before that [Hz]
ROWS_AT_ONCE = 2000
NICE = 10
_DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error)


class FlightRecord(NamedTuple):
    """Content of a flight record."""

    flight: Flight  # description of the robot
    why: str  # reason of the record
    rows: Array  # one row per cycle, see `columns_of`; the first column is the steady clock [s]
    events: list[Event]  # recorded events
    wall_offset: int  # wall clock minus steady clock [ns]

    def vector(self, index: int) -> Array:
        """Return a vector of all rows: 0 demand, 1 position, 2 velocity, 3 effort."""
        count = len(self.flight.joints)
        return self.rows[:, FIXED + index * count : FIXED + (index + 1) * count]

    @property
    def phases(self) -> list[str]:
        """Phase of each row."""
        return [PHASES[int(number)].value for number in self.rows[:, 1]]

    @property
    def times(self) -> Times:
        """Wall-clock time of each row [ns]."""
        return np.asarray(np.round(self.rows[:, 0] * 1e9), dtype=np.int64) + self.wall_offset


def columns_of(flight: Flight) -> list[str]:
    """Return the column names, with units where they are the same for all joints."""
    fixed = ["time [s]", "phase", "mode", "flags", "alarm", "device time [s]"]
    vectors = ("demand", "position", "velocity", "effort")
    return fixed + [f"{what} {joint}" for what in vectors for joint in flight.joints]


# --- writing ------------------------------------------------------------------------------------------------------
def write(record: FlightRecord, path: Path) -> None:
    """Write a record to a temporary file, renamed when complete.

    Raises:
        InputError: if the package mcap is missing.
        OSError: if the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with TopicWriter(unfinished, reserve=0) as out:
            _write_mcap(record, out)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_mcap(record: FlightRecord, out: TopicWriter) -> None:
    flight, times = record.flight, record.times
    texts = {
        "device": flight.device,
        "joints": json.dumps(flight.joints),
        "period": repr(flight.period),
        "columns": json.dumps(columns_of(flight)),
        "phases": json.dumps([phase.value for phase in PHASES]),
        "modes": json.dumps([mode.value for mode in MODES]),
        "why": record.why,
        "wall_offset": str(record.wall_offset),
    }
    out.metadata(METADATA, texts)
    for first in range(0, len(times), ROWS_AT_ONCE):
        part = record.rows[first : first + ROWS_AT_ONCE]
        _add(out, ROWS, messages.NUMBERS, [int(times[first])], [messages.table_message(part)])
    for event in record.events:
        at = round(event.time * 1e9) + record.wall_offset
        _add(out, EVENTS, messages.TEXT, [at], [messages.text_message(event.text)])
    shown = _shown(record)
    layout, stamps = messages.joint_state(flight.joints), times[shown]
    states, commanded = {}, {}
    for i, mode in enumerate((Mode.POSITION, Mode.VELOCITY, Mode.EFFORT)):
        is_mode = record.rows[shown, 2] == MODES.index(mode)
        states[mode.value] = record.vector(1 + i)[shown]
        commanded[mode.value] = np.where(is_mode[:, None], record.vector(0)[shown], np.nan)
    _add(out, STATES, messages.JOINT_STATE, stamps.tolist(), layout.fill(stamps, states))
    _add(out, COMMANDED, messages.JOINT_STATE, stamps.tolist(), layout.fill(stamps, commanded))


def _add(out: TopicWriter, topic: str, kind: str, times: list[int], encoded: list[bytes]) -> None:
    known = Topic(topic, kind, messages.DEFINITIONS[kind])
    for at, message in zip(times, encoded, strict=True):
        out.add(known, at, message)
    out.flush()


def _shown(record: FlightRecord) -> NDArray[np.intp]:
    """Return the rows for `/joint_states` and `/commanded`."""
    steady = record.rows[:, 0]
    if not len(steady):
        return np.zeros(0, dtype=np.intp)
    ticks = np.floor(steady * COARSE_RATE)
    coarse = np.diff(ticks, prepend=-np.inf) > 0.0
    return np.flatnonzero(coarse | (steady > steady[-1] - FINE_SECONDS))


def prune(folder: Path, keep: int, device: str) -> None:
    """Delete the oldest records of a device beyond a number; other files are never deleted.

    Args:
        folder: folder of the records.
        keep: number of records to keep.
        device: device type.
    """
    name = re.compile(rf"flight_{re.escape(device)}_\d{{8}}_\d{{6}}_\d{{3}}\.mcap")
    found: list[tuple[float, Path]] = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # deleted by another process
            status = path.lstat()
            is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_own and name.fullmatch(path.name):
                found.append((status.st_mtime, path))
    for _, path in sorted(found)[: max(0, len(found) - keep)]:
        path.unlink(missing_ok=True)


# --- reading ------------------------------------------------------------------------------------------------------
def read(path: Path) -> FlightRecord:
    """Read a record. RecordingError if the file cannot be read as a flight record."""
    try:
        return _read(path)
    except _DAMAGE as problem:
        said = str(problem)[:300] or type(problem).__name__
        raise RecordingError(f"{path} cannot be read as a flight record: {said}.") from None


def _read(path: Path) -> FlightRecord:
    texts: dict[str, str] = {}
    tables: list[Array] = []
    events: list[tuple[int, str]] = []  # wall-clock time [ns] and text

    def take_metadata(name: str, found: Mapping[str, str]) -> None:
        if name == METADATA:
            texts.update(found)

    def take_messages(found: Sequence[TopicMessage]) -> None:
        for topic, at, raw in found:
            if topic == ROWS:
                tables.append(read_table(raw))
            else:
                events.append((at, read_text(raw)))

    with path.open("rb") as file:
        if file.read(len(MCAP_MAGIC)) != MCAP_MAGIC:
            raise ValueError("not an MCAP file")
        problem = read_topics(file, (ROWS, EVENTS), take_metadata, take_messages)
    if problem or not texts:
        raise ValueError(problem or f"metadata {METADATA!r} missing")
    offset, joints = int(texts["wall_offset"]), tuple(json.loads(texts["joints"]))
    rows = np.concatenate(tables) if tables else np.zeros((0, 0))
    flight = Flight(texts["device"], joints, float(texts["period"]), len(rows))
    steady = [Event((at - offset) * 1e-9, text) for at, text in events]
    return FlightRecord(flight, texts["why"], rows.reshape(len(rows), flight.columns), steady, offset)


# --- the process --------------------------------------------------------------------------------------------------
def main(descriptor: int, path: Path, keep: int, why: str) -> None:
    """Write the record of a shared memory."""
    memory = FlightMemory(descriptor)
    rows, events = memory.rows(), memory.events()  # copy first: the cycle still writes to the ring
    os.nice(NICE)
    offset = time.time_ns() - time.monotonic_ns()
    write(FlightRecord(memory.flight, why, rows, events, offset), path)
    prune(path.parent, keep, memory.flight.device)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    except (OSError, AdaError) as failure:
        sys.exit(f"the flight record {sys.argv[2]} cannot be written: {getattr(failure, 'strerror', '') or failure}.")
