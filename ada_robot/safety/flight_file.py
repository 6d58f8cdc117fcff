# SPDX-License-Identifier: Apache-2.0
"""Flight record files, written by a separate process.

    python -m ada_robot.safety.flight_file DESCRIPTOR FILE KEEP WHY

The .mcap file can be opened by Foxglove, PlotJuggler and, for robots of the catalogue, `ada view`:

    /flight/rows       all rows as tables; the metadata "flight" names the columns; `read` reads them
    /flight/events     phases, refusals and faults as text
    /joint_states      measured state; the last ten seconds at full rate, before that at 100 Hz
    /commanded         demands at the same rates: position, velocity or effort, the others NaN
    /robot_description, /ada/state: for robots of the catalogue

Message times are wall-clock times.
"""

from __future__ import annotations

import json
import os
import re
import stat
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
from ada_dynamics.simulation.record.log_files import DAMAGE
from ada_dynamics.simulation.record.mcap_files import (
    MCAP_MAGIC,
    Topic,
    TopicMessage,
    TopicWriter,
    mcap_module,
    read_topics,
)
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


class FlightRecord(NamedTuple):
    """Content of a flight record.

    Attributes:
        flight: description of the robot.
        why: reason of the record.
        rows: one row per cycle, see `columns_of`; the first column is the steady clock [s].
        events: recorded events.
        wall_offset: wall clock minus steady clock [ns].
    """

    flight: Flight
    why: str
    rows: Array
    events: list[Event]
    wall_offset: int

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
        with TopicWriter(unfinished, overwrite=True, reserve=0) as out:
            _write_mcap(record, out)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _description(record: FlightRecord) -> dict[str, str]:
    flight = record.flight
    return {
        "device": flight.device,
        "robot": flight.robot,
        "joints": json.dumps(flight.joints),
        "period": repr(flight.period),
        "columns": json.dumps(columns_of(flight)),
        "phases": json.dumps([phase.value for phase in PHASES]),
        "modes": json.dumps([mode.value for mode in MODES]),
        "why": record.why,
        "wall_offset": str(record.wall_offset),
    }


def _write_mcap(record: FlightRecord, out: TopicWriter) -> None:
    out.metadata(METADATA, _description(record))
    times = record.times
    for first in range(0, len(times), ROWS_AT_ONCE):
        part = record.rows[first : first + ROWS_AT_ONCE]
        _add(out, ROWS, messages.NUMBERS, [int(times[first])], [messages.table_message(part)])
    for event in record.events:
        at = round(event.time * 1e9) + record.wall_offset
        _add(out, EVENTS, messages.TEXT, [at], [messages.text_message(event.text)])
    shown = _shown(record)
    layout = messages.joint_state(record.flight.joints)
    numbers = dict(zip(("position", "velocity", "effort"), (record.vector(i)[shown] for i in (1, 2, 3)), strict=True))
    commanded = layout.fill(times[shown], _commanded(record, shown))
    _add(out, STATES, messages.JOINT_STATE, times[shown].tolist(), layout.fill(times[shown], numbers))
    _add(out, COMMANDED, messages.JOINT_STATE, times[shown].tolist(), commanded)
    try:
        _add_model(record, shown, out)
    except AdaError as problem:  # the model is optional
        out.metadata("flight_model", {"left out": str(problem)})


def _add(out: TopicWriter, topic: str, kind: str, times: list[int], encoded: list[bytes]) -> None:
    known = Topic(topic, kind, messages.DEFINITIONS[kind])
    for at, message in zip(times, encoded, strict=True):
        out.add(known, at, at, message)
    out.flush()


def _shown(record: FlightRecord) -> NDArray[np.intp]:
    """Return the rows for `/joint_states` and `/commanded`."""
    steady = record.rows[:, 0]
    if not len(steady):
        return np.zeros(0, dtype=np.intp)
    ticks = np.floor(steady * COARSE_RATE)
    coarse = np.diff(ticks, prepend=-np.inf) > 0.0
    return np.flatnonzero(coarse | (steady > steady[-1] - FINE_SECONDS))


def _commanded(record: FlightRecord, shown: NDArray[np.intp]) -> dict[str, Array]:
    demanded, modes = record.vector(0)[shown], record.rows[shown, 2]
    return {
        mode.value: np.where((modes == MODES.index(mode))[:, None], demanded, np.nan)
        for mode in (Mode.POSITION, Mode.VELOCITY, Mode.EFFORT)
    }


