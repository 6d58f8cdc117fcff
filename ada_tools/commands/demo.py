# SPDX-License-Identifier: Apache-2.0
"""`ada demo`: robots that move, in the browser, to choose from and to push."""

from __future__ import annotations

import argparse

from ada_tools.browser.exhibits import EXHIBITS
from ada_tools.browser.page import HOST, nearest_free
from ada_tools.commands.common import refuse_no_time
from ada_tools.commands.view import add_page_arguments

NAME = "demo"
SUMMARY = "robots that move, in the browser, to choose from and to push"
DETAILS = """\
Show five robots that come with the library, one after the other, on a page in the browser: simulated, moving, and
there to be pushed with the mouse. It needs the extra `view` and nothing else; a port that is taken gives way to the
next.

examples:
  ada demo                          begins with the Stewart platform
  ada demo khr1                     begins with a humanoid that walks
  ada demo --no-browser             only prints the address
  ada demo --duration 10            ends by itself
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "robot", nargs="?", choices=list(EXHIBITS), default=next(iter(EXHIBITS)), help="to begin with (default stewart)"
    )
    add_page_arguments(parser)
    parser.add_argument("--duration", type=float, metavar="S", help="end after so many seconds (default: at Ctrl-C)")


def run(options: argparse.Namespace) -> int:
    """Show it until Ctrl-C."""
    refuse_no_time("--duration", options.duration)
    from ada_tools.browser.showroom import show

    show(
        options.robot,
        host=options.host,
        port=nearest_free(options.host or HOST, options.port),
        open_browser=not options.no_open,
        duration=options.duration,
    )
    return 0
