# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m trials.load [--only TEXT] [--seconds 5] [--json FILE]`; 1 where a limit is broken."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ada_dynamics.errors import AdaError
from trials.load import flood, logs, readers, robots
from trials.load.figure import Figure, Trial

TRIALS = (*flood.TRIALS, *readers.TRIALS, *robots.TRIALS, *logs.TRIALS)


def main(arguments: Sequence[str] | None = None, trials: Sequence[Trial] = TRIALS) -> int:
    """Run the trials; 1 where a limit is broken."""
    parser = argparse.ArgumentParser("python -m trials.load", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="trials whose names have it")
    parser.add_argument("--seconds", type=float, default=5.0, help="that each part is watched (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets a line per figure")
    chosen = parser.parse_args(arguments)
    rows, broken = [], 0
    for trial in trials:
        if chosen.only not in trial.name:
            continue
        print(trial.name, flush=True)
        try:
            found = list(trial.run(chosen.seconds))
        except AdaError as problem:
            found = [Figure(f"broken off: {problem}", 1.0, 0.0)]
        for one in found:
            broken += not one.holds
            print(_line(one), flush=True)
            rows.append(json.dumps({"trial": trial.name, **one._asdict(), "holds": one.holds}) + "\n")
    if chosen.json is not None:
        chosen.json.write_text("".join(rows), encoding="utf-8")
    return int(broken > 0)


def _line(one: Figure) -> str:
    value = one.value if isinstance(one.value, str) else f"{one.value:.4g}"
    limit = "" if one.limit is None else f"{'at least' if one.at_least else 'at most'} {one.limit:g}"
    return f"    {one.what:50} {value:>24}  {limit:16} {'' if one.holds else 'BROKEN'}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
