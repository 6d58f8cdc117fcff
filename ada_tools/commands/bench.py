# SPDX-License-Identifier: Apache-2.0
"""`ada bench`: compare the speed of programs for the dynamics of a robot."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.algorithms import aba, ada, crba, lagrange
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.constraints.closure import initial_configuration
from ada_dynamics.constraints.elimination import make_plans
from ada_dynamics.drawing.plots import check_suffix, figure_context, save
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.dynamics.kernels import SPECIALISE_UP_TO
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function, trace
from ada_dynamics.hybrid import cut_selection
from ada_dynamics.jit import Kernel
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_tools.commands import bench_ik
from ada_tools.commands.common import add_robot_arguments, check_files, print_json, robot_of, start_pose, table
from ada_tools.program_cost import Evaluate, ProgramCost, by_size, compiled, counted, timed

NAME = "bench"
SUMMARY = "compare programs for the dynamics of a robot"
DETAILS = """\
ada bench hybrid ROBOT: best size of symbolic pieces

Hybrid modelling (Takahashi 2012, ch. 4) cuts a robot into pieces. The equations of motion of each piece are one folded
program, and the pieces are joined by the assembly-disassembly algorithm (ADA). Pieces of one link are ADA itself; one
piece of all links is the joint-space solution. In between the work inside a piece grows with the cube of its size, and
each cut costs about as much as some links.

The command writes all these programs for pieces of 1, 2, 3, ... links (counted along the branches from the base) and
for the cuts that hybrid="auto" would choose, and shows for each:

  operations    additions and multiplications of one evaluation of forward dynamics
  divisions     about ten times as expensive
  instructions  estimated for this processor; the criterion of "auto"
  ns            measured time of one evaluation, native code, one state at a time
  compile s     compile time without cache

for comparison: articulated bodies (aba), composite inertias (crba), ADA and Lagrange (no loops).

ada bench ik ROBOT: success rate and speed of inverse kinematics

The goals are poses of a link at random configurations within the joint limits (with loops: near the initial
configuration). All programs get the same goals, start, tolerance and limits: ada.solve_ik, ada.ik.solve_many, and
the differential inverse kinematics of pink with quadprog, for three damping values.

examples:
  ada bench ik pa10 --goals 1000
  ada bench ik stewart --link platform
  ada bench hybrid pa10
  ada bench hybrid robot.urdf --base floating --sizes 1 3 6 --plot pieces.png
  ada bench hybrid hexa --json
