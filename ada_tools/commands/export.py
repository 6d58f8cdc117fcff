# SPDX-License-Identifier: Apache-2.0
"""`ada export`: export the dynamics of a robot as C code."""

from __future__ import annotations

import argparse
from pathlib import Path

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.export import QUANTITIES, export_c
from ada_dynamics.robots.load import load
from ada_tools.commands.common import add_robot_arguments, mappings, source_of

NAME = "export"
SUMMARY = "export the dynamics of a robot as self-contained C code"
DETAILS = """\
Writes NAME.c and NAME.h in C99: only sin, cos and sqrt are required, no memory allocation, model constants folded in.

examples:
  ada export pa10 --output c/                       forward dynamics
  ada export robot.urdf --quantity inverse          joint efforts
  ada export pa10 --quantity jacobian --link flange
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="URDF or xacro file, or a name from `ada list`")
    parser.add_argument("--quantity", choices=QUANTITIES, default="forward", help="quantity (default: forward)")
    parser.add_argument("--link", help="link of a pose or jacobian")
    parser.add_argument("--name", help="name of the C function and its files (default: the quantity)")
    parser.add_argument("--algorithm", choices=("auto", "aba", "crba", "lagrange", "order_n"), default="auto")
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="folder to write to (default: here)")
    add_robot_arguments(parser, loops=False)


def run(options: argparse.Namespace) -> int:
    """Write the files."""
    model = load(source_of(options.robot), options.base, mappings=mappings(options))
    dynamics = Dynamics(model, options.algorithm)
    for path in export_c(dynamics, options.quantity, options.output, options.name, options.link):
        print(path)
    return 0
