# SPDX-License-Identifier: Apache-2.0
"""Simulations: steps against MuJoCo, motions of equal accuracy against scipy, loops that stay closed, real time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.methods import IntegratorName
from benchmarks import peers, robots, simulation_accuracy, simulation_loops, simulation_use
from benchmarks.peers import MUJOCO
from benchmarks.report import Aim, Report
from benchmarks.simulation_peers import EULER, EVERY_ROW, RK4, MujocoMarch
from benchmarks.timing import Contender, Plan, measure

STEP = 1e-3  # [s]
COMPARED = 100  # steps, after which all must be at the same place
# Rounding grows in a falling arm; both write the same formulas down.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Case:
    """An arm, and the ratios of steps aimed at; None: shown only."""

    model: ada.Model
    explicit: float | None = None


# Ours, and what MuJoCo has of the same kind.
PAIRS: tuple[tuple[IntegratorName, str], ...] = (("semi_implicit", EULER), ("rk4", RK4), ("rkf45", RK4))


def run(report: Report, plan: Plan, quick: bool) -> None:
    """All parts; a quick run leaves out the hour and shortens the rest."""
    report.begin("simulation", "motions over time against MuJoCo, and scipy with pinocchio")
    report.note(
        "MuJoCo steps in a compiled loop around mj_step, without geoms, contacts, limits, sensors and actuators; "
        f"{_rows('')!r}: run() with its log, and mujoco.rollout, which keeps states alone"
    )
    full = robots.pa10(full=True).model()
    for case in (Case(ada.load("pa10"), explicit=10.0), Case(full))[: 1 if quick else 2]:
        _steps(case, report, plan, 50 if quick else 1000)
    simulation_accuracy.run(report, plan, quick)
    simulation_loops.run(report, plan, quick)
    simulation_use.run(report, quick)


def _steps(case: Case, report: Report, plan: Plan, steps: int) -> None:
    """Steps of an arm that falls, one after the other."""
    q = robots.random_states(case.model, 1)[0][0]
    others = [MujocoMarch(case.model, kind, STEP) for kind in (EULER, RK4)] if MUJOCO in peers.available() else []
    contenders = []
    for integrator, kind in PAIRS:
        sim = Simulation(case.model, q, integrator=integrator, step=STEP)
        for other in others:
            if other.kind == kind and integrator != "rkf45":
                sim.step(COMPARED)
                _agree(case.model, integrator, sim, other.states(q, COMPARED)[-1])
                sim.reset()
        contenders += _ours(sim, steps)
    for other in others:
        contenders += other.contenders(q, steps)
    timings = measure(contenders, plan)
    aims = [Aim(kind, _label(own), case.explicit if own == "rk4" else None) for own, kind in PAIRS]
    aims += [Aim(_rows(kind), _rows(_label(own))) for own, kind in PAIRS]
    title = f"{case.model.name}: a step of {STEP * 1e3:g} ms"
    report.timings(title, timings, aims)


def _label(integrator: str) -> str:
    return f"ada {integrator}"


def _rows(label: str) -> str:
    return f"{label}, {EVERY_ROW}" if label else EVERY_ROW


def _ours(sim: Simulation, steps: int) -> list[Contender]:
    """The compiled loop by itself, and `run`."""
    stepper = sim.context.integrator
    names = {"s": stepper, "x": stepper.x, "h": STEP, "n": steps, "sim": sim, "T": steps * STEP}
    label = _label(sim.method.name)
    return [
        Contender(label, "s.x = x; s.advance(0.0, 0, n, h, 0)", names, steps),
        Contender(_rows(label), "sim.reset(); sim.run(T)", names, steps),
    ]


def _agree(model: ada.Model, integrator: str, sim: Simulation, theirs: Array) -> None:
    """Stop where the same method has led to another place."""
    ours = np.concatenate([sim.q, sim.v])
    peers.insist(f"{model.name} after {COMPARED} steps of {integrator}", ours[None], theirs[None], AGREEMENT)
