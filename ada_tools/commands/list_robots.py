# SPDX-License-Identifier: Apache-2.0
"""List the robots of the catalogue by groups.

These names are accepted wherever a robot file is.

Examples:
  ada list
  ada info pa10
"""

from __future__ import annotations

import argparse

from ada_dynamics.robots.catalogue import CATALOGUE
from ada_tools.commands.common import print_json, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(options: argparse.Namespace) -> int:
    """Print the catalogue by groups."""
    robots = CATALOGUE.values()
    if options.json:
        print_json([{"name": e.name, "group": e.group, "summary": e.summary, "path": str(e.path)} for e in robots])
        return 0
    lines = table(("name", "robot"), [(e.name, e.summary) for e in robots])
    for group in dict.fromkeys(e.group for e in robots):
        print(f"{group}:")
        for e, line in zip(robots, lines[1:], strict=True):
            if e.group == group:
                print(f"  {line}")
    return 0
