# SPDX-License-Identifier: Apache-2.0
"""Loops over time: how far they open, how the energy drifts and what a step costs, against pinocchio and MuJoCo."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from benchmarks import peers
from benchmarks.peers import MUJOCO, PINOCCHIO
from benchmarks.report import Report
from benchmarks.simulation_peers import EULER, RK4, MujocoMarch, closed_forward, euler, rk4, with_points
from benchmarks.timing import Contender, Plan, Timings, measure

STEP, DURATION = 1e-3, 10.0  # [s]
LENGTHS = (0.4, 0.8, 0.7, 0.9)  # [m]; rods of 1 kg
CRANK = 0.64969  # [rad], so that the energy is -1.48 J
HOUR = 3600.0  # [s]
STIFF = 0.002  # [s], time constant of MuJoCo's loops: two steps, the least that it allows
BAUMGARTE = 1000.0  # [1/s²]
TIMED = 1000  # steps
COARSE = 20  # steps of 1 ms to a row of dop853, which takes its own between rows
INTEGRATORS: tuple[IntegratorName, ...] = ("semi_implicit", "rk4", "rkf45", "dop853")


@dataclass(frozen=True)
class Row:
    """A simulator with its setting, and what came of it."""

    label: str
    setting: str
    gap: float  # largest [m]
    energy: float  # largest error [J]


def run(report: Report, plan: Plan, quick: bool) -> None:
    """The four-bar for ten seconds, the rhombus for an hour."""
    _four_bar(report, plan, 100 if quick else round(DURATION / STEP))
    if not quick:
        _hour(report)


def _four_bar(report: Report, plan: Plan, steps: int) -> None:
    model, q = four_bar(LENGTHS, crank=CRANK, crossed=True)
    rows: list[Row] = []
    contenders: list[Contender] = []
    for integrator in INTEGRATORS:
        row, contender = _ours(model, q, integrator, steps)
        rows.append(row)
        contenders.append(contender)
    own = [row.label for row in rows]
    engines = peers.available()
    if PINOCCHIO in engines:
        _add(_pinocchio(model, q, steps), rows, contenders)
    if MUJOCO in engines:
        _add(_mujoco(model, q, steps), rows, contenders)
    timings = measure(contenders, plan)
    table = [[row.label, row.setting, row.gap, row.energy, 1e6 * timings.median(row.label)] for row in rows]
    columns = ["simulator", "setting", "largest gap [m]", "energy error [J]", "us per ms"]
    report.table(f"four-bar {LENGTHS} m, free swing of {steps * STEP:g} s, steps of 1 ms", columns, table)
    report.note("pinocchio's times are those of its calls from Python alone; those of the others are of whole steps")
    others = [row for row in rows if row.label not in own]
    if others:
        _aims(report, [row for row in rows if row.label in own], others, timings)


def _add(found: list[tuple[Row, Contender]], rows: list[Row], contenders: list[Contender]) -> None:
    rows += [row for row, _ in found]
    contenders += [contender for _, contender in found]


def _aims(report: Report, ours: list[Row], others: list[Row], timings: Timings) -> None:
    """Ours against the best that any other has of each."""
    gap, energy = min(row.gap for row in others), min(row.energy for row in others)
    fastest = min((row.label for row in others), key=timings.median)
    for row in ours:
        what = f"four-bar, {row.label}"
        report.aim(f"{what}: smallest gap of the others / ours", gap / max(row.gap, 1e-17), 1.0, "x", at_least=True)
        report.aim(
            f"{what}: fastest of the others ({fastest}) / ours",
            timings.ratio(fastest, row.label),
            1.0,
            "x",
            at_least=True,
        )
        if row.label != _label("semi_implicit"):  # of first order: its energy swings, in all simulators
            ratio = energy / max(row.energy, 1e-17)
            report.aim(f"{what}: smallest energy error of the others / ours", ratio, 1.0, "x", at_least=True)


def _label(integrator: str) -> str:
    return f"ada {integrator}"


def _judged(label: str, setting: str, model: ada.Model, states: Array, q: Array) -> Row:
    """Gap and energy of rows [q, v] that follow a start at rest, by one and the same code for all."""
    rows = np.vstack([np.concatenate([q, np.zeros(model.nv)]), states])
    log = Log(model, np.arange(len(rows), dtype=float), rows[:, : model.nq], rows[:, model.nq :])
    total = log.total_energy
    return Row(label, setting, float(log.loop_gap.max()), float(np.max(np.abs(total - total[0]))))


def _ours(model: ada.Model, q: Array, integrator: IntegratorName, steps: int) -> tuple[Row, Contender]:
    adaptive = integrator == "dop853"
    rows = COARSE if adaptive else 1
    sim = Simulation(model, q, integrator=integrator, step=rows * STEP, tolerance=1e-13)
    log = sim.run(steps * STEP)
    setting = f"1e-13, a row every {rows} ms" if adaptive else ""
    row = _judged(_label(integrator), setting, model, np.hstack([log.q, log.v])[1:], q)
    sim.reset()
    names = {"s": sim.context.integrator, "x": sim.context.integrator.x, "h": STEP, "n": TIMED}
    if adaptive:
        call = f"s.restart(x); s.advance_adaptively(0.0, 0, n // {rows}, {rows} * h)"
    else:
        call = "s.x = x; s.advance(0.0, 0, n, h, 0)"
    return row, Contender(row.label, call, names, TIMED)


def _pinocchio(model: ada.Model, q: Array, steps: int) -> list[tuple[Row, Contender]]:
    """Its dynamics, in integrators that are written in Python; one call is timed, as often as a step needs it."""
    made = []
    start = np.concatenate([q, np.zeros(model.nv)])
    for algorithm in ("constraintDynamics", "lcaba"):
        for stiffness in (0.0, BAUMGARTE):
            for name, march, calls in (("Euler", euler, 1), ("RK4", rk4, 4)):
                forward, call = closed_forward(model, algorithm, stiffness)
                states = march(forward, q, STEP, steps)
                label = f"pinocchio {algorithm}, {name}, Kp {stiffness:g}"
                row = _judged(label, "", model, states, q)
                names = {**call.names, "q": start[: model.nq].copy(), "v": start[model.nq :].copy()}
                repeated = "; ".join([call.statement] * calls)
                made.append((row, Contender(label, repeated, names)))
    return made


def _mujoco(model: ada.Model, q: Array, steps: int) -> list[tuple[Row, Contender]]:
    """Its steps; the loop is one point that is held, which is all that a plane needs."""
    made = []
    model = with_points(model)
    for kind in (EULER, RK4):
        for solref in (None, STIFF):
            engine = MujocoMarch(model, kind, STEP, solref)
            states = engine.states(q, steps)
            label = f"{kind}, solref {'default' if solref is None else solref}"
            contender = engine.contenders(q, min(steps, TIMED))[0]
            row = _judged(label, "", model, states, q)
            made.append((row, Contender(label, contender.statement, contender.names, contender.states)))
    return made


def _hour(report: Report) -> None:
    """The rhombus of fig. 3.9 swings for an hour."""
    model, q = four_bar()
    rows = []
    for integrator in ("rk4", "rkf45", "dop853"):
        step = STEP if integrator != "dop853" else COARSE * STEP
        sim = Simulation(model, q, integrator=integrator, step=step, tolerance=1e-13, log_every=round(1.0 / step))
        began = time.process_time()
        log = sim.run(HOUR)
        seconds = time.process_time() - began
        gap = float(log.loop_gap.max())
        rows.append([_label(integrator), gap, log.energy_drift, seconds, HOUR / seconds])
        report.aim(f"rhombus, an hour by {integrator}: largest gap", gap, 1e-10, "m")
    columns = [
        "integrator",
        "largest gap [m]",
        "energy drift (share of the swing)",
        "seconds of computing",
        "x real time",
    ]
    report.table("rhombus, one hour of motion, steps of 1 ms", columns, rows)
