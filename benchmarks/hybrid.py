# SPDX-License-Identifier: Apache-2.0
"""Hybrid modelling: tables 4.2 and 4.3 of Takahashi 2012 measured again, and the plots of docs/hybrid.md.

python -m benchmarks hybrid
python -m benchmarks.hybrid docs/images     # the tables, and their plots into a folder
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import crba, lagrange
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.loop_programs import loop_kernel
from ada_dynamics.dynamics.quantities.base import position_rates
from ada_dynamics.expr import Function, trace
from ada_dynamics.hybrid import cut_selection
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.model.tree import Tree
from ada_dynamics.robots.catalogue import start_of_mechanism
from ada_tools.commands.bench import measure_pieces
from ada_tools.program_cost import ProgramCost
from benchmarks import machine, peers, robots
from benchmarks.native import rows_in_turn
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, Timings, measure, pin_to_one_cpu

States = tuple[Array, Array, Array]

# Seconds for a simulation of 10 s in steps of 1 ms, on a 3.16 GHz Intel processor (tables 4.2 and 4.3).
THESIS_PLANAR: Mapping[str, Sequence[float | None]] = {
    "lagrange": (0.5, 0.9, 1.5, 3.0, 8.3, 18.4, 38.2),
    "ada": (5.3, 9.6, 14.0, 18.3, 22.8, 27.3, 32.0),
    "hybrid": (None, None, None, None, None, None, 19.1),
}
THESIS_FLOATING: Mapping[str, Sequence[float | None]] = {
    "ada": (6.2, 17.8, 35.8, 57.8, 80.3),
    "hybrid": (6.2, 12.5, 25.4, 39.4, 53.2),
}
PLANAR = (1, 2, 3, 4, 5, 6, 7)
FLOATING = (1, 3, 6, 9, 12)
# Beyond the thesis' chains, for where Lagrange's equations stop paying.
LONGER = (9, 12, 16, 20)

STEP, DURATION, STAGES = 1e-3, 10.0, 6
GENERIC, OWN, LAGRANGE, PIECES, AUTO = "ada, generic", "ada, folded", "lagrange", "hybrid", "hybrid auto"
GOAL = 0.25  # hybrid / generic ADA
AGREEMENT = 1e-8  # of the fastest parts of the motion; conditions of the mass matrix are some thousand


@dataclass
class Case:
    """A chain, where the thesis cuts it, and the start of its motion."""

    model: ada.Model
    cuts: tuple[int, ...]
    q: Array
    v: Array
    with_lagrange: bool
    times: dict[str, float] = field(default_factory=dict)  # of a simulation [s]
    ratios: dict[str, float] = field(default_factory=dict)  # to generic ADA


def planar(n: int) -> Case:
    """Thin rods on the ground, the first one level (sec. 4.5.1); seven are cut at joint 5, others every 4 links."""
    q = np.zeros(n)
    q[0] = np.pi / 2.0
    model = ada.planar_chain(n)
    return Case(model, (4,) if n == 7 else cut_selection.uniform_cuts(model.tree, 4), q, np.zeros(n), True)


def floating(n: int) -> Case:
    """Rods that turn about all axes at first, without weight, hinged about y and x in turn; cut every 3 links.

    The thesis does not give the axes. A thin rod that is free can spin about itself without inertia: these are round.
    """
    thick = (1 / 12 + 0.0025 / 4, 1 / 12 + 0.0025 / 4, 0.0025 / 2)
    builder = ada.Builder(f"floating_{n}")
    for i in range(n):
        builder.link(f"link_{i + 1}", 1.0, (0.0, 0.0, 0.5), thick)
        if i:
            axis = (0, 1, 0) if i % 2 else (1, 0, 0)
            builder.joint(f"joint_{i + 1}", "revolute", f"link_{i}", f"link_{i + 1}", (0.0, 0.0, 1.0), axis=axis)
    model = builder.build("floating", (0.0, 0.0, 0.0))
    v = np.zeros(model.nv)
    v[3:6] = 1.0
    return Case(model, cut_selection.uniform_cuts(model.tree, 3), model.neutral(), v, False)


# --- a motion -------------------------------------------------------------------------------------------------------
def motion(case: Case, steps: int) -> States:
    """All states that a Runge-Kutta-Fehlberg integration of the fifth order evaluates."""
    tree, nq = case.model.tree, case.model.nq
    inputs = {"q": nq, "v": case.model.nv, "tau": case.model.nv}

    def rates(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        return {"x": [*position_rates(tree, q, v), *crba.forward_dynamics(tree, q, v, tau)]}

    kernel = _kernel(f"rates {case.model.name}", inputs, rates)
    tau = np.zeros(case.model.nv)
    x = np.concatenate([case.q, case.v])
    visited = np.empty((steps * STAGES, len(x)))
    k = np.empty((STAGES, len(x)))
    for step in range(steps):
        for i, row in enumerate(_STAGES):
            y = x + STEP * (row @ k[:i]) if i else x
            visited[step * STAGES + i] = y
            k[i] = kernel.single(np.ascontiguousarray(y[:nq]), np.ascontiguousarray(y[nq:]), tau)
        x = x + STEP * (_WEIGHTS @ k)
        if case.model.has_manifold_coordinates:
            x[3:7] /= np.linalg.norm(x[3:7])
    q, v = np.ascontiguousarray(visited[:, :nq]), np.ascontiguousarray(visited[:, nq:])
    return q, v, np.zeros((len(visited), case.model.nv))


_STAGES = [
    np.array(row)
    for row in (
        [],
        [1 / 4],
        [3 / 32, 9 / 32],
        [1932 / 2197, -7200 / 2197, 7296 / 2197],
        [439 / 216, -8, 3680 / 513, -845 / 4104],
        [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40],
    )
]
_WEIGHTS = np.array([16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])


# --- contenders -----------------------------------------------------------------------------------------------------
def _kernel(name: str, inputs: dict[str, int], body: Callable[..., dict[str, Any]]) -> Kernel:
    return _compiled(name, trace("hybrid_benchmark", inputs, body))


def _compiled(name: str, function: Function) -> Kernel:
    return Kernel(Signature.of(function), lambda: function, name, checked=False)


def _accelerations(tree: Tree, solve: Callable[..., Any], q: Any, v: Any, tau: Any) -> dict[str, Any]:
    return {"a": solve(tree, q, v, tau)}


def contenders(case: Case, states: States) -> tuple[list[Contender], dict[str, Array]]:
    """All programs of a chain over the states of its motion, and what they find for the last one."""
    tree = case.model.tree
    inputs = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    programs: dict[str, Callable[..., Any]] = {OWN: assembly_disassembly.forward_dynamics}
    if case.with_lagrange:
        programs[LAGRANGE] = lagrange.forward_dynamics
    kernels: dict[str, Any] = {GENERIC: loop_kernel(case.model.uniform_tree, "forward", False, "ada")}
    for name, solve in programs.items():
        kernels[name] = _kernel(f"{name} {case.model.name}", inputs, partial(_accelerations, tree, solve))
    for name, chosen in ((PIECES, case.cuts), (AUTO, cut_selection.cheapest_cuts(tree))):
        kernels[name] = _compiled(f"{name} {case.model.name} {chosen}", cut_selection.traced(tree, chosen))
    q, v, tau = states
    made = [rows_in_turn(name, kernel, states) for name, kernel in kernels.items()]
    few = slice(None, None, max(1, len(q) // 16))
    return made, {name: np.asarray(k.batch(q[few], v[few], tau[few])) for name, k in kernels.items()}


def run_case(case: Case, plan: Plan, steps: int) -> Timings:
    """Check that all programs agree along the motion, then time them."""
    states = motion(case, steps)
    made, found = contenders(case, states)
    for name, values in found.items():
        peers.insist(f"{case.model.name}: {name} against {GENERIC}", values, found[GENERIC], AGREEMENT)
    timings = measure(made, plan)
    evaluations = DURATION / STEP * STAGES
    # least disturbed, since chains of different lengths do not run in turn
    case.times = {name: timings.best(name) * evaluations for name in timings.labels}
    case.ratios = {name: timings.ratio(name, GENERIC) for name in timings.labels}
    return timings


# --- tables ---------------------------------------------------------------------------------------------------------
def run(report: Report, plan: Plan, quick: bool) -> None:
    """Both tables."""
    measure_all(report, plan, quick)


def measure_all(report: Report, plan: Plan, quick: bool) -> tuple[list[Case], list[Case]]:
    """Both tables, and the cases behind them."""
    report.begin("hybrid", "tables 4.2 and 4.3 of the thesis: seconds for a simulation of 10 s in steps of 1 ms")
    report.note(
        "60 000 evaluations of forward dynamics along the motion, native; the integration itself is not in the times"
    )
    steps = 20 if quick else round(DURATION / STEP)
    one_pass = Plan(min(plan.rounds, 11), plan.seconds)
    cases = [planar(n) for n in ((2, 7) if quick else (*PLANAR, *LONGER))]
    free = [floating(n) for n in ((1, 6) if quick else FLOATING)]
    for case in (*cases, *free):
        run_case(case, one_pass, steps)
    _table(report, "4.2: planar chains on the ground", cases, PLANAR, THESIS_PLANAR)
    _table(report, "4.3: floating chains in 3-D", free, FLOATING, THESIS_FLOATING)
    for case in (cases[-1] if quick else cases[len(PLANAR) - 1], free[-1]):
        for name in (PIECES, AUTO):
            report.aim(f"{case.model.name}: {name} / {GENERIC}", case.ratios[name], GOAL, "")
    return cases, free


def links(case: Case) -> int:
    """Links of a chain."""
    return len(case.model.tree.bodies)


def _table(
    report: Report,
    title: str,
    cases: Sequence[Case],
    lengths: Sequence[int],
    thesis: Mapping[str, Sequence[float | None]],
) -> None:
    shown = [name for name in (LAGRANGE, GENERIC, OWN, PIECES, AUTO) if name in cases[0].times]
    columns = ["links", *(f"{name} ms" for name in shown), "hybrid / generic", "auto / generic"]
    columns += [f"thesis {name} s" for name in thesis] + ["thesis hybrid / ada"]
    rows: list[list[object]] = []
    for case in cases:
        row: list[object] = [links(case), *(1e3 * case.times[name] for name in shown)]
        row += [case.ratios[name] for name in (PIECES, AUTO)]
        at = lengths.index(links(case)) if links(case) in lengths else None
        theirs = {name: None if at is None else values[at] for name, values in thesis.items()}
        row += ["" if x is None else x for x in theirs.values()]
        both = theirs["hybrid"], theirs["ada"]
        row.append("" if both[0] is None or both[1] is None else both[0] / both[1])
        rows.append(row)
    report.table(title, columns, rows)


# --- plots ----------------------------------------------------------------------------------------------------------
def plot(cases: Sequence[Case], title: str, path: Path) -> None:
    """Time against the number of links."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes: Any = figure.subplots()
    for name in (LAGRANGE, GENERIC, OWN, PIECES, AUTO):
        if name in cases[0].times:
            axes.plot([links(c) for c in cases], [1e3 * c.times[name] for c in cases], "o-", label=name, markersize=4)
    axes.set_xlabel("links")
    axes.set_ylabel("60 000 evaluations [ms]")
    axes.set_yscale("log")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(title)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=80)


