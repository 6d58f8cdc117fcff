# SPDX-License-Identifier: Apache-2.0
"""Show moving robots in the browser; drag them with the mouse.

The page has a list of ten simulated robots of the catalogue. It requires the extra `view`.

Examples:
  ada demo                          start with the Stewart platform
  ada demo khr1                     start with a walking humanoid
  ada demo --no-browser             only print the address
  ada demo --duration 10            end after 10 s
"""

from __future__ import annotations

import argparse

from ada_tools.browser.demo_page import DEMOS, show
from ada_tools.commands.common import seconds
from ada_tools.commands.view import add_page_arguments, page_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    names = list(DEMOS)
    shown = f"robot that is shown first (default {names[0]}): {', '.join(names)}"
    parser.add_argument("robot", nargs="?", choices=names, default=names[0], metavar="ROBOT", help=shown)
    add_page_arguments(parser)
    parser.add_argument("--duration", type=seconds, metavar="S", help="end after S seconds (default: at Ctrl-C)")


def run(options: argparse.Namespace) -> int:
    """Show the demo until Ctrl-C."""
    show(options.robot, **page_options(options))
    return 0
