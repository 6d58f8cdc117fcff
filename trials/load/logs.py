# SPDX-License-Identifier: Apache-2.0
"""A recording of 10^6 rows: recorded, looked at, converted, plotted; and what is said where memory is short."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trials.load.figure import Figure, Trial

ROWS = 1_000_000
SHORT = 800  # [MB] of addresses: enough for the program, not for the recording
PEAK = 2000.0  # [MB]
_MB = 2**20


def rows(count: int, peak: float = PEAK, short: int = SHORT) -> Trial:
    """So many rows."""
    return Trial(f"a recording of {count} rows", lambda _: _run(count, peak, short))


def _run(count: int, peak: float, short: int) -> Sequence[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.mcap")
        ada = ("ada_tools.cli", "record")
        steps: dict[str, tuple[str, ...]] = {
            "recorded": ("trials.load.rows", str(file), str(count)),
            "ada record info": (*ada, "info", str(file)),
            "ada record convert to .npz": (*ada, "convert", str(file), str(file.with_suffix(".npz"))),
            "ada record info of .npz": (*ada, "info", str(file.with_suffix(".npz"))),
            "ada record convert to .csv": (*ada, "convert", str(file), str(file.with_suffix(".csv"))),
            "plotted": ("trials.load.rows", str(file)),
        }
        found = []
        for name, words in steps.items():
            code, seconds, megabytes, said = _measured(words)
            found += [
                Figure(f"{name}: exit code", code, 0),
                Figure(f"{name} [s]", seconds),
                Figure(f"{name}: peak memory [MB]", megabytes, peak),
            ]
        found.append(Figure("size of the .mcap [MB]", file.stat().st_size / 1e6))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (short * _MB, short * _MB))  # noqa: E731
        code, _, _, said = _measured(steps["ada record info"], limit)
        is_told = code == 2 and "memory" in said and "Traceback" not in said
        return [*found, Figure(f"with {short} MB it is refused in words (1: yes)", float(is_told), 1.0, at_least=True)]


def _measured(words: Sequence[str], limit: Callable[[], None] | None = None) -> tuple[int, float, float, str]:
    """Exit code, time [s], peak of memory [MB] and words of a program."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        program = subprocess.Popen(
            [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limit
        )
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return program.returncode, time.monotonic() - began, used.ru_maxrss / 1024.0, text


TRIALS = (rows(ROWS),)
