# SPDX-License-Identifier: Apache-2.0
"""python -m trials.soak [PART ...] [--hours 24] [--slice 3600] [--steps 1e9] [--state out/soak]: long runs.

Parts: tests (those marked soak), steps (of simulations), nodes (an arm on its emulated device and a simulation, in
slices). A call goes on where the last one with the same --state ended; 1 where a bound is broken.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import AdaError
from ada_dynamics.robots import mechanisms
from trials.soak import steps
from trials.soak.steps import Ledger

PARTS = ("tests", "steps", "nodes")
WATCHED = ("last", "slope")  # of the memory of a process
START = {"phase": 0.0, "t": 0.0, "q": mechanisms.four_bar().q.tolist(), "v": [0.0] * 3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts."""
    parser = argparse.ArgumentParser("python -m trials.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all where none is named")
    parser.add_argument("--hours", type=float, default=24.0, help="of nodes, of all calls (default %(default)s)")
    parser.add_argument("--slice", type=float, default=3600.0, help="length of a slice [s] (default %(default)s)")
    parser.add_argument("--priority", type=int, default=0, help="real-time, of the nodes' loops (default: none)")
    parser.add_argument("--steps", type=float, default=1e9, help="of each simulation, of all calls (default 1e9)")
    parser.add_argument("--state", type=Path, default=Path("out/soak"), help="folder (default %(default)s)")
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in PARTS]
    chosen = options.parts or PARTS
    os.environ.setdefault("ROS_DOMAIN_ID", "100")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    from ada_robot.ros.environment import ros_problem

    problem = f"parts are {', '.join(PARTS)}" if unknown else ros_problem() if "nodes" in chosen else None
    if problem:
        parser.error(problem)
    holds = True
    if "tests" in chosen:
        holds &= subprocess.run([sys.executable, "-m", "pytest", "-m", "soak"], check=False).returncode == 0
    if "steps" in chosen:
        kept = [steps.run(name, options.steps, options.state) for name in steps.CASES]
        holds &= all(kept)
    if "nodes" in chosen:
        holds &= _slices(options)
    return int(not holds)


def _slices(options: argparse.Namespace) -> bool:
    """Slice after slice until the hours are full; True if nothing was wrong in any."""
    from trials.soak.nodes import run_slice

    ledger = Ledger(options.state / "slices.jsonl")
    while sum(row["seconds"] for row in ledger.rows) < 3600.0 * options.hours - 1e-6:
        folder = options.state / f"slice_{len(ledger.rows)}"
        shutil.rmtree(folder, ignore_errors=True)  # of a slice that was killed: it is made again
        folder.mkdir(parents=True)
        state = ledger.rows[-1]["state"] if ledger.rows else START
        tell = _Teller(folder.name)
        row = run_slice(folder, options.slice, state, options.priority, tell)
        ledger.append(row)
        for problem in row["problems"]:
            tell(f"WRONG: {problem}")
        if not row["problems"]:
            shutil.rmtree(folder)  # a day of recordings is gigabytes
    print("\n".join(table(ledger.rows)))
    return not any(row["problems"] for row in ledger.rows)


class _Teller(str):
    """Says lines behind its name."""

    def __call__(self, line: str) -> None:
        print(f"{self}: {line}", flush=True)


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Summary of all slices: medians of the growth of memory, worst values of everything else."""
    hours = sum(row["seconds"] for row in rows) / 3600.0
    lines = [f"{len(rows)} slices, {hours:.2f} h", "", f"{'process':<28}{'MB':>8}{'MB/h':>8}"]
    for name in sorted({name for row in rows for name in row["processes"]}):
        found = [next(iter(row["processes"][name].values())) for row in rows if name in row["processes"]]
        lines.append(f"{name:<28}" + "".join(f"{np.median([one[key] for one in found]):>8.2f}" for key in WATCHED))
    for name in dict.fromkeys(name for row in rows for name in row["late [ms]"]):
        late = max(row["late [ms]"][name]["p99"] for row in rows if name in row["late [ms]"])
        lines.append(f"{name}: {late:.3g} ms late at p99")
    lines.append(f"states of the simulation: {sum(row['states'] for row in rows)}")
    for what in dict.fromkeys(what for row in rows for what in row["simulation"]):
        worst = max(row["simulation"].get(what, np.inf) for row in rows)
        lines.append(f"four-bar: {what} {worst:.2e} after {rows[-1]['state']['t']:.0f} s")
    lines.append(f"arm off its path: {max(row['off the path [rad]'] for row in rows):.1e} rad at most")
    wrong, late = (sum(bool(row[what]) for row in rows) for what in ("problems", "by the machine"))
    return [*lines, f"slices with problems: {wrong}; with delays by a busy machine: {late}"]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AdaError as failure:
        sys.exit(f"python -m trials.soak: {failure}")