def _add_model(record: FlightRecord, shown: NDArray[np.intp], out: TopicWriter) -> None:
    """Add description and state for `ada view`, for robots of the catalogue without loops.

    Transforms are omitted, because their kernels may need a compilation.
    """
    if not record.flight.robot or not len(shown):
        return
    from ada_dynamics.robots.load import load
    from ada_dynamics.simulation.record import log_files
    from ada_dynamics.simulation.record.recorder import description

    model = load(record.flight.robot)
    joints = [joint for joint in record.flight.joints if joint in model.joint_names]
    if model.loops or len(joints) != len(record.flight.joints):
        return
    content = log_files.Content(model, info={"flight": record.why})
    table = np.zeros((len(shown), content.width))
    seconds, q, v, _, tau = (table[:, columns] for columns in content.columns)
    seconds[:, 0] = record.rows[shown, 0] - record.rows[shown[0], 0]
    q[:] = model.neutral()
    for i, joint in enumerate(joints):
        for part, vector, index in (
            (q, 1, model.q_index(joint)),
            (v, 2, model.v_index(joint)),
            (tau, 3, model.v_index(joint)),
        ):
            known = record.vector(vector)[shown, i]
            part[:, index] = np.where(np.isfinite(known), known, 0.0)[:, None]
    out.metadata(log_files.METADATA, content.texts())
    times = record.times[shown]
    text = description(model)
    if text is not None:
        _add(out, log_files.DESCRIPTION, messages.TEXT, [int(times[0])], [messages.text_message(text)])
    for first in range(0, len(table), ROWS_AT_ONCE):
        part = table[first : first + ROWS_AT_ONCE]
        _add(out, log_files.STATE, messages.NUMBERS, [int(times[first])], [messages.table_message(part)])
    out.metadata(log_files.METADATA_END, {"info": json.dumps({"complete": True})})


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
            if is_own and name.fullmatch(path.name) and _device_of(path) == device:
                found.append((status.st_mtime, path))
    for _, path in sorted(found)[: max(0, len(found) - keep)]:
        path.unlink(missing_ok=True)


def _device_of(path: Path) -> str:
    """Return the device type of a record; "" if the file is no flight record."""
    try:
        with path.open("rb") as file:
            for metadata in mcap_module("mcap.reader").make_reader(file).iter_metadata():
                if metadata.name == METADATA:
                    return str(metadata.metadata.get("device", ""))
    except Exception:  # unreadable files are no records, and are not deleted
        pass
    return ""


# --- reading ------------------------------------------------------------------------------------------------------
def read(path: Path) -> FlightRecord:
    """Read a record.

    Raises:
        RecordingError: if the file cannot be read as a flight record.
    """
    try:
        return _read(path)
    except (OSError, *DAMAGE) as problem:
        said = str(problem)[:300] or type(problem).__name__
        raise RecordingError(f"{path} cannot be read as a flight record: {said}.") from None


class _Reading:
    """Collects the content of a flight record from an .mcap file."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.tables: list[Array] = []
        self.events: list[tuple[int, str]] = []  # wall-clock time [ns] and text

    def take_metadata(self, name: str, texts: Mapping[str, str]) -> None:
        if name == METADATA:
            self.texts = dict(texts)

    def take_messages(self, messages: Sequence[TopicMessage]) -> None:
        for topic, at, raw in messages:
            if topic == ROWS:
                self.tables.append(read_table(raw))
            else:
                self.events.append((at, read_text(raw)))


def _read(path: Path) -> FlightRecord:
    reading = _Reading()
    with path.open("rb") as file:
        if file.read(len(MCAP_MAGIC)) != MCAP_MAGIC:
            raise ValueError("not an MCAP file")
        problem = read_topics(file, (ROWS, EVENTS), reading.take_metadata, reading.take_messages)
    texts = reading.texts
    if problem or not texts:
        raise ValueError(problem or f"metadata {METADATA!r} missing")
    offset, joints = int(texts["wall_offset"]), tuple(json.loads(texts["joints"]))
    rows = np.concatenate(reading.tables) if reading.tables else np.zeros((0, 0))
    flight = Flight(texts["device"], texts["robot"], joints, float(texts["period"]), len(rows))
    events = [Event((at - offset) * 1e-9, text) for at, text in reading.events]
    return FlightRecord(flight, texts["why"], rows.reshape(len(rows), flight.columns), events, offset)


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
