# SPDX-License-Identifier: Apache-2.0
"""Subcommands of `ada`, one module each, and their parser.

A module has NAME, SUMMARY (one line), DETAILS (for --help, with examples), `add_arguments(parser)` and
`run(options) -> exit code`. It raises AdaError for errors that the user can correct.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any, Protocol

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.resources import provided


class Subcommand(Protocol):
    """Interface of a subcommand module."""

    NAME: str
    SUMMARY: str
    DETAILS: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command and return the exit code."""


# Modules of the commands by task, in the order of the help. A module without a name belongs to a distribution of its
# own, which is found by an entry point of the group GROUP.
GROUP = "ada_dynamics.commands"
GROUPS = {
    "look at robots": {
        "demo": "ada_tools.commands.demo",
        "list": "ada_tools.commands.list_robots",
        "info": "ada_tools.commands.info",
        "check": "ada_tools.commands.check",
        "view": "ada_tools.commands.view",
    },
    "compute": {
        "convert": "ada_tools.commands.convert",
        "identify": "ada_tools.commands.identify",
        "export": "ada_tools.commands.export",
    },
    "simulate": {"sim": "ada_tools.commands.sim", "record": "ada_tools.commands.record"},
    "ROS 2": {"up": "ada_tools.commands.up"},
    "devices": {"hw": "ada_tools.commands.hw"},
    "research": {
        "reproduce": "",
        "sweep": "ada_tools.commands.sweep",
    },
    "installation": {"doctor": "ada_tools.commands.doctor"},
}
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}
_DESCRIPTION = """\
Dynamics of robots made of chains, trees and closed loops.

{groups}

examples:
  ada demo                           moving robots in the browser
  ada check robot.urdf               errors in a robot description
  ada sim pa10                       simulate the free fall of the arm
  ada up pa10                        the arm as ROS 2 nodes, with a browser view
  ada hw test pa10 --emulator        protocol, driver and safety with an emulated arm

`ada COMMAND --help` explains each command.
"""


class _Parser(argparse.ArgumentParser):
    """argparse without suppressed write errors, so that a full disk is reported."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def command(name: str) -> Subcommand:
    """Module of a command.

    Args:
        name: one of `MODULES`.

    Raises:
        InputError: its distribution is not installed.
    """
    modules = (importlib.import_module(MODULES[name]),) if MODULES[name] else provided(GROUP, name)
    if not modules:
        text = "the experiments are not installed: pip install ./experiments in the folder of ada_dynamics' source."
        raise InputError(text, field="command", value=name)
    found: Subcommand = modules[0]
    return found


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Parser of all commands, or of a single one, which loads faster: importing all of them takes a second.

    Args:
        only: name of the single command.
    """
    top = _Parser(
        "ada",
        usage="ada [-h] [--version] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ada_dynamics {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", dest="command", help="one of the commands above")
    if only in MODULES:
        add_command(commands, command(only))
        return top
    lines = []
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        for name in group:
            try:
                module = command(name)
            except InputError as problem:  # of a distribution that is not installed
                commands.add_parser(name)
                lines.append(f"  {name:<12}{problem}")
            else:
                add_command(commands, module)
                lines.append(f"  {name:<12}{module.SUMMARY}")
    top.description = _DESCRIPTION.format(groups="\n".join(lines))
    return top


def add_command(parsers: Any, module: Subcommand, calls: str = "run", **options: Any) -> None:
    """Declare a command; its `run` is stored in the parsed options under the name `calls`."""
    one = parsers.add_parser(
        module.NAME, description=module.DETAILS, formatter_class=argparse.RawDescriptionHelpFormatter, **options
    )
    module.add_arguments(one)
    one.set_defaults(**{calls: module.run})
