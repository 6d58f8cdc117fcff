# SPDX-License-Identifier: Apache-2.0
"""The page on the command line: what `ada COMMAND --help` says of every command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from unittest.mock import patch


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands, in their order."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from commands(one)


def text() -> str:
    """The page."""
    from ada_tools.cli import parser

    page = (
        "# Command line\n\nWhat `--help` says. A command ends with 0 if all is well, 1 if something does not hold, "
        "2 if it was called wrongly.\n"
    )
    with patch.dict(os.environ, COLUMNS="100", NO_COLOR="1"):  # the same text from any terminal
        for one in commands(parser()):
            page += f"\n## {one.prog}\n\n```text\n{one.format_help().strip()}\n```\n"
    return page
