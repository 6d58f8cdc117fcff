# SPDX-License-Identifier: Apache-2.0
"""Moving robots in the browser, which can be selected and pushed.

The page shows ten simulated robots of the catalogue. Requires the extra `view`.

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
    parser.add_argument(
        "robot", nargs="?", choices=list(DEMOS), default=next(iter(DEMOS)), help="first robot (default stewart)"
    )
    add_page_arguments(parser)
    parser.add_argument("--duration", type=seconds, metavar="S", help="end after S seconds (default: at Ctrl-C)")


def run(options: argparse.Namespace) -> int:
    """Show the demo until Ctrl-C."""
    show(options.robot, **page_options(options))
    return 0
