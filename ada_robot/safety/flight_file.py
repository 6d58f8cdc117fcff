# SPDX-License-Identifier: Apache-2.0
"""Flight record files, written by a separate process.

    python -m ada_robot.safety.flight_file DESCRIPTOR FILE KEEP WHY

The .mcap file can be read by all programs for ROS 2 recordings. It has one message per cycle on the first three topics:

    /joint_states      measured state
    /commanded         demand: position, velocity or effort, the others NaN
    /flight/cycle      phase, mode, flags (1: reply received, 2: motors driven), alarm code and device time
    /flight/events     phases, refusals and faults as text

The metadata "flight" name device, phases, modes, and the reason of the record. Message times are wall-clock times;
`wall_offset` is their difference to the steady clock [ns].
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.contract import Mode
from ada_robot.safety.flight_recorder import FIXED, MODES, PHASES, VECTORS, FlightMemory

STATES, COMMANDED, CYCLE, EVENTS = "/joint_states", "/commanded", "/flight/cycle", "/flight/events"
METADATA = "flight"
_CYCLE = dict.fromkeys(("phase", "mode", "flags", "alarm", "device time [s]"), 1)
_ROWS_AT_ONCE = 2000
_NICENESS = 10


def write(memory: FlightMemory, path: Path, why: str) -> None:
    """Write the content of a memory to a temporary file, renamed when complete.

    Raises:
        InputError: if the package mcap is missing.
        OSError: if the file cannot be written.
    """
    rows, events, flight = memory.rows(), memory.events(), memory.flight  # copies: the cycle still writes to the ring
    offset = time.time_ns() - time.monotonic_ns()
    texts = {
        "device": flight.device,
        "period": repr(flight.period),
        "phases": json.dumps([phase.value for phase in PHASES]),
        "modes": json.dumps([mode.value for mode in MODES]),
        "why": why,
        "wall_offset": str(offset),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with TopicWriter(unfinished, reserve=0) as out:
            out.metadata(METADATA, texts)
            at = _wall_times(np.array([event.time for event in events]), offset)
            _add(out, EVENTS, messages.TEXT, at, [messages.text_message(event.text) for event in events])
            for first in range(0, len(rows), _ROWS_AT_ONCE):
                _add_rows(out, rows[first : first + _ROWS_AT_ONCE], flight.joints, offset)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _wall_times(steady: Array, offset: int) -> NDArray[np.int64]:
    return np.asarray(np.round(steady * NANOSECONDS), dtype=np.int64) + offset


def _add_rows(out: TopicWriter, rows: Array, joints: tuple[str, ...], offset: int) -> None:
    at, layout = _wall_times(rows[:, 0], offset), messages.joint_state(joints)
    demand, *measured = np.split(rows[:, FIXED:], VECTORS, axis=1)
    by_mode = (Mode.POSITION, Mode.VELOCITY, Mode.EFFORT)
    states = {mode.value: values for mode, values in zip(by_mode, measured, strict=True)}
    commanded = {mode.value: np.where(rows[:, 2:3] == MODES.index(mode), demand, np.nan) for mode in by_mode}
    _add(out, STATES, messages.JOINT_STATE, at, layout.fill(at, states))
    _add(out, COMMANDED, messages.JOINT_STATE, at, layout.fill(at, commanded))
    _add(out, CYCLE, messages.NUMBERS, at, messages.vectors(_CYCLE).fill(at, {"data": rows[:, 1:FIXED]}))


def _add(out: TopicWriter, topic: str, kind: str, times: NDArray[np.int64], encoded: list[bytes]) -> None:
    known = Topic(topic, kind, messages.DEFINITIONS[kind])
    for at, message in zip(times.tolist(), encoded, strict=True):
        out.add(known, at, message)
    out.flush()


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


def main(descriptor: int, path: Path, keep: int, why: str) -> None:
    """Write the record of a shared memory."""
    os.nice(_NICENESS)
    memory = FlightMemory(descriptor)
    write(memory, path, why)
    prune(path.parent, keep, memory.flight.device)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    except (OSError, AdaError) as failure:
        sys.exit(f"the flight record {sys.argv[2]} cannot be written: {getattr(failure, 'strerror', '') or failure}.")
