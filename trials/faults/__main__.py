# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m trials.faults [--only TEXT] [--seed 1] [--json FILE]`.

Device, cycle, recording program and nodes are separate processes. Each case must end in its state within its time,
counted from the fault until the state is seen; the exit status is 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ada_dynamics.errors import AdaError
from trials.faults import devices, nodes, recordings
from trials.faults.case import Case, Outcome

CASES = (*devices.CASES, *recordings.CASES, *nodes.CASES)


def main(arguments: Sequence[str] | None = None, cases: Sequence[Case] = CASES) -> int:
    """Run the campaign; 1 if a case failed."""
    parser = argparse.ArgumentParser("python -m trials.faults", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain TEXT")
    parser.add_argument("--seed", type=int, default=1, help="of random values (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="for a line per case")
    chosen = parser.parse_args(arguments)
    rows = []
    print(f"{'case':36} {'ended':10} {'after [s]':>10} {'limit [s]':>10}")
    for case in cases:
        if chosen.only not in case.name:
            continue
        try:
            outcome = case.run(chosen.seed)
        except AdaError as problem:
            outcome = Outcome("broken off", 0.0, [str(problem)])
        rows.append({**_judged(case, outcome), "seed": chosen.seed})
    if chosen.json is not None:
        chosen.json.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return int(not all(row["holds"] for row in rows))


def _judged(case: Case, outcome: Outcome) -> dict[str, object]:
    """Print and return the row of a case."""
    state, seconds, problems, reason = outcome
    holds = state in case.states and seconds <= case.limit and not problems
    print(f"{case.name:36} {state:10} {seconds:10.3f} {case.limit:10.3f}  {'' if holds else 'FAILED'}", flush=True)
    for text in (*problems[:3], *([reason] if not holds and reason else [])):
        print(f"    {text}")
    found = {"case": case.name, "state": state, "seconds": seconds, "limit": case.limit, "reason": reason}
    return {**found, "holds": holds, "problems": problems}


if __name__ == "__main__":
    sys.exit(main())
