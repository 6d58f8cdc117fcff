# SPDX-License-Identifier: Apache-2.0
"""The parser of `ada COMMAND ...`, with all commands or one of them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ada_dynamics._version import __version__
from ada_tools.commands import MODULES, add_command, command

_DESCRIPTION = """\
Dynamics of robots made of chains, trees and closed loops.

examples:
  ada demo                    robots that move, in the browser
  ada list                    robots that come with the library
  ada info pa10               what a robot is made of
  ada check robot.urdf        what is wrong in a description
  ada convert --help          from one format with closed loops to another
  ada sim pa10                watch it fall
  ada identify run.mcap       masses, inertias, losses from a recorded motion
  ada up pa10                 the same as ROS 2 nodes, with a browser view
  ada hw test pa10 --emulator the real arm's protocol, driver and safety, with an emulated arm
  ada reproduce all           run the documents' experiments, check their claims
  ada sweep starts.yaml       a scenario with many values, resumable
  ada bench hybrid pa10       how large symbolic pieces should be
  ada export pa10 --output c/ its dynamics as a C file
  ada doctor                  what is installed, what is missing

`ada COMMAND --help` explains each command.
"""


class _Parser(argparse.ArgumentParser):
    """argparse, which would take a full disk for a success."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or of one alone, which is there much sooner.

    Args:
        only: the name of that one.
    """
    top = _Parser("ada", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"ada_dynamics {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name in (only,) if only in MODULES else MODULES:
        add_command(commands, command(name))
    return top
