# SPDX-License-Identifier: Apache-2.0
"""Show a robot or a recorded motion in the browser.

A robot has a slider for each joint, a recorded motion a time slider and plots.
Closed loops are kept closed: the motors have sliders, the other joints follow.
The page works offline and is accessible from this machine only, unless --host is given.

Examples:
  ada view pa10                      joint sliders
  ada view four_bar                  a linkage with a slider for the crank
  ada view fall.mcap                 play a recording
  ada view pa10 --port 0 --no-open   any free port; print the address only
  ada view pa10 --duration 10        end after 10 s
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ada_dynamics.errors import InputError
from ada_tools.browser.page import HOST, PORT
from ada_tools.commands.common import add_robot_arguments, robot_of, seconds, start_pose

LOGS = (".mcap",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "robot", metavar="ROBOT|LOG", help="file of a robot, a name from `ada list`, or a recording (.mcap)"
    )
    add_robot_arguments(parser, start="near zero, or from the catalogue")
    add_page_arguments(parser)
    parser.add_argument("--duration", type=seconds, metavar="S", help="end after S seconds (default: at Ctrl-C)")


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --host, --port and --no-open (alias --no-browser) for commands with a page."""
    parser.add_argument(
        "--host",
        default=HOST,
        help=f"address to listen on (default {HOST}: this machine only; 0.0.0.0: all, with a token)",
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port to listen on (default {PORT}); 0 selects a free one"
    )
    parser.add_argument(
        "--no-open", "--no-browser", action="store_true", help="print the address, do not open a browser"
    )


def page_options(options: argparse.Namespace) -> dict[str, Any]:
    """Options of a page, with its duration."""
    page = {"host": options.host, "port": options.port, "duration": options.duration}
    return {**page, "open_browser": not options.no_open}


def run(options: argparse.Namespace) -> int:
    """Show the page until Ctrl-C."""
    page = page_options(options)
    if Path(options.robot).suffix.lower() in LOGS:
        from ada_dynamics.simulation.log import Log
        from ada_tools.browser.playback import play

        _refuse_robot_options(options)
        play(Log.load(options.robot), **page)
        return 0
    from ada_tools.browser.pose_page import pose

    model = robot_of(options)
    pose(model, start_pose(options, model), **page)
    return 0


def _refuse_robot_options(options: argparse.Namespace) -> None:
    given = {
        "--base": options.base not in (None, "fixed"),
        "--arg": options.arg,
        "--loops": options.loops,
        "--start": options.start,
    }
    wrong = [flag for flag, value in given.items() if value]
    if wrong:
        raise InputError(f"{', '.join(wrong)}: not allowed with a recording, which contains its robot.")
