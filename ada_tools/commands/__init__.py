# SPDX-License-Identifier: Apache-2.0
"""Subcommands of `ada`, one module each.

A module has NAME, SUMMARY (one line), DETAILS (for --help, with examples), `add_arguments(parser)` and
`run(options) -> exit code`. It raises AdaError for errors that the user can correct.
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, Any, Protocol

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install_experiments, provided


class Subcommand(Protocol):
    """Interface of a subcommand module."""

    NAME: str
    SUMMARY: str
    DETAILS: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command and return the exit code."""


# Command names and modules, in the order of the help; importing all of them takes a second. A module that is not named
# here belongs to a distribution of its own, which is found by an entry point of the group GROUP.
GROUP = "ada_dynamics.commands"
MODULES = {
    "demo": "ada_tools.commands.demo",
    "info": "ada_tools.commands.info",
    "check": "ada_tools.commands.check",
    "convert": "ada_tools.commands.convert",
    "sim": "ada_tools.commands.sim",
    "up": "ada_tools.commands.up",
    "hw": "ada_tools.commands.hw",
    "view": "ada_tools.commands.view",
    "record": "ada_tools.commands.record",
    "identify": "ada_tools.commands.identify",
    "reproduce": "",
    "sweep": "ada_tools.commands.sweep",
    "bench": "ada_tools.commands.bench",
    "export": "ada_tools.commands.export",
    "list": "ada_tools.commands.list_robots",
    "doctor": "ada_tools.commands.doctor",
    "completion": "ada_tools.commands.completion",
}

if TYPE_CHECKING:
    COMMANDS: tuple[Subcommand, ...]


def command(name: str) -> Subcommand:
    """Module of a command.

    Args:
        name: one of `MODULES`.

    Raises:
        InputError: its distribution is not installed.
    """
    modules: list[Any] = [importlib.import_module(MODULES[name])] if MODULES[name] else provided(GROUP, name)
    if not modules:
        text = f"the experiments are not installed: {how_to_install_experiments()}."
        raise InputError(text, field="command", value=name)
    found: Subcommand = modules[0]
    return found


def add_command(parsers: Any, module: Subcommand, calls: str = "run") -> None:
    """Declare a command; its `run` is stored in the parsed options under the name `calls`."""
    one = parsers.add_parser(
        module.NAME,
        help=module.SUMMARY,
        description=module.DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(one)
    one.set_defaults(**{calls: module.run})


def __getattr__(name: str) -> Any:
    """COMMANDS: all command modules, imported on demand."""
    if name == "COMMANDS":
        return tuple(command(one) for one in MODULES)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
