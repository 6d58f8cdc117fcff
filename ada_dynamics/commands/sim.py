# SPDX-License-Identifier: Apache-2.0
"""`ada sim`: let a robot move under its own weight, and look at it."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.commands.common import (
    add_loops_argument,
    add_robot_arguments,
    add_start_argument,
    mappings,
    print_json,
    source_of,
    start_pose,
)
from ada_dynamics.commands.free_motion import Trajectory, move_freely
from ada_dynamics.commands.terminal_view import draw
from ada_dynamics.errors import InputError
from ada_dynamics.loops.assemble import AssembledPose, assemble
from ada_dynamics.model.joints import Continuous, Revolute
from ada_dynamics.model.load import load
from ada_dynamics.model.model import Model

NAME = "sim"
SUMMARY = "let a robot move under its own weight"
DETAILS = """\
Let a robot move under its own weight, without motors, and show it as a stick figure in the terminal.
Robots with closed loops start in a pose that closes them; the loops are kept closed, and their energy constant.

examples:
  ada sim pa10                              watch it fall
  ada sim pa10 --headless --duration 10     figures only, ends by itself
  ada sim pa10 --headless --plot fall.png   joint angles and energies as a picture
  ada sim robot.urdf --base floating
  ada sim four_bar --json                   a linkage; see `ada list`
  ada sim robot.urdf --loops robot.loops.yaml --start 0.1 0.2 0.3
"""
FRAMES_PER_SECOND = 25
LINES = 10  # of the table without a terminal
STEP, STEP_WITH_LOOPS = 1e-3, 2e-3  # [s]; closing loops anew takes a few milliseconds
_NEAR = 1e-6  # [rad, m] by which a start pose may be off without a word
_START = "loops closed near zero; without loops 45 deg in the second joint, so that an upright arm falls"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="file of a robot, or a name from `ada list`")
    add_robot_arguments(parser)
    add_loops_argument(parser)
    add_start_argument(parser, _START)
    parser.add_argument("--duration", type=float, default=5.0, metavar="S", help="seconds to simulate (default 5)")
    parser.add_argument(
        "--step",
        type=float,
        metavar="S",
        help=f"integration step [s] (default {STEP:g}, with loops {STEP_WITH_LOOPS:g})",
    )
    parser.add_argument("--json", action="store_true", help="no picture: the figures as JSON")
    parser.add_argument("--headless", action="store_true", help="no picture: a table, then the exit code")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (png, pdf, svg); needs matplotlib")


def run(options: argparse.Namespace) -> int:
    """Simulate, then show."""
    model = load(source_of(options.robot), options.base, mappings=mappings(options), loops=options.loops)
    step = options.step if options.step is not None else STEP_WITH_LOOPS if model.loops else STEP
    for name, value in (("duration", options.duration), ("step", step)):
        if not 0.0 < value < np.inf:
            raise InputError(f"--{name} is {value}; it must be a positive number of seconds.")
    q = _start(model, start_pose(options, model), options.base)
    started = time.perf_counter()
    trajectory = move_freely(model, np.array(q), options.duration, step)
    elapsed = time.perf_counter() - started
    if options.plot:
        trajectory.plot(options.plot)
    if options.json:
        print_json({**_figures(trajectory), "seconds_of_computing": elapsed})
        return 0
    if not options.headless and sys.stdout.isatty():
        _play(trajectory)
    else:
        _print_table(trajectory)
    steps = len(trajectory.t) - 1
    print(
        f"{model.name}: {trajectory.t[-1]:g} s in {steps} steps, {elapsed:.2f} s of computing "
        f"({trajectory.t[-1] / elapsed:.1f} x real time); energy drift {trajectory.energy_drift():.1e} of its swing."
    )
    if q.moved > _NEAR and options.start is not None:
        print(f"start: the loops were closed by moving the given pose by up to {q.moved:.3g} [rad, m]")
    if model.loops:
        print(f"loops: largest gap {_largest_gap(trajectory):.1e} [m, rad]{_passed(trajectory)}")
    return 0


def _start(model: Model, guess: NDArray[np.float64] | None, base: str | None) -> AssembledPose:
    """Where the robot starts."""
    turning = [name for name in model.joint_names if model.joints[name].kind in (Revolute.kind, Continuous.kind)]
    if guess is None and not model.loops and base in (None, "fixed") and len(turning) > 1:
        guess = model.neutral()
        guess[model.q_index(turning[1])] = np.pi / 4
    return assemble(model, guess)


def _figures(trajectory: Trajectory) -> dict[str, Any]:
    """The rows of the table, and what holds for the whole motion."""
    rows, model = _rows(trajectory), trajectory.model
    return {
        "robot": model.name,
        "duration": trajectory.t[-1],
        "steps": len(trajectory.t) - 1,
        "energy_drift": trajectory.energy_drift(),
        "largest_gap": _largest_gap(trajectory),
        "singular_at": trajectory.singular,
        "states": [
            {
                "t": trajectory.t[i],
                "q": trajectory.q[i].tolist(),
                "v": trajectory.v[i].tolist(),
                "kinetic_energy": trajectory.energy[i, 0],
                "potential_energy": trajectory.energy[i, 1],
            }
            for i in rows
        ],
    }


def _largest_gap(trajectory: Trajectory) -> float:
    return max(trajectory.gap(i) for i in _rows(trajectory))


def _passed(trajectory: Trajectory) -> str:
    times = trajectory.singular
    if not times:
        return ""
    shown = ", ".join(f"{t:.3g}" for t in times[:6]) + (", ..." if len(times) > 6 else "")
    return f"; passed singular poses at t = {shown} s"


def _rows(trajectory: Trajectory) -> list[int]:
    """The states that the table shows."""
    return [int(i) for i in np.linspace(0, len(trajectory.t) - 1, LINES + 1)]


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
    for i in _rows(trajectory):
        values = "".join(f"{trajectory.q[i, j]:11.4f}" for j in shown)
        print(f"  {trajectory.t[i]:7.3f}  {values}  {trajectory.energy[i].sum():11.6f}")
