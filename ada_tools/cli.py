# SPDX-License-Identifier: Apache-2.0
"""The command line: `ada COMMAND ...`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from ada_dynamics.errors import INTERRUPTED, OUTPUT_LOST, PIPE_CLOSED, USAGE_ERROR, AdaError
from ada_robot.interrupts import restore_sigint
from ada_tools.commands.parser import parser


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
        restore_sigint()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # replace characters that a terminal lacks, instead of failing
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
    except MemoryError as problem:
        what = f": {problem}" if str(problem) else ""
        print(f"ada: error: the memory does not suffice{what}. Give more of it, or less to work on.", file=sys.stderr)
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
