# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot under gravity.

Motors are off; the motion is printed or shown in the browser, where the mouse pulls the robot. Robots with closed loops
start in a closed configuration, and their loops remain closed. Robots with boxes or spheres as feet, such as khr1,
start on the ground.

Examples:
  ada sim pa10                              free fall of the arm
  ada sim pa10 --view                       in the browser: pause, pull it, plots
  ada sim pa10 --headless --duration 10     10 s, as numbers
  ada sim pa10 --headless --plot fall.png   joint angles and energies as a picture
  ada sim khr1 --headless --plot legs.png --joints left_knee right_knee
  ada sim khr1 --animate khr1.gif           an animation
  ada sim robot.urdf --base floating
  ada sim four_bar --json                   a linkage; see `ada list`
  ada sim pa10 --record fall.mcap           for Foxglove, PlotJuggler, rerun and `ada view`
  ada sim robot.urdf --loops robot.loops.yaml --start 0.1 0.2 0.3
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.drawing.mesh_files import mesh_vertices
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.progress import Progress
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.methods import AUTO, METHODS
from ada_dynamics.simulation.scene import scene_for
from ada_dynamics.simulation.simulation import Simulation
from ada_tools.commands.common import add_robot_arguments, check_files, print_json, robot_of, seconds, start_pose
from ada_tools.commands.view import add_page_arguments, page_options

