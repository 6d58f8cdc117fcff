# SPDX-License-Identifier: Apache-2.0
"""Sub-commands of `ada`, one module each.

A module has NAME, SUMMARY (one line), DETAILS (for --help, with examples), `add_arguments(parser)` and
`run(options) -> exit code`. It raises AdaError for what the user can mend.
"""

from __future__ import annotations

import argparse
from typing import Protocol

from ada_dynamics.commands import bench, check, convert, export, info, list_robots, record, reproduce, sim, sweep, view


class Command(Protocol):
    """What a module of this package offers."""

    NAME: str
    SUMMARY: str
    DETAILS: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Do the work and return the exit code."""


COMMANDS: tuple[Command, ...] = (info, check, convert, sim, view, record, reproduce, sweep, bench, export, list_robots)
