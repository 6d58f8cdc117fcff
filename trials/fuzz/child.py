# SPDX-License-Identifier: Apache-2.0
"""The process that atheris has for itself: python -m trials.fuzz.child TARGET FOLDER [libFuzzer's flags].

Modules must be imported after atheris, which adds the counters of branches while they are; the process ends within
libFuzzer, so that all it has to say stands in files of FOLDER: slowest.json, and what libFuzzer writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris

from trials.fuzz.target import Target, Trial


def _find(name: str) -> Target:
    from trials.fuzz import targets

    with atheris.instrument_imports(include=list(targets.rooms(name)), enable_loader_override=False):
        return targets.find(name)


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, folder, flags = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    target = _find(name)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    trial, told = Trial(target, scratch), [0.0]

    def once(data: bytes) -> None:
        trial(data)
        if trial.slowest[0] > told[0]:
            told[0] = trial.slowest[0]
            said = {"seconds": told[0], "input": trial.slowest[1].hex()}
            (folder / "slowest.json").write_text(json.dumps(said), encoding="utf-8")

    atheris.Setup([sys.argv[0], *flags], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
