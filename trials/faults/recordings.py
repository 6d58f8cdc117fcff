# SPDX-License-Identifier: Apache-2.0
"""Faults of a program that records: of what it had handed over, no more than the open chunk may be lost."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from ada_dynamics.errors import RecordingCutShortWarning
from ada_dynamics.simulation.log import Log
from trials.faults.case import ENDS, STOP, Case, Outcome

ROWS = """
import sys, numpy as np, ada_dynamics as ada
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.recorder import McapRecorder
model, rows = ada.load("pa10"), 0
with McapRecorder(sys.argv[1], model) as recorder:
    try:
        while True:
            x = np.zeros((1000, model.nv))
            recorder.append(ada.Log(model, (rows + np.arange(1000)) * 1e-3, x, x, x, x))
            rows += 1000
            print(rows, flush=True)
    except RecordingError as problem:
        sys.exit(7)
"""
CHUNK = 2**20  # [byte], and a thousand rows, may be open
ROW = 8 * (1 + 4 * 7)  # [byte]


def _recording(fault: Callable[[subprocess.Popen[str], Path], object], code: int) -> Callable[[int], Outcome]:
    """A program that records, and a fault: of what it had handed over, no more than the open chunk may be lost."""

    def run(_: int) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.mcap")
            with subprocess.Popen(
                [sys.executable, "-c", ROWS, str(path)], stdout=subprocess.PIPE, text=True
            ) as program:
                assert program.stdout is not None
                rows = 0
                while rows < 20_000:
                    rows = int(program.stdout.readline())
                at = time.monotonic()
                fault(program, path)
                rows = max([rows, *(int(line) for line in program.stdout.read().split())])
                ended = program.wait(ENDS)
                seconds = time.monotonic() - at
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecordingCutShortWarning)
                kept = len(Log.load(path))
        lost = rows - kept
        problems = [] if lost <= CHUNK // ROW + 1000 else [f"{lost} rows are lost"]
        return Outcome("readable" if ended == code else f"exit code {ended}", seconds, problems)

    return run


def _fill_disk(program: subprocess.Popen[str], path: Path) -> None:
    size = path.stat().st_size + 100_000
    resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (size, size))


CASES = (
    Case("recording program killed", ("readable",), STOP, _recording(lambda program, _: program.kill(), -9)),
    Case("disk full while recording", ("readable",), 5.0, _recording(_fill_disk, 7)),
)
