# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks [section ...] [--quick] [--strict] [--json FILE]`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks import (
    chains,
    closed,
    closure,
    compiling,
    derivatives,
    energy,
    flops,
    forward,
    inverse_kinematics,
    other,
    simulation,
    spherical,
    threads,
)
from benchmarks.report import CANNOT_RUN, Report, describe_machine, parse, run_sections
from benchmarks.timing import QUICK, USUAL, pin_to_one_cpu

SECTIONS = {
    "forward": forward.run,
    "closed": closed.run,
    "closure": closure.run,
    "chains": chains.run,
    "spherical": spherical.run,
    "compile": compiling.run,
    "derivatives": derivatives.run,
    "flops": flops.run,
    "other": other.run,
    "simulation": simulation.run,
    "energy": energy.run,
    "ik": inverse_kinematics.run,
    "threads": threads.run,
}
METHOD = """\
method: all contenders of a table in turn, in this one process, round after round. Shown are medians over the rounds;
a ratio is the median of the ratios of the rounds. Time is the processor time of this process where the system measures
that finely. Only ratios are compared with targets (set on an AMD Zen 5 with 512-bit vectors): times depend on the
machine and its load.\
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the sections; 0, with --strict 1 if a target is missed, 2 if a section failed."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    chosen = parse(parser, arguments, list(SECTIONS))
    report = Report(describe_machine(pin_to_one_cpu()))
    schedule = QUICK if chosen.quick else USUAL
    wanted = {name: partial(SECTIONS[name], report, schedule, chosen.quick) for name in chosen.section}
    code = run_sections(report, METHOD, wanted, chosen.json)
    return code if chosen.strict or code == CANNOT_RUN else 0


if __name__ == "__main__":
    sys.exit(main())
