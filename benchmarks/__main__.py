# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks [section ...] [--quick] [--strict] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    assembly,
    calls,
    chains,
    closed,
    compiling,
    controllers,
    derivatives,
    flops,
    forward,
    hybrid,
    machine,
    other,
    overconstrained,
    simulation,
)
from benchmarks.report import Report
from benchmarks.timing import Plan, pin_to_one_cpu

SECTIONS: dict[str, Callable[[Report, Plan, bool], None]] = {
    "forward": forward.run,
    "calls": calls.run,
    "closed": closed.run,
    "chains": chains.run,
    "assembly": assembly.run,
    "hybrid": hybrid.run,
    "compile": compiling.run,
    "flops": flops.run,
    "derivatives": derivatives.run,
    "other": other.run,
    "simulation": simulation.run,
    "linkages": overconstrained.run,
    "controllers": controllers.run,
}
METHOD = """\
method: all contenders of a table in turn, in this one process, round after round. Shown are medians over the rounds;
a ratio is the median of the ratios of the rounds. Time is the processor time of this process where the system measures
that finely. Only ratios are compared with targets (set on an AMD Zen 5 with 512-bit vectors): times depend on the
machine, and on what else it does.\
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the sections; 0, or with --strict 1 where a target is missed."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("section", nargs="*", help=f"which of {', '.join(SECTIONS)}; all where none is given")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: figures mean little")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.section if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    report = Report(machine.describe(pin_to_one_cpu()))
    for key, value in report.machine.items():
        print(f"{key:18} {value}")
    print(METHOD)
    plan = Plan.quick() if chosen.quick else Plan.usual()
    for name, run in SECTIONS.items():
        if not chosen.section or name in chosen.section:
            run(report, plan, chosen.quick)
    report.summary()
    if chosen.json:
        chosen.json.write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    return 1 if chosen.strict and not all(target.reached for target in report.targets) else 0


if __name__ == "__main__":
    sys.exit(main())
