# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.hardware [SECTION ...] [--minutes 10] [--json FOLDER]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ada_dynamics.errors import AdaError
from benchmarks import machine
from benchmarks.hardware import commands, cycle, faults, restarts, stops
from benchmarks.report import Report

METHOD = """\
method: device (emulator), cycle and commanding program are processes of their own on a real socket; the emulator has
the higher real-time priority, as a device has its own processor. It judges all that comes to it. Times of demands are
those of the flight recorder.\
"""
SECTIONS = ("faults", "stops", "commands", "cycle", "restarts")
LONGEST = 60.0  # [min]


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 where a target is missed, 2 where nothing can be measured."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="how long the cycle is watched, idle and beside others (default 10)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="trials of each fault (default 5)")
    parser.add_argument("--restarts", type=int, default=1000, help="restarts in random order (default 1000)")
    parser.add_argument("--commands", type=int, default=1_000_000, help="bad commands (default 1000000)")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: figures mean little")
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_hw"), help="gets raw data and figures.json"
    )
    parser.add_argument("section", nargs="*", help=f"which of {', '.join(SECTIONS)}; all where none is given")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.section if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    if not 0.0 < chosen.minutes <= LONGEST:
        parser.error(f"--minutes is {chosen.minutes:g}; it must be positive and at most {LONGEST:g}")
    wanted = chosen.section or SECTIONS
    if chosen.quick:
        chosen.repeats, chosen.restarts, chosen.commands, chosen.minutes = 1, 20, 10_000, 0.05
    report = Report(machine.describe("not pinned"))
    for key, value in report.machine.items():
        print(f"{key:18} {value}")
    print(METHOD)
    folder: Path = chosen.json
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if "faults" in wanted:
            faults.run(report, folder / "faults", chosen.repeats, chosen.quick)
        if "stops" in wanted:
            stops.run(report, folder / "stops", chosen.repeats)
        if "commands" in wanted:
            commands.run(report, chosen.commands)
        if "cycle" in wanted:
            cycle.run(report, folder / "cycle", 60.0 * chosen.minutes, chosen.quick)
        if "restarts" in wanted:
            restarts.run(report, folder / "restarts", chosen.restarts)
    except AdaError as failure:
        print(f"benchmarks.hardware: error: {failure}", file=sys.stderr)
        return 2
    report.summary()
    (folder / "figures.json").write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    print(f"\nraw data and figures: {folder}")
    return 0 if all(target.reached for target in report.targets) else 1


if __name__ == "__main__":
    sys.exit(main())
