# SPDX-License-Identifier: Apache-2.0
"""Parser of `ada COMMAND ...`, for all commands or a single one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_tools.commands import MODULES, add_command, command

_DESCRIPTION = """\
Dynamics of robots made of chains, trees and closed loops.

examples:
  ada demo                    moving robots in the browser
  ada list                    robots of the catalogue
  ada info pa10               structure and properties of a robot
  ada check robot.urdf        errors in a robot description
  ada convert --help          convert closed loops between formats
  ada sim pa10                simulate the free fall of the arm
  ada identify run.mcap       masses, inertias, losses from a recorded motion
  ada up pa10                 the arm as ROS 2 nodes, with a browser view
  ada hw test pa10 --emulator protocol, driver and safety with an emulated arm
  ada reproduce all           run the experiments of the documents and check their claims
  ada sweep starts.yaml       run a scenario with many values, resumable
  ada bench hybrid pa10       best size of symbolic pieces
  ada export pa10 --output c/ export the dynamics as C code
  ada doctor                  check the installation

`ada COMMAND --help` explains each command.
"""


class _Parser(argparse.ArgumentParser):
    """argparse without suppressed write errors, so that a full disk is reported."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Parser of all commands, or of a single one, which loads faster.

    Args:
        only: name of the single command.
    """
    top = _Parser("ada", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"ada_dynamics {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    if only in MODULES:
        add_command(commands, command(only))
        return top
    for name in MODULES:
        try:
            add_command(commands, command(name))
        except InputError as problem:  # of a distribution that is not installed
            commands.add_parser(name, help=str(problem).replace("%", "%%"))
    return top
