# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks [section ...] [--quick] [--strict] [--json FILE]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import (
    calls,
    chains,
    closed,
    closure,
    command,
    compiling,
    controllers,
    derivatives,
    energy,
    flops,
    forward,
    inverse_kinematics,
    machine,
    other,
    overconstrained,
    simulation,
    spherical,
    threads,
)
from benchmarks.report import Report
from benchmarks.timing import Plan, pin_to_one_cpu

SECTIONS: dict[str, Callable[[Report, Plan, bool], None]] = {
    "forward": forward.run,
    "calls": calls.run,
    "closed": closed.run,
    "closure": closure.run,
    "chains": chains.run,
    "spherical": spherical.run,
    "compile": compiling.run,
    "flops": flops.run,
    "derivatives": derivatives.run,
    "other": other.run,
    "simulation": simulation.run,
    "energy": energy.run,
    "linkages": overconstrained.run,
    "controllers": controllers.run,
    "ik": inverse_kinematics.run,
    "threads": threads.run,
}
METHOD = """\
method: all contenders of a table in turn, in this one process, round after round. Shown are medians over the rounds;
a ratio is the median of the ratios of the rounds. Time is the processor time of this process where the system measures
that finely. Only ratios are compared with targets (set on an AMD Zen 5 with 512-bit vectors): times depend on the
machine, and on what else it does.\
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the sections; 0, with --strict 1 where a target is missed, 2 where a section could not run to its end."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    command.add_choice(parser, SECTIONS)
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    chosen = command.chosen_of(parser, arguments, SECTIONS)
    report = Report(machine.describe(pin_to_one_cpu()))
    plan = Plan.quick() if chosen.quick else Plan.usual()
    wanted = {name: partial(SECTIONS[name], report, plan, chosen.quick) for name in chosen.section}
    code = command.run(report, METHOD, wanted, chosen.json)
    return code if chosen.strict or code == command.CANNOT_RUN else 0


if __name__ == "__main__":
    sys.exit(main())