LINES = 10  # lines of the table
STEP = 1e-3  # [s]
_NEAR = 1e-6  # [rad, m] changes of the initial configuration below this are not reported
_START = "from the catalogue; else loops closed near zero, upright arms with 45 deg in the second joint"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="file of a robot, or a name from `ada list`")
    add_robot_arguments(parser, start=_START)
    parser.add_argument("--duration", type=seconds, metavar="S", help="simulated time (default 5; --view: unlimited)")
    parser.add_argument(
        "--step", type=seconds, default=STEP, metavar="S", help=f"integration step [s] (default {STEP:g})"
    )
    parser.add_argument(
        "--integrator",
        choices=list(METHODS),
        help="default: rkf45; semi_implicit with contact, or if damping is stiff relative to the step",
    )
    parser.add_argument(
        "--ground",
        choices=("auto", "on", "off"),
        default="auto",
        help="ground plane at height 0 (default auto: for floating robots with gravity)",
    )
    parser.add_argument("--no-stops", action="store_true", help="ignore the position limits of joints")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--headless", action="store_true", help="print a table, the default; excludes --view")
    parser.add_argument("--view", action="store_true", help="show in the browser, in real time; writes no files")
    add_page_arguments(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (png, pdf, svg); needs matplotlib")
    parser.add_argument(
        "--joints", nargs="+", metavar="NAME", help="joints of --plot, at most 8 (default: largest motion)"
    )
    parser.add_argument(
        "--snapshots", type=Path, metavar="FILE", help="write a picture of several configurations over time"
    )
    parser.add_argument("--animate", type=Path, metavar="FILE", help="write an animation (gif, mp4)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write an .mcap file during the simulation")


def run(options: argparse.Namespace) -> int:
    """Simulate and show the result."""
    model = robot_of(options)
    _check_outputs(options, model)
    scene = scene_for(
        model,
        start_pose(options, model),
        step=options.step,
        ground=options.ground,
        stops=not options.no_stops,
        integrator=options.integrator or AUTO,
        is_given=options.start is not None,
        vertices=mesh_vertices(),
    )
    sim = Simulation(
        model,
        scene.q,
        integrator=scene.integrator,
        step=options.step,
        contact=scene.contact,
        stops=scene.stops,
        pushable=options.view,
    )
    words = "\n".join([*scene.notes, _set_up(sim, scene.why)])
    if options.view:
        return _live(sim, options, words)
    if not options.json:
        print(words)
    started = time.perf_counter()
    log = sim.run(5.0 if options.duration is None else options.duration, options.record, "auto")
    elapsed = time.perf_counter() - started
    _write_pictures(log, options)
    if options.json:
        print_json({**_figures(log), "seconds_of_computing": elapsed})
        return 0
    _print_table(log)
    _print_summary(log, elapsed)
    if scene.moved > _NEAR and options.start is not None:
        print(f"start: closing the loops changed the given configuration by up to {scene.moved:.3g} [rad, m]")
    if model.loops:
        print(f"loops: largest closure error {_largest_gap(log):.1e} [m, rad]{_passed(log)}")
    return 0


def _set_up(sim: Simulation, why: str) -> str:
    """One-line description of integrator, ground and joint stops."""
    chosen = [f"integrator: {sim.method.name} ({why})"]
    if sim.contact is not None:
        chosen.append(f"ground: {len(sim.contact.names)} contact points and spheres")
    if sim.stops is not None:
        chosen.append(f"limits: {len(sim.stops.resolve(sim.model))} joints have stops")
    return "; ".join(chosen)


def _check_outputs(options: argparse.Namespace, model: Model) -> None:
    """Check the output options before the computation."""
    files = {f"--{name}": getattr(options, name) for name in ("plot", "snapshots", "animate", "record")}
    others = [f"--{name}" for name in ("headless", "json") if getattr(options, name)]
    others += [option for option, path in files.items() if path is not None]
    if options.view and others:
        raise InputError(f"--view with {', '.join(others)}: the browser view cannot be combined with these.")
    if options.joints is not None and options.plot is None:
        raise InputError("--joints requires --plot FILE.")
    if options.plot or options.snapshots:
        from ada_dynamics.drawing import plots

        plots.check_joints(model, options.joints)
        for path in filter(None, (options.plot, options.snapshots)):
            plots.check_suffix(path)
    if options.animate:
        from ada_dynamics.drawing.animate import check_tools

        check_tools(options.animate)
    if options.record and options.record.suffix.lower() != ".mcap":
        raise InputError(
            f"--record {options.record}: its extension must be .mcap; convert it with `ada record convert`."
        )
    check_files(files)


def _live(sim: Simulation, options: argparse.Namespace, words: str) -> int:
    from ada_tools.browser.live import live

    live(sim, on_start=lambda _: print(words), **page_options(options))  # words of a started page only
    return 0


def _write_pictures(log: Log, options: argparse.Namespace) -> None:
    if options.plot:
        from ada_dynamics.drawing.plots import figure_of, panels_for

        panels = panels_for(log, joints=options.joints)
        figure_of(panels, options.plot)
        for note in dict.fromkeys(panel.note for panel in panels if panel.note and options.joints is None):
            print(f"ada: note: {options.plot} shows {note}; --joints chooses others", file=sys.stderr)
    if options.snapshots:
        from ada_dynamics.drawing.snapshots import plot_snapshots

        plot_snapshots(log, options.snapshots)
    if options.animate:
        from ada_dynamics.drawing.animate import animate

        with Progress(1.0, options.animate.name) as progress:
            animate(log, options.animate, progress=progress)


def _figures(log: Log) -> dict[str, Any]:
    """Rows of the table, and results of the whole motion."""
    kinetic, potential = log.energy
    return {
        "robot": log.model.name,
        "duration": log.t[-1],
        "steps": log.info["steps"],
        "integrator": log.info["integrator"],
        "energy_drift": log.energy_drift,
        "energy": log.balance.account,
        "largest_beyond_limits": max(limit_violations(log.model, log.q).values(), default=0.0),
        "largest_gap": _largest_gap(log),
        "singular_at": log.singular,
        "states": [
            {
                "t": log.t[i],
                "q": log.q[i].tolist(),
                "v": log.v[i].tolist(),
                "kinetic_energy": kinetic[i],
                "potential_energy": potential[i],
            }
            for i in _rows(log)
        ],
    }


def _largest_gap(log: Log) -> float:
    return float(np.max(log.loop_gap)) if log.model.loops else 0.0


def _passed(log: Log) -> str:
    times = log.singular
    if not times:
        return ""
    shown = ", ".join(f"{t:.3g}" for t in times[:6]) + (", ..." if len(times) > 6 else "")
    return f"; passed singular configurations at t = {shown} s"


def _rows(log: Log) -> list[int]:
    """Row indices shown in the table."""
    return sorted({int(i) for i in np.linspace(0, len(log.t) - 1, LINES + 1)})


def _print_table(log: Log) -> None:
    model = log.model
    names = [name for name in model.joint_names if model.joints[name].nq == 1][:7]
    shown = [model.q_index(name).start for name in names]
    energy = log.total_energy
    print("    t [s]  " + "".join(f"{name[:10]:>11}" for name in names) + "   energy [J]")
    for i in _rows(log):
        values = "".join(f"{log.q[i, j]:11.4f}" for j in shown)
        print(f"  {log.t[i]:7.3f}  {values}  {energy[i]:11.6f}")


def _print_summary(log: Log, elapsed: float) -> None:
    steps, span = log.info["steps"], log.t[-1] - log.t[0]
    print(
        f"{log.model.name}: {span:g} s in {steps} steps ({log.info['integrator']}), {elapsed:.2f} s of computing "
        f"({span / elapsed:.1f} x real time); {log.balance.summary()}."
    )
    if log.info.get("stops") is None:
        over = sorted(limit_violations(log.model, log.q).items(), key=lambda one: -one[1])
        if over:
            print(f"limits exceeded by {len(over)} joints, most by {over[0][0]!r}: {over[0][1]:.3g} [rad, m]")
