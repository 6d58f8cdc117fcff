# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.ros [SECTION ...] [--minutes 10] [--json FOLDER]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ada_dynamics.errors import AdaError
from ada_robot.ros import environment
from benchmarks import machine
from benchmarks.report import Report
from benchmarks.ros import control, latency, timing, world

METHOD = """\
method: the node, who listens to it, and who sends commands are processes of their own; a bare process on each CPU
sleeps and wakes at the same rate. A period is missed when the node wakes more than one period behind its deadline. It
is explained when a bare process was as late at that time: then the machine stood still, or had other work to do.\
"""
LONGEST = 15.0  # [min] that the trace of a loop has room for

SECTIONS = ("timing", "latency", "control")


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 where a target is missed, 2 where nothing can be measured."""
    parser = argparse.ArgumentParser("python -m benchmarks.ros", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="how long the idle node, and a controlled one, are watched (default 10)",
    )
    parser.add_argument("--robot", default="pa10", help="name or file of the robot (default pa10)")
    parser.add_argument("--rate", type=float, default=1000.0, metavar="HZ", help="of the physics (default 1000)")
    parser.add_argument("--publish", type=float, default=250.0, metavar="HZ", help="of joint_states (default 250)")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: figures mean little")
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_ros"), help="gets raw data and figures.json"
    )
    parser.add_argument("section", nargs="*", help=f"which of {', '.join(SECTIONS)}; all where none is given")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.section if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    wanted = chosen.section or SECTIONS
    if not 0.0 < chosen.minutes <= LONGEST:
        parser.error(f"--minutes is {chosen.minutes:g}; it must be positive and at most {LONGEST:g}")
    if not 0.0 < chosen.publish <= chosen.rate:
        parser.error(f"--publish is {chosen.publish:g}; it must be positive and at most --rate, {chosen.rate:g}")
    problem = environment.ros_problem()
    if problem is not None:
        parser.error(problem)
    report = Report({**machine.describe("not pinned"), "clock": world.clock()})
    for key, value in report.machine.items():
        print(f"{key:18} {value}")
    print(METHOD)
    folder = chosen.json
    try:
        plan = timing.Plan(folder, chosen.robot, chosen.rate, chosen.publish, 0.5 if chosen.quick else 3.0)
        seconds = 1.0 if chosen.quick else 60.0 * chosen.minutes
        if "timing" in wanted:
            timing.run(report, plan, seconds, chosen.quick)
        if "latency" in wanted:
            latency.run(report, plan, 20 if chosen.quick else 2000)
        if "control" in wanted:
            control.run(report, plan, seconds, chosen.quick)
    except AdaError as failure:
        print(f"benchmarks.ros: error: {failure}", file=sys.stderr)
        return 2
    report.summary()
    figures = folder / "figures.json"
    figures.write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    print(f"\nraw data and figures: {folder}")
    return 0 if all(target.reached for target in report.targets) else 1


if __name__ == "__main__":
    sys.exit(main())
