# SPDX-License-Identifier: Apache-2.0
"""Export the dynamics or the transmission of a robot as self-contained C code.

Writes NAME.c and NAME.h in C99: only sin, cos and sqrt are required, no memory allocation, model constants folded in.
With --motors and --joints it writes the exact map between the motors and the joints of a mechanism with closed loops:
positions both ways, velocities and efforts; --to ros2_control writes a package with a transmission plugin.

Examples:
  ada export pa10 --output c/                       forward dynamics
  ada export robot.urdf --quantity inverse          joint efforts
  ada export pa10 --quantity jacobian --link flange
  ada export five_bar --motors left_crank right_crank --joints left_rod right_rod --name five_bar --to ros2_control
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.export import QUANTITIES, export_c
from ada_dynamics.errors import InputError
from ada_dynamics.model import Model
from ada_dynamics.transmission import Transmission, export_transmission
from ada_dynamics.transmission.code import TARGETS
from ada_tools.commands.common import add_robot_arguments, robot_of

ALGORITHMS = ("auto", "aba", "crba", "lagrange", "order_n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="robot description, or a name from `ada list`")
    parser.add_argument("--quantity", choices=QUANTITIES, help="quantity of the dynamics (default: forward)")
    parser.add_argument("--link", help="link of a pose or jacobian")
    parser.add_argument("--name", help="name of the C function and its files (default: the quantity, or transmission)")
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="auto", help="of the dynamics (default: auto)")
    parser.add_argument("--motors", nargs="+", metavar="JOINT", help="motors of a transmission")
    parser.add_argument("--joints", nargs="+", metavar="JOINT", help="joints that the transmission moves")
    parser.add_argument("--to", choices=TARGETS, help="form of the transmission (default: c)")
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="folder to write to (default: here)")
    add_robot_arguments(parser, loops=True)


def run(options: argparse.Namespace) -> int:
    """Write the files."""
    model = robot_of(options)
    written = _transmission(model, options) if options.motors or options.joints or options.to else None
    if written is None:
        dynamics = Dynamics(model, options.algorithm)
        quantity = options.quantity or "forward"
        written = list(export_c(dynamics, quantity, options.output, options.name, options.link))
    for path in written:
        print(path)
    return 0


def _transmission(model: Model, options: argparse.Namespace) -> list[Path]:
    if not (options.motors and options.joints) or options.quantity or options.link:
        raise InputError(
            "a transmission needs --motors and --joints, and takes no --quantity or --link.", field="motors, joints"
        )
    transmission = Transmission(model, options.motors, options.joints)
    return export_transmission(transmission, options.to or "c", options.output, options.name or "transmission")
