# SPDX-License-Identifier: Apache-2.0
"""`ada view`: a robot with sliders, or a recorded motion, in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from ada_dynamics.errors import InputError
from ada_tools.browser.page import HOST, PORT
from ada_tools.commands.common import (
    add_loops_argument,
    add_robot_arguments,
    add_start_argument,
    refuse_no_time,
    robot_of,
    start_pose,
)

NAME = "view"
SUMMARY = "look at a robot or at a recorded motion in the browser"
DETAILS = """\
Show a robot with a slider for each joint, or a recorded motion with a time slider and plots, on a page in the browser.
Where a robot has closed loops, they stay closed: the motors have sliders, the other joints follow.
The page works offline. It is seen from this machine alone unless --host says otherwise.

examples:
  ada view pa10                      sliders for its joints
  ada view four_bar                  a linkage: move the crank
  ada view fall.mcap                 play a recording (.mcap, .npz)
  ada view pa10 --port 0 --no-open   any free port; only the address is printed
  ada view pa10 --duration 10        ends by itself
"""
LOGS = (".mcap", ".npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "robot", metavar="ROBOT|LOG", help="file of a robot, a name from `ada list`, or a recording (.mcap, .npz)"
    )
    add_robot_arguments(parser)
    add_loops_argument(parser)
    add_start_argument(parser, "near zero, or where the catalogue has it")
    add_page_arguments(parser)
    parser.add_argument("--duration", type=float, metavar="S", help="end after so many seconds (default: at Ctrl-C)")


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --host, --port and --no-open, which is also --no-browser, for every command that shows a page."""
    parser.add_argument(
        "--host",
        default=HOST,
        help=f"address to listen on (default {HOST}: this machine alone; 0.0.0.0: who has its token)",
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port to listen on (default {PORT}); 0 takes any free one"
    )
    parser.add_argument(
        "--no-open", "--no-browser", action="store_true", help="print the address, do not open a browser"
    )


def run(options: argparse.Namespace) -> int:
    """Show it until Ctrl-C."""
    refuse_no_time("--duration", options.duration)
    page = {
        "host": options.host,
        "port": options.port,
        "open_browser": not options.no_open,
        "duration": options.duration,
    }
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
        raise InputError(f"{', '.join(wrong)}: a recording holds its robot; these are for robots. Leave them out.")
