# SPDX-License-Identifier: Apache-2.0
"""`ada list`: list the robots of the catalogue."""

from __future__ import annotations

import argparse

from ada_dynamics.robots.catalogue import CATALOGUE
from ada_tools.commands.common import print_json, table

NAME = "list"
SUMMARY = "list the robots of the catalogue"
DETAILS = """\
These names are accepted wherever a robot file is.

examples:
  ada list
  ada info pa10
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(options: argparse.Namespace) -> int:
    """Print the catalogue."""
    if options.json:
        print_json([{"name": e.name, "summary": e.summary, "path": str(e.path)} for e in CATALOGUE.values()])
    else:
        print("\n".join(table(("name", "robot"), [(e.name, e.summary) for e in CATALOGUE.values()])))
    return 0
