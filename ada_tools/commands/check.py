# SPDX-License-Identifier: Apache-2.0
"""Report errors and suspicious values in robot descriptions.

Reads robot descriptions and reports errors in structure, masses, inertias, limits, units and spelling,
and for closed loops: closure, mobility, redundant constraints and redundant actuation.
Errors make results wrong or impossible; warnings are likely mistakes; notes are hints.

Examples:
  ada check robot.urdf                     text report
  ada check *.urdf --json                  report as a JSON list, one entry per file
  ada check robot.urdf --strict            warnings count as errors: for continuous integration
  ada check robot.urdf.xacro --arg arm=left
  ada check robot.urdf --loops robot.loops.yaml
  ros2 param get --hide-type /robot_state_publisher robot_description | ada check -

exit code:
  0  no errors        1  errors (with --strict: or warnings)        2  wrong usage, or no such file

A xacro file is a program that runs with your rights: only check those you trust.
"""

from __future__ import annotations

import argparse

from ada_dynamics.robots.check import check
from ada_tools.commands.common import add_robot_arguments, mappings, print_json, source_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="file of a robot, name from `ada list`, or - for stdin"
    )
    parser.add_argument("--strict", action="store_true", help="fail on warnings, too")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_robot_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Check every file."""
    arguments = mappings(options)
    reports = [check(source_of(file), options.base, arguments, options.loops) for file in options.files]
    if options.json:
        print_json([report.to_dict() for report in reports])
    else:
        for report in reports:
            print(report)
    failed = any(not r.ok or (options.strict and r.warnings) for r in reports)
    return 1 if failed else 0
