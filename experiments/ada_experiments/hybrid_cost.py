# SPDX-License-Identifier: Apache-2.0
"""Tables 4.2 and 4.3 of Takahashi 2012, measured again: Lagrange's equations, ADA and hybrid modelling.

The numeric ADA of the document corresponds to `assembly_program`, one program for all chains. Its hybrid programs
prepare the equations of sub-chains symbolically and join them by ADA. Statements are judged by operations. Times are
those of the evaluations in a simulation of 10 s by RKF45 with steps of 1 ms, in native code: the least over rounds in
which all programs run in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function, cost
from ada_dynamics.hybrid import cut_selection
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model import planar_chain
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.inertia_regularization import regularize_inertias
from ada_dynamics.model.model import Model
from ada_experiments import assembly_program
from ada_experiments.operation_counts import SOLVERS, count, traced
from ada_experiments.pictures import picture
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment

STATES = 64
ROUNDS, REPEATS = 15, 100  # of the measurement, and of all states in a round
EVALUATIONS = 60_000  # 10 s in steps of 1 ms, six stages each
LAGRANGE, ADA, HYBRID = "Lagrange", "ADA", "hybrid"

# Seconds on a 3.16 GHz Intel processor, by number of links.
PLANAR: Mapping[str, Mapping[int, float]] = {
    LAGRANGE: {1: 0.5, 2: 0.9, 3: 1.5, 4: 3.0, 5: 8.3, 6: 18.4, 7: 38.2},
    ADA: {1: 5.3, 2: 9.6, 3: 14.0, 4: 18.3, 5: 22.8, 6: 27.3, 7: 32.0},
    HYBRID: {7: 19.1},
}
FREE: Mapping[str, Mapping[int, float]] = {
    ADA: {1: 6.2, 3: 17.8, 6: 35.8, 9: 57.8, 12: 80.3},
    HYBRID: {1: 6.2, 3: 12.5, 6: 25.4, 9: 39.4, 12: 53.2},
}


class _Chain:
    """A chain with its programs and their times."""

    def __init__(self, model: Model, chosen: tuple[int, ...] | None, with_lagrange: bool) -> None:
        """Trace the programs of a chain: with cuts also the hybrid one, and optionally Lagrange's equations."""
        self.model, self.chosen, self._with_lagrange = model, chosen or (), with_lagrange
        self.has_hybrid = chosen is not None
        self.links = len(model.tree.bodies)
        self.programs: dict[str, Callable[..., object]] = {}  # evaluate all states `repeats` times
        self.seconds: dict[str, float] = {}
        self.disagreement = 0.0

    def prepare(self) -> None:
        """Compile the programs and compare their results."""
        kernels, rng = self._kernels(), np.random.default_rng(0)
        drawn = [self.model.random_state(rng) for _ in range(STATES)]
        tau = rng.normal(size=(STATES, self.model.nv))
        states = [np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]), tau]
        found = {name: np.asarray(kernel.batch(*states)) for name, kernel in kernels.items()}
        size = np.max(np.abs(found[ADA]), axis=1, keepdims=True)
        self.disagreement = max(float(np.max(np.abs(a - found[ADA]) / size)) for a in found.values())
        self.programs = {name: partial(kernel.native_repeat, *states) for name, kernel in kernels.items()}

    def _kernels(self) -> dict[str, Any]:
        model, tree = self.model, self.model.tree
        kernels: dict[str, Any] = {ADA: assembly_program.forward(model.uniform_tree)}
        if self._with_lagrange:
            kernels[LAGRANGE] = kernel_of(f"lagrange {model.name}", traced(SOLVERS["lagrange"], tree))
        if self.has_hybrid:
            kernels[HYBRID] = kernel_of(f"hybrid {model.name} {self.chosen}", cut_selection.traced(tree, self.chosen))
        return kernels


@experiment("hybrid_cost")
def hybrid_cost(scenario: Any, output: Path, progress: Progress) -> Outcome:
    """Time both families of chains."""
    if (reason := reason_for_fallback()) is not None:
        raise InputError(f"timing requires compiled programs: {reason}")
    planar = [_Chain(planar_chain(n), (4,) if n in PLANAR[HYBRID] else None, True) for n in PLANAR[ADA]]
    free = []
    for n in FREE[ADA]:
        model = _free_chain(n)
        free.append(_Chain(model, cut_selection.uniform_cuts(model.tree, 3), False))
    every = [*planar, *free]
    for i, chain in enumerate(every):
        progress(0.6 * i / len(every), f"programs of {chain.model.name}")
        chain.prepare()
    progress(0.6, "measuring")
    _measure(every)
    worst = max(chain.disagreement for chain in every)
    quantities = operation_counts() | {"programs_apart": Quantity(worst)}
    return Outcome(
        figures=[_figure(planar, free, output / "fig_4_13_4_16.png")],
        tables=[
            _table("Table 4.2: planar chains on the ground", planar, PLANAR, (LAGRANGE, ADA, HYBRID)),
            _table("Table 4.3: free chains in three dimensions", free, FREE, (ADA, HYBRID)),
        ],
        quantities=quantities,
    )


