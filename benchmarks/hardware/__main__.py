# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.hardware [SECTION ...] [--minutes 10] [--json FOLDER]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import command, machine
from benchmarks.hardware import cycle, faults
from benchmarks.report import Report

METHOD = """\
method: device (emulator), cycle and commanding program are processes of their own on a real socket; the emulator has
the higher real-time priority, as a device has its own processor. It judges all that comes to it. Times of demands are
those of the flight recorder.\
"""
SECTIONS = ("faults", "cycle")
LONGEST = 60.0  # [min]


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 where a target is missed, 2 where a section could not run to its end."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="how long the cycle is watched, idle and beside others (default 10)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="trials of each fault (default 5)")
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_hw"), help="gets raw data and figures.json"
    )
    command.add_choice(parser, SECTIONS)
    chosen = command.chosen_of(parser, arguments, SECTIONS)
    command.positive(parser, "--minutes", chosen.minutes, LONGEST)
    if chosen.quick:
        chosen.repeats, chosen.minutes = 1, 0.01
    report = Report(machine.describe("not pinned"))
    folder: Path = chosen.json
    sections: dict[str, Callable[[], None]] = {
        "faults": lambda: faults.run(report, folder / "faults", chosen.repeats, chosen.quick),
        "cycle": lambda: cycle.run(report, folder / "cycle", 60.0 * chosen.minutes, chosen.quick),
    }
    code = command.run(report, METHOD, {name: sections[name] for name in chosen.section}, folder / "figures.json")
    print(f"\nraw data and figures: {folder}")
    return code


if __name__ == "__main__":
    sys.exit(main())
