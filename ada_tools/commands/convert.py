# SPDX-License-Identifier: Apache-2.0
"""Write a robot description, with its loops, in another format.

Reads a robot of any format (URDF, xacro, MJCF, SDFormat; loops in any spelling, or in a separate file) and
writes it in another format. Nothing is dropped: features that the target cannot express are reported as errors.

Examples:
  ada convert four_bar.urdf four_bar.xml --to mjcf              for MuJoCo
  ada convert robot.urdf new.urdf --to loop_joint --loops robot.loops.yaml
  ada convert scene.xml robot.urdf --to sidecar                 robot.urdf and robot.loops.yaml
  ada convert robot.urdf robot.loops.yaml --to sidecar          the loops only
  ada convert robot.urdf --to constraint | less                 without OUT: to the standard output

exit code:
  0  written        1  the spelling cannot express the robot (nothing is written)        2  wrong usage or input

A xacro file is a program that runs with your rights: only convert those you trust.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ada_dynamics.errors import InputError
from ada_dynamics.robots.check.report import CheckFinding, together
from ada_dynamics.robots.load import find_robot, to_model
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, save, texts_for
from ada_tools.commands.common import add_robot_arguments, mappings, source_of

INEXPRESSIBLE = 1

_STDOUT_NAMES = {"sidecar": "robot.loops.yaml", "mjcf": "robot.xml"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="IN", help="file of the robot, name from `ada list`, or - for stdin")
    parser.add_argument("out", metavar="OUT", nargs="?", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--to", required=True, choices=list(SPELLINGS), metavar="SPELLING", help="format, see below")
    add_robot_arguments(parser)
    parser.epilog = "spellings:\n" + "\n".join(f"  {name:<12}{one.summary}" for name, one in SPELLINGS.items())


def run(options: argparse.Namespace) -> int:
    """Read the robot and write it, or report why it cannot be expressed."""
    _check_names(options)
    source = source_of(options.robot)
    document, robot = find_robot(source, options.base, mappings=mappings(options), loops=options.loops)
    model = to_model(document, robot, options.base)
    target = options.out or Path(_STDOUT_NAMES.get(options.to, "robot.urdf"))
    try:
        rendered = texts_for(model, target, options.to)
    except Inexpressible as problem:
        print(f"ada: {options.to} cannot express {model.name!r}:", file=sys.stderr)
        print("\n".join(f"  {reason}" for reason in problem.refused), file=sys.stderr)
        return INEXPRESSIBLE
    files = [] if options.out is None else [str(file) for file in save(rendered, target.parent)]
    notes = [*robot.notes, *rendered.notes]
    parts = [note.rpartition(": ")[::2] for note in notes]  # a place, such as a link, and the message
    for note in together([CheckFinding("", "note", where, message) for where, message in parts]):
        print(f"ada: note: {note.where}{': ' if note.where else ''}{note.message}", file=sys.stderr)
    print(*(files or rendered.texts.values()), sep="\n", end="\n" if files else "")
    return 0


def _check_names(options: argparse.Namespace) -> None:
    if options.out is None:
        return
    for name in (options.robot, options.loops):
        if name and name != "-" and Path(name).exists() and options.out.exists() and options.out.samefile(name):
            raise InputError(f"OUT is {options.out}, which is also an input: give another name.")
