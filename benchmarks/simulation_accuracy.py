# SPDX-License-Identifier: Apache-2.0
"""Three seconds of the planar chain of Takahashi 2012, sec. 4.4.1, at equal accuracy: ours, and scipy on pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.resources import how_to_install
from ada_dynamics.simulation import Simulation
from benchmarks import peers
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Aim, Report
from benchmarks.simulation_peers import pinocchio_rate
from benchmarks.timing import Contender, Plan, measure

DURATION = 3.0  # [s]
GOALS = (1e-6, 1e-9)  # largest error of an angle at the end [rad]
AIM = 30.0
SCIPY = ("DOP853", "RK45", "LSODA")
PER_DECADE = 4  # tolerances to try
OURS = "ada dop853"


def run(report: Report, plan: Plan, quick: bool) -> None:
    """A table per goal."""
    if PINOCCHIO not in peers.available():
        return
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        report.note(f"scipy is not installed: equal accuracy is left out ({how_to_install('tools')})")
        return
    model = ada.load("planar_7r")
    q = np.zeros(model.nq)
    q[0] = np.pi / 2.0
    rate, x = pinocchio_rate(model), np.concatenate([q, np.zeros(model.nv)])

    def by_scipy(method: str, tolerance: float) -> Any:
        return solve_ivp(rate, (0.0, DURATION), x, method=method, rtol=tolerance, atol=tolerance)

    truth = _end(_ours(model, q, 1e-14))
    other = by_scipy("DOP853", 1e-13).y[: model.nq, -1]
    report.note(f"{model.name}, {DURATION:g} s: reference angles, ours and scipy's, differ by {_off(truth, other):.0e}")
    for goal in GOALS[:1] if quick else GOALS:
        contenders, rows = [], []
        found = _loosest(goal, lambda tolerance: _off(truth, _end(_ours(model, q, tolerance))))
        if found is not None:
            tolerance, error = found
            sim = _ours(model, q, tolerance)
            evaluations = 12 * (sim.context.integrator.counts.steps + sim.context.integrator.counts.refused)
            rows.append([OURS, tolerance, error, evaluations])
            contenders.append(Contender(OURS, "sim.reset(); sim.step()", {"sim": sim}))
        for method in SCIPY[:1] if quick else SCIPY:
            found = _loosest(goal, lambda t, m=method: _off(truth, by_scipy(m, t).y[: model.nq, -1]))  # type: ignore[misc]
            if found is None:
                report.note(f"scipy {method} does not reach {goal:.0e} rad")
                continue
            rows.append([_label(method), *found, by_scipy(method, found[0]).nfev])
            names = {"f": by_scipy, "method": method, "tolerance": found[0]}
            contenders.append(Contender(_label(method), "f(method, tolerance)", names))
        columns = ["method", "tolerance", "error at the end [rad]", "evaluations"]
        report.table(f"{model.name}, {DURATION:g} s to {goal:.0e} rad", columns, rows)
        timings = measure(contenders, Plan(min(plan.rounds, 11), plan.seconds))
        # The fastest of the others counts.
        others = timings.labels[1:]
        best = min(others, key=timings.median)
        aims = [Aim(label, OURS, AIM if label == best else None) for label in others]
        report.timings(f"{model.name}, {DURATION:g} s, error {goal:.0e} rad", timings, aims)


def _label(method: str) -> str:
    return f"scipy {method} on pinocchio"


def _ours(model: ada.Model, q: Array, tolerance: float) -> Simulation:
    sim = Simulation(model, q, integrator="dop853", tolerance=tolerance, step=DURATION)
    sim.step()
    return sim


def _end(sim: Simulation) -> Array:
    return sim.q


def _off(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b)))


def _tolerances() -> Iterable[float]:
    return (10.0 ** (-3.0 - k / PER_DECADE) for k in range(10 * PER_DECADE + 1))


def _loosest(goal: float, error_of: Callable[[float], float]) -> tuple[float, float] | None:
    """The loosest tolerance that reaches the goal, and its error; the next one must reach it, too: no lucky hit."""
    before: tuple[float, float] | None = None
    for tolerance in _tolerances():
        error = error_of(tolerance)
        if error > goal:
            before = None
        elif before is not None:
            return before
        else:
            before = tolerance, error
    return None
