# SPDX-License-Identifier: Apache-2.0
"""The process that atheris has for itself: python -m trials.fuzz.child TARGET FOLDER SCRATCH [libFuzzer's flags].

Modules must be imported after atheris, which adds the counters of branches while they are; the process ends within
libFuzzer, so that all it has to say is written while it runs: FOLDER/counts.json, and what libFuzzer writes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import atheris

from trials.fuzz.counts import Counts
from trials.fuzz.target import Target, Trial

_PAUSE = 5.0  # between two notes of how far it is [s]


def _find(name: str) -> Target:
    from trials.fuzz import targets

    with atheris.instrument_imports(include=list(targets.rooms(name)), enable_loader_override=False):
        return targets.find(name)


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, folder, scratch, flags = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    trial, before = Trial(_find(name), scratch), Counts.read(folder)
    runs, began, noted = 0, time.process_time(), 0.0
    last = next((int(flag[6:]) for flag in flags if flag.startswith("-runs=")), 0)

    def once(data: bytes) -> None:
        nonlocal runs, noted
        trial(data)
        runs += 1
        now = time.monotonic()
        if now > noted + _PAUSE or runs >= last:
            noted = now
            before.and_(runs, time.process_time() - began, *trial.slowest).write(folder)

    atheris.Setup([sys.argv[0], *flags], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
