# SPDX-License-Identifier: Apache-2.0
"""Command line: `ada COMMAND ...`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ada_dynamics.errors import INTERRUPTED, OUTPUT_LOST, PIPE_CLOSED, USAGE_ERROR, AdaError
from ada_robot.processes import restore_sigint
from ada_tools.commands import parser


def _are_assignments(options: argparse.Namespace, rest: list[str]) -> bool:
    """Accept assignments such as a:=b after options, which argparse does not assign to the positional arguments."""
    if not hasattr(options, "assignments") or not all(":=" in word and word[0] != "-" for word in rest):
        return False
    options.assignments += rest
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: arguments after `ada`; default: those of the process.
    """
    if arguments is None:
        restore_sigint()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # replace characters missing in the terminal encoding
            stream.reconfigure(errors="replace")
    if "_ARGCOMPLETE" in os.environ:  # a shell with the package argcomplete asks for completions
        import_module("argcomplete").autocomplete(parser())
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
    except SystemExit as end:  # from argparse, after --help or wrong usage
        return _ended(end)
    except AdaError as problem:
        print("ada: error:", " ".join(str(problem).split()), file=sys.stderr)
        return USAGE_ERROR
    except MemoryError as problem:
        what = f": {problem}" if str(problem) else ""
        print(f"ada: error: out of memory{what}.", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("ada: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader of the pipe has closed it
        return PIPE_CLOSED
    except OSError as problem:  # for example a full disk
        where = f" ({problem.filename})" if problem.filename else ""
        print(f"ada: error: {problem.strerror or problem}{where}", file=sys.stderr)
        _flush_or_drop()
        return OUTPUT_LOST


def _ended(end: SystemExit) -> int:
    """Exit code of argparse, or that of lost output."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        print(f"ada: error: {problem.strerror or problem}", file=sys.stderr)
        _drop_output()
        return OUTPUT_LOST
    raise end


def _flush_or_drop() -> None:
    """Flush the output, or discard it if it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Redirect stdout, so that Python reports no further error when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):  # no underlying file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