def piece_sizes(report: Report) -> dict[str, list[ProgramCost]]:
    """How large pieces should be: the programs of `ada bench hybrid` for four robots."""
    hexa = ada.load("hexa")
    robots_and_starts = {
        "pa10": (ada.load("pa10"), None),
        "chain of 12": (ada.chain_3d(12), None),
        "humanoid": (robots.humanoid().model(), None),
        "hexa": (hexa, start_of_mechanism("hexa")),
    }
    found = {}
    for name, (model, start) in robots_and_starts.items():
        found[name] = measure_pieces(model, start)
        rows = [
            [m.name, m.operations, m.divisions, m.instructions, 1e9 * m.seconds, m.compile, ", ".join(m.joints or ())]
            for m in found[name]
            if m.seconds is not None
        ]
        columns = ["program", "operations", "divisions", "instructions", "ns", "compile s", "cuts"]
        report.table(f"pieces of {name}", columns, rows)
    return found


def plot_sizes(found: dict[str, list[ProgramCost]], path: Path) -> None:
    """Time against the size of the pieces, as a share of that of single links."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes: Any = figure.subplots()
    for i, (name, programs) in enumerate(found.items()):
        pieces = [(m.size, m.seconds) for m in programs if m.size is not None and m.seconds is not None]
        other = min(m.seconds for m in programs if m.name in ("aba", "crba") and m.seconds is not None)
        axes.plot([n for n, _ in pieces], [x / pieces[0][1] for _, x in pieces], "o-", color=f"C{i}", label=name)
        axes.axhline(other / pieces[0][1], color=f"C{i}", linestyle=":", linewidth=1.0)
    axes.set_xlabel("links behind one another in a piece")
    axes.set_ylabel("time / time with pieces of one link")
    axes.set_title("dotted: the faster one of aba and crba")
    axes.set_ylim(bottom=0.0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=80)


def main(folder: str) -> None:
    """Measure, and write the plots into a folder."""
    report = Report(machine.describe(pin_to_one_cpu()))
    print(report.machine)
    cases, free = measure_all(report, Plan.usual(), quick=False)
    plot(cases, "planar chains on the ground (table 4.2)", Path(folder) / "hybrid_planar.png")
    plot(free, "floating chains in 3-D (table 4.3)", Path(folder) / "hybrid_floating.png")
    plot_sizes(piece_sizes(report), Path(folder) / "hybrid_sizes.png")
    report.summary()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
