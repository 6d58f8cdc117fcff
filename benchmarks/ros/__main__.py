# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.ros [--minutes 10] [--json FOLDER]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ada_robot.ros import environment
from benchmarks.report import Report, describe_machine, require, run_sections
from benchmarks.ros import measurements, world

METHOD = """\
method: the node and its subscriber are separate processes; a bare process on each CPU sleeps and wakes at the same
rate. A period is missed if the node wakes more than one period behind its deadline. It is explained if a bare process
was as late at that time: then the machine was suspended or busy.\
"""
LONGEST = 15.0  # [min] of the trace of a loop


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 if a target is missed, 2 if a section failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.ros", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="duration (default 10)")
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_ros"), help="for raw data and figures.json"
    )
    parser.add_argument("--quick", action="store_true", help="check that it runs; figures mean little")
    chosen = parser.parse_args(arguments)
    require(parser, "--minutes", chosen.minutes, LONGEST)
    problem = environment.ros_problem()
    if problem is not None:
        parser.error(problem)
    report = Report({**describe_machine("not pinned"), "clock": world.clock()})
    folder: Path = chosen.json
    seconds = 1.0 if chosen.quick else 60.0 * chosen.minutes
    sections = {"periods": lambda: measurements.timing(report, folder, seconds, chosen.quick)}
    code = run_sections(report, METHOD, sections, folder / "figures.json")
    print(f"\nraw data and figures: {folder}")
    return code


if __name__ == "__main__":
    sys.exit(main())
