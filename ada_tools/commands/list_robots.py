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
from ada_tools.commands.common import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing: the command has no arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the catalogue by groups."""
    robots = CATALOGUE.values()
    lines = table(("name", "robot"), [(e.name, e.summary) for e in robots])
    for group in dict.fromkeys(e.group for e in robots):
        print(f"{group}:")
        for e, line in zip(robots, lines[1:], strict=True):
            if e.group == group:
                print(f"  {line}")
    return 0
