# SPDX-License-Identifier: Apache-2.0
"""Subcommands of `ada`, one module each, and their parser.

The docstring of a module is the text of `--help`, and its first line the summary in the list of commands. A module has
`add_arguments(parser)` and `run(options) -> exit code`; it raises AdaError for errors that the user can correct.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.resources import provided


class Command(NamedTuple):
    """A command, usually from its module."""

    text: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    @classmethod
    def of(cls, module: Any) -> Command:
        """Command of a module."""
        return cls(inspect.getdoc(module) or "", module.add_arguments, module.run)

    @property
    def summary(self) -> str:
        """First line, as an entry of a list."""
        line = self.text.partition("\n")[0]
        return line[:1].lower() + line[1:].rstrip(".")

    def add_to(self, parsers: Any, name: str, calls: str = "run", **options: Any) -> None:
        """Declare the command; its `run` is stored in the parsed options under the name `calls`."""
        one = parsers.add_parser(
            name, description=self.text, formatter_class=argparse.RawDescriptionHelpFormatter, **options
        )
        self.add_arguments(one)
        one.set_defaults(**{calls: self.run})


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
    "convert and identify": {
        "convert": "ada_tools.commands.convert",
        "identify": "ada_tools.commands.identify",
        "export": "ada_tools.commands.export",
    },
    "simulate and record": {"sim": "ada_tools.commands.sim", "record": "ada_tools.commands.record"},
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

Examples:
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


def command(name: str) -> Command:
    """Command by name.

    Raises:
        InputError: its distribution is not installed.
    """
    modules = (importlib.import_module(MODULES[name]),) if MODULES[name] else provided(GROUP, name)
    if not modules:
        text = "the experiments are not installed: pip install ./experiments in the folder of ada_dynamics' source."
        raise InputError(text, field="command", value=name)
    return Command.of(modules[0])


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Parser of all commands, or of a single one, which loads faster: importing all of them takes a second."""
    top = _Parser(
        "ada",
        usage="ada [-h] [--version] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ada_dynamics {__version__}")
    commands = top.add_subparsers(prog="ada", metavar="COMMAND", dest="command", help="one of the commands above")
    if only in MODULES:
        command(only).add_to(commands, only)
        return top
    lines = []
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        for name in group:
            try:
                one = command(name)
            except InputError as problem:  # of a distribution that is not installed
                commands.add_parser(name)
                lines.append(f"  {name:<12}{problem}")
            else:
                one.add_to(commands, name)
                lines.append(f"  {name:<12}{one.summary}")
    top.description = _DESCRIPTION.format(groups="\n".join(lines))
    return top
