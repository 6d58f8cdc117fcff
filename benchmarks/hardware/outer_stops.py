# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.hardware.outer_stops [--only TEXT] [--state TEXT] [--json FILE]`.

Stops from every outer interface in every state of an emulated PA-10, by the clock on the wall: nodes and programs
are processes as people start them.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2] / "test/support"


def main(arguments: list[str] | None = None) -> int:
    """Try everything; 1 where a stop was late, or the arm began anew."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware.outer_stops", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="interfaces whose names have it")
    parser.add_argument("--state", default="", metavar="TEXT", help="states whose names have it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets a line per trial")
    chosen = parser.parse_args(arguments)
    if not TESTS.is_dir():
        parser.error(f"what is tried stands in {TESTS}, which is not there; run this in a checkout")
    sys.path.insert(0, str(TESTS))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends with it
    from outer.table import STATES, WAYS, rows

    print(f"{'stopped by':30} {'in':26} {'told [s]':>9} {'moves [s]':>10} {'limit [s]':>10}")
    made = []
    ways = [way for way in WAYS if chosen.only in way]
    for row in rows(ways, [state for state in STATES if chosen.state in state]):
        made.append(row)
        times = f"{row.told:9.3f} {row.moved:10.3f} {row.limit:10.3f}  {'; '.join(row.problems)}"
        print(f"{row.way:30} {row.state:26} {row.left_out or times}", flush=True)
    if chosen.json is not None:
        chosen.json.write_text("".join(json.dumps(row._asdict()) + "\n" for row in made), encoding="utf-8")
    late, left_out = sum(bool(row.problems) for row in made), sum(bool(row.left_out) for row in made)
    print(f"{len(made) - left_out} trials; {late} not as they must be; {left_out} left out")
    return int(late > 0 or left_out == len(made))


if __name__ == "__main__":
    sys.exit(main())
