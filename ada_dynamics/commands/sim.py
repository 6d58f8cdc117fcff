# SPDX-License-Identifier: Apache-2.0
"""`ada sim`: let a robot move under its own weight, and look at it."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from ada_dynamics.commands.common import add_robot_arguments, mappings, source_of
from ada_dynamics.commands.free_motion import Trajectory, move_freely
from ada_dynamics.commands.terminal_view import draw
from ada_dynamics.errors import InputError
from ada_dynamics.model.load import load

NAME = "sim"
SUMMARY = "let a robot move under its own weight"
DETAILS = """\
Let a robot move under its own weight, without motors, and show it as a stick figure in the terminal.

examples:
  ada sim pa10                              watch it fall
  ada sim pa10 --headless --duration 10     figures only, ends by itself
  ada sim pa10 --headless --plot fall.png   joint angles and energies as a picture
  ada sim robot.urdf --base floating
"""
FRAMES_PER_SECOND = 25
LINES = 10  # of the table without a terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="URDF or xacro file, or a name from `ada list`")
    add_robot_arguments(parser)
    parser.add_argument("--duration", type=float, default=5.0, metavar="S", help="seconds to simulate (default 5)")
    parser.add_argument("--step", type=float, default=1e-3, metavar="S", help="integration step [s] (default 0.001)")
    parser.add_argument(
        "--start",
        type=float,
        nargs="+",
        metavar="Q",
        help="start position [rad, m]; by default 45 deg in the second joint, so that an upright arm falls",
    )
    parser.add_argument("--headless", action="store_true", help="no picture: a table, then the exit code")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (png, pdf, svg); needs matplotlib")


def run(options: argparse.Namespace) -> int:
    """Simulate, then show."""
    model = load(source_of(options.robot), options.base, mappings=mappings(options))
    for name in ("duration", "step"):
        value = getattr(options, name)
        if not 0.0 < value < np.inf:
            raise InputError(f"--{name} is {value}; it must be a positive number of seconds.")
    q = model.neutral()
    if options.start is not None:
        if len(options.start) != model.nq:
            raise InputError(f"--start has {len(options.start)} numbers; {model.name!r} needs {model.nq}.")
        q = np.array(options.start)
    elif options.base == "fixed" and model.nq > 1:
        q[1] = np.pi / 4
    started = time.perf_counter()
    trajectory = move_freely(model, q, options.duration, options.step)
    elapsed = time.perf_counter() - started
    if options.plot:
        trajectory.plot(options.plot)
    if not options.headless and sys.stdout.isatty():
        _play(trajectory)
    else:
        _print_table(trajectory)
    steps = len(trajectory.t) - 1
    print(
        f"{model.name}: {trajectory.t[-1]:g} s in {steps} steps, {elapsed:.2f} s of computing "
        f"({trajectory.t[-1] / elapsed:.1f} x real time); energy drift {trajectory.energy_drift():.1e} of its swing."
    )
    return 0


def _play(trajectory: Trajectory) -> None:
    """Frames in place, at the pace of the motion."""
    width, height = shutil.get_terminal_size()
    skip = max(1, round(1.0 / (FRAMES_PER_SECOND * trajectory.step)))
    begin = time.monotonic()
    sys.stdout.write("\x1b[2J\x1b[?25l")
    try:
        for i in range(0, len(trajectory.t), skip):
            picture = draw(trajectory.skeleton(i), trajectory.reach(), width, height - 3)
            sys.stdout.write(f"\x1b[H{picture}\nt = {trajectory.t[i]:6.2f} s   (Ctrl-C ends)\x1b[K\n")
            sys.stdout.flush()
            time.sleep(max(0.0, begin + trajectory.t[i] - time.monotonic()))
    finally:
        sys.stdout.write("\x1b[?25h")


def _print_table(trajectory: Trajectory) -> None:
    names = trajectory.model.joint_names
    shown = [trajectory.model.q_index(n).start for n in names if trajectory.model.joints[n].nq == 1][:7]
    labels = [n for n in names if trajectory.model.joints[n].nq == 1][:7]
    print("    t [s]  " + "".join(f"{label[:10]:>11}" for label in labels) + "   energy [J]")
    for i in np.linspace(0, len(trajectory.t) - 1, LINES + 1).astype(int):
        values = "".join(f"{trajectory.q[i, j]:11.4f}" for j in shown)
        print(f"  {trajectory.t[i]:7.3f}  {values}  {trajectory.energy[i].sum():11.6f}")
