# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_robot.interfaces`: build the message packages missing on PyPI."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ada_dynamics.errors import INTERRUPTED, USAGE_ERROR, AdaError, InputError, unknown_name
from ada_robot.interfaces import toolchain
from ada_robot.interfaces.build import DEFINITIONS, build, is_there, packages_in
from ada_robot.interfaces.prefix import this_prefix
from ada_robot.interrupts import restore_sigint

_NAME = "python -m ada_robot.interfaces"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the missing packages and return the exit code."""
    if arguments is None:
        restore_sigint()
    options = _parser().parse_args(arguments)
    try:
        _build(options)
    except AdaError as problem:
        text = " ".join(str(problem).split())
        if options.optional:
            print(f"Not built: {text}", file=sys.stderr)
            return 0
        print(f"{_NAME}: error: {text}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print(f"{_NAME}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        _NAME,
        description="Build the message packages that PyPI lacks (tf2_msgs, for /tf) into this virtual environment, "
        "with the generators of the ROS 2 wheels. Packages that can be imported already are left alone.",
    )
    parser.add_argument(
        "--from",
        dest="folder",
        type=Path,
        default=DEFINITIONS,
        metavar="DIR",
        help="folder of packages: DIR/PACKAGE/{msg,srv,action}/* (default: those that the nodes need)",
    )
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", help="of these, and only if they are in the folder")
    parser.add_argument("--force", action="store_true", help="build again what was built here")
    parser.add_argument(
        "--optional", action="store_true", help="exit code 0 even if it cannot be done; one line says why"
    )
    return parser


def _build(options: argparse.Namespace) -> None:
    packages = packages_in(options.folder)
    for name in options.only or ():
        if name not in packages:
            raise unknown_name(f"interface package in {options.folder}", name, packages)
    requested = {name: path for name, path in packages.items() if not options.only or name in options.only}
    there = {name: is_there(name, path) for name, path in requested.items()}
    for name, place in there.items():
        if place is not None and not options.force:
            print(f"{name}: there already, in {place}")
    todo = [name for name, place in there.items() if place is None or options.force]
    if not todo:
        return
    prefix = this_prefix()
    tools, lacks = toolchain.find()
    if tools is None:
        fix = toolchain.apt_line(lacks)
        without = " (nodes then publish no /tf)" if "tf2_msgs" in todo else ""
        raise InputError(
            f"{', '.join(todo)} cannot be built{without}: {toolchain.in_words(lacks)} not found."
            + (f" On Debian and Ubuntu: {fix}" if fix else "")
        )
    for name in todo:
        outcome = build(name, requested[name], prefix, tools, force=options.force)
        done = "there already" if outcome.seconds is None else f"built in {outcome.seconds:.1f} s"
        print(f"{name}: {done}, in {outcome.place}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
