# SPDX-License-Identifier: Apache-2.0
"""python -m trials.silent_wrong [--count N] [--seed S] [--report FILE]: mutated robots and states, judged by others.

Robots are broken in some places, asked for their dynamics in states of any kind, and judged by pinocchio and by the
equations of motion. The library may refuse by an error of its own, or be right; wrong and silent it may never be. A
report goes on where it ended, and a robot comes again by seed and number.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trials.silent_wrong.cases import FAMILIES, VERDICTS, WRONG, cases


def main() -> int:
    """Run cases, and tell how they ended; 1 where one was silently wrong."""
    parser = argparse.ArgumentParser(prog="python -m trials.silent_wrong", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="cases in all, at least (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of robots, mutations and states (default: %(default)s)")
    parser.add_argument("--report", type=Path, help="JSON lines, a line a case; one that exists is gone on with")
    parser.add_argument("--robot", type=int, help="this one alone")
    options = parser.parse_args()
    if options.robot is not None:
        for line in cases(options.seed, options.robot):
            print(json.dumps(line, indent=2))
        return 0
    start = time.monotonic()
    rows = _begun(options.report, options.seed)
    before = len(rows)
    with tempfile.TemporaryDirectory() as cache:  # code of robots that nobody meets again
        os.environ.setdefault("ADA_CACHE_DIR", cache)
        for number in itertools.count(rows[-1]["robot"] + 1 if rows else 0):
            if len(rows) >= options.count:
                break
            new = list(cases(options.seed, number))
            rows += new
            if options.report:
                with options.report.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in new)
            for row in new:
                if row["verdict"] == WRONG:
                    print(json.dumps(row), flush=True)
    _tell(rows)
    print(f"seed {options.seed}, {len(rows) - before} cases in {time.monotonic() - start:.0f} s")
    return int(any(row["verdict"] == WRONG for row in rows))


def _begun(report: Path | None, seed: int) -> list[dict[str, Any]]:
    """The lines that are there, without the last robot's, which may be cut off."""
    if report is None or not report.exists():
        return []
    lines = report.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[:-1]]
    last = rows[-1]["robot"] if rows else None
    rows = [row for row in rows if row["robot"] != last]
    if any(row["seed"] != seed for row in rows):
        raise SystemExit(f"{report} is of another seed; name another file.")
    report.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


def _tell(rows: Iterable[Mapping[str, Any]]) -> None:
    """A table of verdicts by family, and the robots met."""
    counts = Counter((row["family"], row["verdict"]) for row in rows)
    robots = Counter(family for family, _ in {(row["family"], row["robot"]) for row in rows})
    print(f"{'family':<18}{'robots':>10}" + "".join(f"{verdict:>14}" for verdict in VERDICTS))
    for name in [family.name for family in FAMILIES]:
        print(f"{name:<18}{robots[name]:>10}" + "".join(f"{counts[name, verdict]:>14}" for verdict in VERDICTS))
    whole = [sum(counts[family.name, verdict] for family in FAMILIES) for verdict in VERDICTS]
    print(f"{'all':<18}{robots.total():>10}" + "".join(f"{count:>14}" for count in whole))


if __name__ == "__main__":
    raise SystemExit(main())