def _free_chain(n: int) -> Model:
    across = 1.0 / 12.0 + 0.0025 / 4.0
    builder = Builder(f"free_{n}")
    for i in range(1, n + 1):
        builder.link(f"link_{i}", 1.0, (0.0, 0.0, 0.5), (across, across, 0.0025 / 2.0))
        if i > 1:
            axis = (1, 0, 0) if i % 2 else (0, 1, 0)
            builder.joint(f"joint_{i}", "revolute", f"link_{i - 1}", f"link_{i}", (0.0, 0.0, 1.0), axis=axis)
    return builder.build("floating", (0.0, 0.0, 0.0))


def _measure(chains: Sequence[_Chain]) -> None:
    """Time all programs of all chains in turn, so that disturbances affect all of them."""
    for _ in range(ROUNDS):
        for chain in chains:
            for name, run in chain.programs.items():
                start = time.process_time()
                run(repeats=REPEATS)
                seconds = (time.process_time() - start) * EVALUATIONS / (REPEATS * STATES)
                chain.seconds[name] = min(seconds, chain.seconds.get(name, np.inf))


def kernel_of(name: str, function: Function) -> Kernel:
    """Kernel of a traced program."""
    return Kernel(Signature.of(function), lambda: function, name, checked=False)


def operation_counts() -> dict[str, Quantity]:
    """Operations of the programs and their growth; axes and pieces of the free chains repeat every six links.

    The numeric ADA of the document is the program for all chains; "written out": for one chain, as the others are.
    """
    planar = {n: planar_chain(n) for n in range(4, 11)}
    free = {n: _free_chain(n) for n in (6, 12, 18, 24)}
    by_lagrange = {n: count(SOLVERS["lagrange"], model.tree).flops for n, model in planar.items()}
    numeric, written = (
        [{n: operations(model) for n, model in chains.items()} for chains in (planar, free)]
        for operations in (_numeric, lambda model: count(SOLVERS["ada"], model.tree).flops)
    )
    pieces = {
        n: cost(cut_selection.traced(m.tree, cut_selection.uniform_cuts(m.tree, 3))).flops for n, m in free.items()
    }
    seven = cost(cut_selection.traced(planar[7].tree, (4,))).flops
    humanoid = planar_chain(25).tree
    growth = [np.diff(list(counts.values()), 2) for counts in (*numeric, *written)]
    found = {
        "lagrange_third_difference": float(np.mean(np.diff(list(by_lagrange.values()), 3))) / 2.0,
        "ada_second_difference": float(max(np.max(np.abs(x)) for x in growth)),
        "hybrid_second_difference": float(np.max(np.abs(np.diff(list(pieces.values()), 2)))),
        "planar_6_ada_by_lagrange": written[0][6] / by_lagrange[6],
        "planar_7_ada_by_lagrange": written[0][7] / by_lagrange[7],
        "planar_25_ada_by_lagrange": count(SOLVERS["ada"], humanoid).flops / count(SOLVERS["lagrange"], humanoid).flops,
        "planar_7_hybrid_by_ada": seven / numeric[0][7],
        "planar_7_hybrid_by_written_ada": seven / written[0][7],
        "planar_7_hybrid_by_lagrange": seven / by_lagrange[7],
        "free_12_hybrid_by_ada": pieces[12] / numeric[1][12],
        "free_12_hybrid_by_written_ada": pieces[12] / written[1][12],
    }
    return {name: Quantity(value) for name, value in found.items()}


def _numeric(model: Model) -> int:
    """Operations of the numeric ADA."""
    return assembly_program.operations(regularize_inertias(model.uniform_tree).tree)


def _table(
    title: str, chains: Sequence[_Chain], document: Mapping[str, Mapping[int, float]], names: Sequence[str]
) -> Table:
    """Times by number of links, and those of the document."""
    columns = [
        "links",
        *(f"{n} [ms]" for n in names),
        "hybrid / ADA",
        *(f"document: {n} [s]" for n in names),
        "hybrid / ADA",
    ]
    rows = []
    for chain in chains:
        ours = {name: 1e3 * seconds for name, seconds in chain.seconds.items()}
        theirs = {name: document[name][chain.links] for name in names if chain.links in document[name]}
        row: list[object] = [chain.links]
        for times in (ours, theirs):
            values = [times.get(name) for name in names]
            values.append(times[HYBRID] / times[ADA] if HYBRID in times else None)
            row += ["-" if value is None else float(f"{value:.3g}") for value in values]
        rows.append(row)
    return Table(
        title, columns, rows, "Ours: 60 000 evaluations of forward dynamics; the document's: a simulation of 10 s."
    )


def _figure(planar: Sequence[_Chain], free: Sequence[_Chain], path: Path) -> Path:
    panels = []
    for title, chains, document in (
        ("Planar chains on the ground", planar, PLANAR),
        ("Free chains in three dimensions", free, FREE),
    ):
        own = {
            name: {chain.links: 1e3 * chain.seconds[name] for chain in chains if name in chain.seconds}
            for name in (LAGRANGE, ADA, HYBRID)
        }
        for where, unit, times in (
            ("here", "60 000 evaluations [ms]", own),
            ("document", "10 s simulated [s]", document),
        ):
            series = [
                Curve(
                    name, np.array([*found], dtype=float), np.array([*found.values()]), "o" if len(found) == 1 else "-"
                )
                for name, found in times.items()
                if found
            ]
            panels.append(Panel(f"{title}: {where}", unit, series, xlabel="links"))
    return picture(panels, path, "Cost of forward dynamics", 2)
