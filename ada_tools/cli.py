# SPDX-License-Identifier: Apache-2.0
"""The command line: `ada COMMAND ...`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError
from ada_dynamics.exit_codes import INTERRUPTED, OUTPUT_LOST, PIPE_CLOSED, USAGE_ERROR
from ada_robot.interrupts import heed_interrupts

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
    from ada_tools.commands import MODULES, add_command, command

    top = _Parser("ada", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"ada_dynamics {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name in (only,) if only in MODULES else MODULES:
        add_command(commands, command(name))
    return top


def _are_assignments(options: argparse.Namespace, rest: list[str]) -> bool:
    """Take words such as a:=b that stand behind options: argparse passes over them there."""
    if not hasattr(options, "assignments") or not all(":=" in word and word[0] != "-" for word in rest):
        return False
    options.assignments += rest
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: what stands after `ada`; by default the process' own.
    """
    if arguments is None:
        heed_interrupts()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character gets a replacement, not a crash
            stream.reconfigure(errors="replace")
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        top = parser(words[0] if words else None)
        options, rest = top.parse_known_args(words)
        if rest and not _are_assignments(options, rest):
            top.error(f"unrecognized arguments: {' '.join(rest)}")
        if options.command is None:
            top.print_help(sys.stderr)
            return USAGE_ERROR
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # argparse, after --help or wrong usage
        return _ended(end)
    except AdaError as problem:
        print("ada: error:", " ".join(str(problem).split()), file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("ada: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader of a pipe has gone
        return PIPE_CLOSED
    except OSError as problem:  # a full disk, below what a command writes or where its output goes
        where = f" ({problem.filename})" if problem.filename else ""
        print(f"ada: error: {problem.strerror or problem}{where}", file=sys.stderr)
        _flush_or_drop()
        return OUTPUT_LOST


def _ended(end: SystemExit) -> int:
    """The exit code of argparse; that of lost output where its help cannot be written."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        print(f"ada: error: {problem.strerror or problem}", file=sys.stderr)
        _drop_output()
        return OUTPUT_LOST
    raise end


def _flush_or_drop() -> None:
    """Write out what is left, or forget it where it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Python must not complain once more when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):  # there is no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
