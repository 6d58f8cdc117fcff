# SPDX-License-Identifier: Apache-2.0
"""C1: agreement and operations of the three methods for the inertia matrix in the CRB note.

Statement of the note: the unit-vector method and the Jacobian method take about twice the time of composite rigid
bodies.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.expr import cost
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

ROBOTS = ("planar_3r", "planar_7r", "pa10", "floating_6", "khr1")
METHODS = {"crba": "composite bodies", "unit_vector": "unit vectors", "jacobian": "Jacobians"}
STATES = 64


@experiment("inertia_matrices")
def inertia_matrices(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compare the methods on the robots of the documents."""
    rows: list[tuple[object, ...]] = []
    errors, ratios, direct = [], [], []
    for i, name in enumerate(ROBOTS):
        progress(i / len(ROBOTS), f"inertia matrices of {name}")
        model = load(name)
        errors.append(difference(model))
        operations = {method: _operations(model, method) for method in METHODS}
        direct.append(operations["jacobian"] / operations["unit_vector"])
        for method, text in METHODS.items():
            ratio = operations[method] / operations["crba"]
            rows.append((name, model.nv, text, operations[method], f"{ratio:.2f}"))
            ratios += [ratio] if method != "crba" else []
    columns = ("robot", "velocities", "method", "operations", "by composite bodies")
    found = {
        "matrix_difference": Quantity(max(errors)),
        "operations_ratio": Quantity(min(ratios)),
        "largest_operations_ratio": Quantity(max(ratios)),
        "least_direct_ratio": Quantity(min(direct)),
        "largest_direct_ratio": Quantity(max(direct)),
    }
    return Outcome(tables=[Table("Operations of an inertia matrix", columns, rows)], quantities=found)


def difference(model: Model) -> float:
    """Largest difference from composite bodies over random states, relative to the largest entry.

    The methods sum some hundred products in different orders: a few times 1e-16 is expected.
    """
    rng = np.random.default_rng(0)
    states = np.array([model.random_state(rng)[0] for _ in range(STATES)])
    matrices = {method: Dynamics(model).mass_matrix(states, method=method) for method in METHODS}
    return max(float(np.abs(M - matrices["crba"]).max() / np.abs(matrices["crba"]).max()) for M in matrices.values())


def _operations(model: Model, method: str) -> int:
    name = "mass_matrix" if method == "crba" else f"mass_matrix_{method}"
    return cost(quantities.of_tree(model.tree, name).trace()).flops