"""
STATES = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("what", choices=["hybrid", "ik"], help="what to measure")
    parser.add_argument("robot", metavar="ROBOT", help="file of a robot, name from `ada list`, or - for stdin")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[], metavar="N", help="links per piece (default: all sizes)"
    )
    parser.add_argument("--link", metavar="NAME", help="ik: link to move (default: the last one)")
    parser.add_argument("--goals", type=int, default=200, metavar="N", help="ik: number of goals (default: 200)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (png, pdf, svg); needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    add_robot_arguments(parser, start="from the catalogue, else the zero configuration")


def run(options: argparse.Namespace) -> int:
    """Measure, print and plot."""
    return _run_ik(options) if options.what == "ik" else _run_hybrid(options)


def _run_ik(options: argparse.Namespace) -> int:
    if options.goals < 1:
        raise InputError(f"--goals {options.goals}: it must be at least 1.")
    model = robot_of(options)
    link, start = bench_ik.link_of(model, options.link), close_loops(model, start_pose(options, model))
    found, missing = bench_ik.measure(Dynamics(model, q0=start), link, start, options.goals)
    if options.json:
        print_json({"robot": model.name, "link": link, "missing": missing, "programs": [asdict(one) for one in found]})
    else:
        print("\n".join(bench_ik.text(model, link, found, missing)))
    return 0


def _run_hybrid(options: argparse.Namespace) -> int:
    if any(size < 1 for size in options.sizes):
        raise InputError(f"--sizes {' '.join(map(str, options.sizes))}: a piece has at least one link.")
    if options.plot:
        check_suffix(options.plot)
        check_files({"--plot": options.plot})
    model = robot_of(options)
    if not 0 < model.nv <= SPECIALISE_UP_TO:
        raise InputError(
            f"{model.name!r} has {model.nv} velocities; programs for one robot are written for 1 to {SPECIALISE_UP_TO}."
        )
    if model.has_mimics:
        raise InputError(f"{model.name!r} has mimic joints, which articulated bodies do not support.")
    found = measure_pieces(model, start_pose(options, model), options.sizes)
    if options.json:
        print_json({"robot": model.name, "best": best(found).name, "programs": [asdict(m) for m in found]})
    else:
        print("\n".join(text(model, found)))
    if options.plot:
        plot(found, model.name, options.plot)
    return 0


# --- measuring ------------------------------------------------------------------------------------------------------
def measure_pieces(model: Model, guess: Array | None, sizes: Sequence[int] = ()) -> list[ProgramCost]:
    """Measure all programs of a robot, with pieces of equal size between the standard algorithms and `hybrid auto`."""
    tree = model.tree
    rows, states = _conditions_and_states(model, guess)
    made: list[tuple[ProgramCost, Function]] = [
        counted(name, make) for name, make in _usual(model, rows, guess).items()
    ]
    for size, chosen in by_size(tree, sizes).items():
        measured, function = counted(f"pieces of {size}", partial(cut_selection.traced, tree, chosen, rows))
        measured.size, measured.joints = size, _names(tree, chosen)
        made.append((measured, function))
    chosen = cut_selection.cheapest_cuts(tree, None if rows is None else dict(rows))
    measured, function = counted("hybrid auto", partial(cut_selection.traced, tree, chosen, rows))
    measured.joints = _names(tree, chosen)
    made.append((measured, function))
    ready: dict[str, Evaluate] = {}
    for measured, function in made:
        evaluate = compiled(measured, function, states)
        if evaluate is not None:
            ready[measured.name] = evaluate
    times = timed(ready, STATES)
    for measured, _ in made:
        measured.seconds = times.get(measured.name)
    return [measured for measured, _ in made]


def _names(tree: Tree, chosen: Sequence[int]) -> tuple[str, ...]:
    return tuple(tree.bodies[i].name for i in chosen)


def _conditions_and_states(model: Model, guess: Array | None) -> tuple[cut_selection.Rows, list[Array]]:
    """Loop constraint rows, and states to evaluate: random ones, or for loops a closed configuration."""
    rng = np.random.default_rng(0)
    tau = rng.normal(size=(STATES, model.nv))
    if not model.loops:
        drawn = [model.random_state(rng) for _ in range(STATES)]
        return None, [np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]), tau]
    q = initial_configuration(model, model.neutral() if guess is None else guess)
    found = analyse(model, q)
    plan = make_plans(model, found).late
    if found.is_redundant:
        raise InputError(
            f"the redundant loop constraints of {model.name!r} depend on the configuration; "
            "programs that omit redundant constraints cannot be compared."
        )
    rows = cut_selection.frozen({loop.name: plan.rows.get(loop.name, ()) for loop in model.tree.loops})
    return rows, [np.tile(q, (STATES, 1)), np.zeros((STATES, model.nv)), tau]


def _usual(model: Model, rows: cut_selection.Rows, guess: Array | None) -> dict[str, Callable[[], Function]]:
    """The standard algorithms."""
    tree, inputs = model.tree, {"q": model.nq, "v": model.nv, "tau": model.nv}
    conditions = None if rows is None else dict(rows)

    def of(name: str, solve: Callable[..., Any]) -> Callable[[], Function]:
        return lambda: trace(name, inputs, lambda q, v, tau: {"a": solve(tree, q, v, tau)})

    def closed(algorithm: Algorithm) -> Function:
        kernel = kernel_of(Dynamics(model, algorithm, q0=guess), "forward")
        assert isinstance(kernel, Kernel)
        return kernel.function

    assembled = of("ada", partial(ada.forward_dynamics, rows=conditions))
    if rows is not None:
        return {"aba": partial(closed, "aba"), "crba": partial(closed, "crba"), "ada": assembled}
    return {
        "aba": of("aba", aba.forward_dynamics),
        "crba": of("crba", crba.forward_dynamics),
        "ada": assembled,
        "lagrange": of("lagrange", lagrange.forward_dynamics),
    }


def best(found: Sequence[ProgramCost]) -> ProgramCost:
    """Fastest program; without timings, the one with the fewest instructions."""
    return min(found, key=lambda m: m.instructions if m.seconds is None else m.seconds)


# --- showing --------------------------------------------------------------------------------------------------------
def text(model: Model, found: Sequence[ProgramCost]) -> list[str]:
    """Table of results, and the selected cuts."""
    head = ("program", "operations", "divisions", "instructions", "ns", "compile s", "cuts")
    lines = table(
        head,
        [
            (
                m.name,
                m.operations,
                m.divisions,
                round(m.instructions),
                "-" if m.seconds is None else f"{1e9 * m.seconds:.1f}",
                "-" if m.compile is None else f"{m.compile:.2f}",
                "-" if m.joints is None else len(m.joints),
            )
            for m in found
        ],
    )
    chosen = next(m for m in found if m.name == "hybrid auto")
    joints = ", ".join(chosen.joints or ()) or "none: one piece"
    return [
        f"forward dynamics of {model.name} ({model.nv} velocities)",
        "",
        *lines,
        "",
        f"best: {best(found).name}",
        f"hybrid auto cuts at: {joints}",
    ]


def plot(found: Sequence[ProgramCost], name: str, path: Path) -> None:
    """Plot the cost over the piece size, with horizontal lines for the other programs."""
    is_timed = all(m.seconds is not None for m in found)

    def height(m: ProgramCost) -> float:
        return m.instructions if m.seconds is None else 1e9 * m.seconds

    pieces = [m for m in found if m.size is not None]
    with figure_context() as new_figure:
        figure = new_figure(6.4, 4.0)
        axes: Any = figure.subplots()
        axes.plot([m.size for m in pieces], [height(m) for m in pieces], "o-", label="pieces of equal size")
        for i, m in enumerate(m for m in found if m.size is None):
            axes.axhline(height(m), color=f"C{i + 1}", linestyle="--" if i % 2 else ":", label=m.name)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("links per piece")
        axes.set_ylabel("time of an evaluation [ns]" if is_timed else "instructions")
        axes.set_title(f"forward dynamics of {name}")
        axes.legend(fontsize="small")
        save(figure, path)
