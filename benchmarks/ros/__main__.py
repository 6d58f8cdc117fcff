# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.ros [SECTION ...] [--minutes 10] [--json FOLDER]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from ada_robot.ros import environment
from benchmarks import command, machine
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
    """Measure; 1 where a target is missed, 2 where a section could not run to its end."""
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
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_ros"), help="gets raw data and figures.json"
    )
    command.add_choice(parser, SECTIONS)
    chosen = command.chosen_of(parser, arguments, SECTIONS)
    command.positive(parser, "--minutes", chosen.minutes, LONGEST)
    command.positive(parser, "--publish", chosen.publish, chosen.rate, f"--rate, {chosen.rate:g}")
    problem = environment.ros_problem()
    if problem is not None:
        parser.error(problem)
    report = Report({**machine.describe("not pinned"), "clock": world.clock()})
    folder: Path = chosen.json
    plan = timing.Plan(folder, chosen.robot, chosen.rate, chosen.publish, 0.5 if chosen.quick else 3.0)
    seconds = 1.0 if chosen.quick else 60.0 * chosen.minutes
    sections: dict[str, Callable[[], None]] = {
        "timing": lambda: timing.run(report, plan, seconds, chosen.quick),
        "latency": lambda: latency.run(report, plan, 20 if chosen.quick else 2000),
        "control": lambda: control.run(report, plan, seconds, chosen.quick),
    }
    code = command.run(report, METHOD, {name: sections[name] for name in chosen.section}, folder / "figures.json")
    print(f"\nraw data and figures: {folder}")
    return code


if __name__ == "__main__":
    sys.exit(main())
