# SPDX-License-Identifier: Apache-2.0
"""C1: agreement and cost of the three methods for the inertia matrix in the CRB note.

Statement of the note: the unit-vector method and the Jacobian method take about twice the time of composite rigid
bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.drawing import colours
from ada_dynamics.drawing.plots import figure_context, save
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.expr import cost
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_experiments.hybrid_cost import in_turn, kernel_of, repeat
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

ROBOTS = ("planar_3r", "planar_7r", "pa10", "floating_6", "khr1")
METHODS = ("crba", "unit_vector", "jacobian")
NAMES = {"crba": "composite bodies", "unit_vector": "unit vectors", "jacobian": "Jacobians"}
STATES = 64
ROUNDS = 31

# Sums of some hundred products in different orders: a few times 1e-16 is observed.


@dataclass(frozen=True)
class Costs:
    """Costs of one robot by method.

    Attributes:
        robot: name of the robot.
        size: number of velocity coordinates.
        error: largest difference from composite bodies, relative to the largest entry.
        operations: additions and multiplications.
        seconds: time of one evaluation; empty without a compiler.
        ratios: median over rounds of the time ratio to composite bodies; empty without a compiler.
    """

    robot: str
    size: int
    error: float
    operations: dict[str, int]
    seconds: dict[str, float]
    ratios: dict[str, float]


@experiment("inertia_matrices")
def inertia_matrices(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compare the methods on the robots of the documents."""
    found = []
    for i, name in enumerate(ROBOTS):
        progress(i / len(ROBOTS), f"inertia matrices of {name}")
        found.append(costs_of(load(name)))
    figures = [_plot(found, output / "c1_cost.png")]
    return Outcome([], figures, [_table(found)], _notes(found), quantities=quantities_of(found))


def costs_of(model: Model, rounds: int = ROUNDS) -> Costs:
    """Agreement, operations and times for one robot, over random states.

    Args:
        model: robot model.
        rounds: timing rounds; all methods run in turn in each.
    """
    rng = np.random.default_rng(0)
    states = np.array([model.random_state(rng)[0] for _ in range(STATES)])
    dynamics = Dynamics(model)
    matrices = {method: dynamics.mass_matrix(states, method=method) for method in METHODS}
    scale = float(np.abs(matrices["crba"]).max())
    error = max(float(np.abs(M - matrices["crba"]).max()) / scale for M in matrices.values())
    operations, programs = {}, {}
    for method in METHODS:
        name = "mass_matrix" if method == "crba" else f"mass_matrix_{method}"
        function = quantities.of_tree(model.tree, name).trace()
        operations[method] = cost(function).flops
        if reason_for_fallback() is None:
            programs[method] = partial(repeat, kernel_of(f"{name} {model.name}", function), [states])
    rows = in_turn(programs, STATES, rounds) if programs else {}
    seconds = {method: float(np.median(row)) for method, row in rows.items()}
    ratios = {method: float(np.median(np.asarray(row) / np.asarray(rows["crba"]))) for method, row in rows.items()}
    return Costs(model.name, model.nv, error, operations, seconds, ratios)


def quantities_of(found: Sequence[Costs]) -> dict[str, Quantity]:
    """Agreement of the methods, and ratios of operations to those of composite bodies."""
    ratios = [costs.operations[m] / costs.operations["crba"] for costs in found for m in METHODS[1:]]
    return {
        "matrix_difference": Quantity(max(costs.error for costs in found)),
        "operations_ratio": Quantity(min(ratios)),
        "largest_operations_ratio": Quantity(max(ratios)),
    }


def _table(found: Sequence[Costs]) -> Table:
    rows = []
    for costs in found:
        for method in METHODS:
            per = costs.operations[method] / costs.operations["crba"]
            time_, ratio = costs.seconds.get(method), costs.ratios.get(method)
            rows.append(
                (
                    costs.robot,
                    costs.size,
                    NAMES[method],
                    costs.operations[method],
                    f"{per:.2f}",
                    "-" if time_ is None else f"{1e9 * time_:.1f}",
                    "-" if ratio is None else f"{ratio:.2f}",
                )
            )
    columns = ("robot", "velocities", "method", "operations", "by composite bodies", "time [ns]", "by composite bodies")
    return Table("What an inertia matrix costs", columns, rows, "one state after the other, one core, native code")


def _notes(found: Sequence[Costs]) -> list[str]:
    notes = [
        "Composite bodies grow with the square of the depth of a robot, the others with its cube, so that no single "
        "factor describes them. The statements are judged by operations; times are those of this machine."
    ]
    if not all(costs.ratios for costs in found):
        notes.append("Nothing can be compiled here, so operations are compared and times are not.")
    return notes


def _plot(found: Sequence[Costs], path: Path) -> Path:
    """Plot the ratios of operations and times by robot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    titles = ("(a) Operations", "(b) Time")
    with figure_context() as new_figure:
        figure = new_figure(9.0, 3.6)
        panels: Any = figure.subplots(1, 2, sharey=True)
        for axes, title, of in zip(panels, titles, (_operation_ratios, _time_ratios), strict=True):
            for k, method in enumerate(METHODS):
                heights = [of(costs).get(method, 0.0) for costs in found]
                axes.bar(
                    np.arange(len(found)) + 0.27 * (k - 1),
                    heights,
                    0.25,
                    label=NAMES[method],
                    color=colours.curve(k)["color"],
                )
            axes.axhline(2.0, color="0.3", linestyle="--", linewidth=1.0, label="the note: about 2")
            axes.set_xticks(range(len(found)), [costs.robot for costs in found], rotation=20)
            axes.set_title(title, loc="left")
        panels[0].set_ylabel("By composite bodies")
        panels[0].legend()
        return save(figure, path)


def _operation_ratios(costs: Costs) -> dict[str, float]:
    return {method: costs.operations[method] / costs.operations["crba"] for method in METHODS}


def _time_ratios(costs: Costs) -> dict[str, float]:
    return costs.ratios
