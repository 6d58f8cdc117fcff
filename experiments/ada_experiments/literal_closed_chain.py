# SPDX-License-Identifier: Apache-2.0
"""T3.4: the four-bar linkage of Takahashi 2012, sec. 3.3, by the literal equations of the document.

Eqs. 3.25-3.28 solve for the force of the closing joint with the inverse of Y = J M⁻¹ Jᵀ, which is singular in the flat
configurations. The inverse is taken as it is, or as a pseudo-inverse that drops small singular values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.simulation.integrator import explicit_step
from ada_dynamics.simulation.methods import METHODS
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

START, STEP, DURATION = np.radians((60.0, 90.0, 240.0)), 1e-3, 3.0  # angles of the rods to the vertical; [s]
CUT_OFFS = (1e-5, 1e-4, 1e-3, 1e-2)  # singular values that are dropped, by the largest
RODS = 3
GRAVITY = 9.81
BEYOND = np.arange(RODS)[::-1]  # rods beyond each rod
WEIGHTS = 0.5 + BEYOND  # moments of mass about the inner end of each rod, with the rods beyond it
JOINTS = np.eye(RODS) - np.eye(RODS, k=-1)  # joint angles, from the angles of the rods
INERTIA = np.minimum.outer(WEIGHTS, WEIGHTS) + np.diag(np.full(RODS, 1.0 / 3.0 - 0.5))


def accelerations(angles: Array, rates: Array, inverse: Callable[[Array], Array]) -> Array:
    """Accelerations of the angles of three unit rods to the vertical, whose last end is held by a pivot."""
    apart = angles[:, None] - angles
    mass = INERTIA * np.cos(apart)
    free = np.linalg.solve(mass, GRAVITY * WEIGHTS * np.sin(angles) - (INERTIA * np.sin(apart)) @ rates**2)
    jacobian = np.array([np.cos(angles), -np.sin(angles)])
    drift = np.array([-np.sin(angles), -np.cos(angles)]) @ rates**2
    spread = np.linalg.solve(mass, jacobian.T)
    return np.asarray(free - spread @ (inverse(jacobian @ spread) @ (jacobian @ free + drift)))


def simulated(inverse: Callable[[Array], Array]) -> dict[str, float]:
    """Energy drift, jumps of velocities and accelerations, and closure error, as the measures of the scenario."""

    def rates_of(x: Array, t: float) -> Array:
        return np.concatenate([x[RODS:], accelerations(x[:RODS], x[RODS:], inverse)])

    rows = [np.concatenate([START, np.zeros(RODS)])]
    for i in range(round(DURATION / STEP)):
        rows.append(explicit_step(METHODS["rkf45"], rates_of, rows[-1], i * STEP, STEP))
    x = np.array(rows)
    a = np.array([rates_of(row, 0.0)[RODS:] for row in x])
    a, v, angles = a @ JOINTS.T, x[:, RODS:] @ JOINTS.T, x[:, :RODS]
    apart = angles[:, :, None] - angles[:, None]
    kinetic = 0.5 * np.einsum("ni,nij,nj->n", x[:, RODS:], INERTIA * np.cos(apart), x[:, RODS:])
    potential = GRAVITY * np.cos(angles) @ WEIGHTS
    energy = kinetic + potential
    jumps = np.diff(v, axis=0) - 0.5 * (a[1:] + a[:-1]) * STEP
    tip = np.column_stack([np.sin(angles).sum(axis=1) - 1.0, np.cos(angles).sum(axis=1)])
    return {
        "energy": float(np.max(np.abs(energy - energy[0])) / np.ptp(potential)),
        "velocity": float(np.max(np.abs(jumps)) / np.max(np.abs(v))),
        "acceleration": float(np.max(np.abs(np.diff(a, axis=0))) / np.max(np.abs(a))),
        "closure": float(np.max(np.abs(tip))),
    }


@experiment("literal_closed_chain")
def literal_closed_chain(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the motion with each inverse."""
    cases: dict[str, Callable[[Array], Array]] = {"plain": lambda matrix: np.asarray(np.linalg.inv(matrix))}
    cases |= {f"cut-off {one:g}": partial(np.linalg.pinv, rcond=one) for one in CUT_OFFS}
    found = {}
    for i, (name, inverse) in enumerate(cases.items()):
        progress(i / len(cases), name)
        found[f"Y⁻¹ {name}"] = simulated(inverse)
    plain = next(iter(found.values()))
    quantities = {
        f"literal_{key}": Quantity(plain[key], sweep={name: values[key] for name, values in found.items()})
        for key in plain
    }
    return Outcome(quantities=quantities)
