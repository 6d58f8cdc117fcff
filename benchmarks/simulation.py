# SPDX-License-Identifier: Apache-2.0
"""Simulations: steps against MuJoCo, motions of equal accuracy against scipy, loops that stay closed, an hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from ada_experiments.pinocchio_model import PinocchioModel
from benchmarks import peers, robots
from benchmarks.peers import EULER, MUJOCO, PINOCCHIO, RK4, ClosedPinocchio, Mujoco
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Schedule, Timings, measure

STEP = 1e-3  # [s]
COMPARED = 100  # steps before states are compared
AGREEMENT = 1e-9  # rounding grows in a falling arm
PAIRS: tuple[tuple[IntegratorName, str], ...] = (("semi_implicit", EULER), ("rk4", RK4), ("rkf45", RK4))
DURATION = 3.0  # [s]
GOAL = 1e-9  # largest error of an angle at the end [rad]
AIM = 30.0
PER_DECADE = 4  # tolerances to try
ACCURATE, BY_SCIPY = "ada dop853", "scipy DOP853 on pinocchio"
SWING = 10.0  # [s]
LENGTHS = (0.4, 0.8, 0.7, 0.9)  # [m]; rods of 1 kg
CRANK = 0.64969  # [rad], so that the energy is -1.48 J
STIFF = 0.002  # [s], time constant of MuJoCo's loops: two steps, its lower limit
BAUMGARTE = 1000.0  # [1/s²]
TIMED = 1000  # steps
COARSE = 20  # steps of 1 ms per row of dop853, which chooses its own between rows
INTEGRATORS: tuple[IntegratorName, ...] = ("semi_implicit", "rk4", "rkf45", "dop853")
HOUR = 3600.0  # [s]


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """All parts; a quick run omits the hour and shortens the rest."""
    report.begin("simulation", "motions over time against MuJoCo, and scipy with pinocchio")
    report.note(
        "MuJoCo steps in a compiled loop around mj_step, without geoms, contacts, limits, sensors and actuators"
    )
    _steps(ada.load("pa10"), 10.0, report, schedule, 50 if quick else 1000)
    if not quick:
        _steps(robots.pa10(full=True), None, report, schedule, 1000)
    if PINOCCHIO in peers.available():
        _equal_accuracy(report, schedule, 1e-6 if quick else GOAL)
    _four_bar(report, schedule, 100 if quick else round(SWING / STEP))
    if not quick:
        _hour(report)


def _label(integrator: str) -> str:
    return f"ada {integrator}"


# --- steps of an arm ------------------------------------------------------------------------------------------------
def _steps(model: ada.Model, goal: float | None, report: Report, schedule: Schedule, steps: int) -> None:
    """Steps of a falling arm; the goal is the ratio of RK4."""
    q = robots.random_states(model, 1)[0][0]
    others = [Mujoco(model, kind, STEP) for kind in (EULER, RK4)] if MUJOCO in peers.available() else []
    contenders = []
    for integrator, kind in PAIRS:
        sim = Simulation(model, q, integrator=integrator, step=STEP)
        for other in others:
            if other.kind == kind and integrator != "rkf45":
                sim.step(COMPARED)
                ours, theirs = np.concatenate([sim.q, sim.v]), other.states(q, COMPARED)[-1]
                what = f"{model.name} after {COMPARED} steps of {integrator}"
                peers.require_agreement(what, ours[None], theirs[None], AGREEMENT)
                sim.reset()
        contenders.append(_compiled_steps(sim, steps))
    for other in others:
        contenders.append(other.steps(q, steps))
    aims = [Aim(kind, _label(own), goal if own == "rk4" else None) for own, kind in PAIRS]
    report.timings(f"{model.name}: a step of {STEP * 1e3:g} ms", measure(contenders, schedule), aims)


def _compiled_steps(sim: Simulation, steps: int) -> Contender:
    """The compiled loop of an integrator with fixed steps."""
    integrator = sim.context.integrator
    names = {"s": integrator, "x": integrator.x, "h": STEP, "n": steps}
    return Contender(_label(sim.method.name), "s.x = x; s.advance(0.0, 0, n, h, 0)", names, steps)


# --- three seconds of the planar chain of Takahashi 2012, sec. 4.4.1 ------------------------------------------------
def _equal_accuracy(report: Report, schedule: Schedule, goal: float) -> None:
    """Compare with scipy and pinocchio, with the loosest tolerances that reach a goal."""
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        report.note(f"scipy is not installed: equal accuracy is omitted ({how_to_install('tools')})")
        return
    model = ada.load("planar_7r")
    q = np.zeros(model.nq)
    q[0] = np.pi / 2.0
    rate, x = _rate(model), np.concatenate([q, np.zeros(model.nv)])

    def ours(tolerance: float) -> Simulation:
        sim = Simulation(model, q, integrator="dop853", tolerance=tolerance, step=DURATION)
        sim.step()
        return sim

    def by_scipy(tolerance: float) -> Any:
        return solve_ivp(rate, (0.0, DURATION), x, method="DOP853", rtol=tolerance, atol=tolerance)

    truth = ours(1e-14).q

    def error(angles: Array) -> float:
        return float(np.max(np.abs(angles - truth)))

    other = error(by_scipy(1e-13).y[: model.nq, -1])
    report.note(f"{model.name}, {DURATION:g} s: reference angles, ours and scipy's, differ by {other:.0e}")
    found = _loosest(goal, lambda tolerance: error(ours(tolerance).q))
    theirs = _loosest(goal, lambda tolerance: error(by_scipy(tolerance).y[: model.nq, -1]))
    sim = ours(found[0])
    counts = sim.context.integrator.counts
    rows = [
        [ACCURATE, *found, 12 * (counts.steps + counts.refused)],
        [BY_SCIPY, *theirs, by_scipy(theirs[0]).nfev],
    ]
    columns = ["method", "tolerance", "error at the end [rad]", "evaluations"]
    report.table(f"{model.name}, {DURATION:g} s to {goal:.0e} rad", columns, rows)
    contenders = [
        Contender(ACCURATE, "sim.reset(); sim.step()", {"sim": sim}),
        Contender(BY_SCIPY, "f(tolerance)", {"f": by_scipy, "tolerance": theirs[0]}),
    ]
    timings = measure(contenders, Schedule(min(schedule.rounds, 11), schedule.seconds))
    report.timings(f"{model.name}, {DURATION:g} s, error {goal:.0e} rad", timings, [Aim(BY_SCIPY, ACCURATE, AIM)])


def _rate(model: ada.Model) -> Callable[[float, Array], Array]:
    """ẋ of x = [q, v] by pinocchio's aba; joints of one coordinate each."""
    other = PinocchioModel(model)
    pin, inside, data, nq = other.pin, other.model, other.model.createData(), model.nq
    tau = np.zeros(nq)

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[nq:], pin.aba(inside, data, x[:nq], x[nq:], tau)])

    return rate


def _loosest(goal: float, error_of: Callable[[float], float]) -> tuple[float, float]:
    """The loosest tolerance that reaches the goal, and its error; the next one must reach it, too."""
    before: tuple[float, float] | None = None
    for k in range(10 * PER_DECADE + 1):
        tolerance = 10.0 ** (-3.0 - k / PER_DECADE)
        error = error_of(tolerance)
        if error > goal:
            before = None
        elif before is not None:
            return before
        else:
            before = tolerance, error
    raise AdaError(f"no tolerance reaches {goal:.0e} rad.")


# --- loops over time ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Row:
    """A simulator with its setting and errors, and a contender to time."""

    label: str
    setting: str
    gap: float  # largest constraint violation [m]
    energy: float  # largest error [J]
    contender: Contender


def _four_bar(report: Report, schedule: Schedule, steps: int) -> None:
    model, q = four_bar(LENGTHS, crank=CRANK, crossed=True)
    ours = [_by_ada(model, q, integrator, steps) for integrator in INTEGRATORS]
    engines = peers.available()
    others = _by_pinocchio(model, q, steps) if PINOCCHIO in engines else []
    others += _by_mujoco(model, q, steps) if MUJOCO in engines else []
    rows = [*ours, *others]
    timings = measure([row.contender for row in rows], schedule)
    table = [[row.label, row.setting, row.gap, row.energy, 1e6 * timings.median(row.label)] for row in rows]
    columns = ["simulator", "setting", "largest gap [m]", "energy error [J]", "us per ms"]
    report.table(f"four-bar {LENGTHS} m, free swing of {steps * STEP:g} s, steps of 1 ms", columns, table)
    report.note("pinocchio's times are those of its calls from Python alone; those of the others are of whole steps")
    if others:
        _aims(report, ours, others, timings)


def _aims(report: Report, ours: Sequence[Row], others: Sequence[Row], timings: Timings) -> None:
    """Compare with the best of all others in each property."""
    gap, energy = min(row.gap for row in others), min(row.energy for row in others)
    fastest = min((row.label for row in others), key=timings.median)
    for row in ours:
        ratios = {
            "smallest gap of the others": gap / max(row.gap, 1e-17),
            f"fastest of the others ({fastest})": timings.ratio(fastest, row.label),
            "smallest energy error of the others": energy / max(row.energy, 1e-17),
        }
        if row.label == _label("semi_implicit"):  # of first order: its energy oscillates in all simulators
            ratios.popitem()
        for what, ratio in ratios.items():
            report.aim(f"four-bar, {row.label}: {what} / ours", ratio, 1.0, "x", at_least=True)


def _judged(setting: str, model: ada.Model, states: Array, q: Array, contender: Contender) -> Row:
    """Errors of rows [q, v] after a start at rest, computed in the same way for all simulators."""
    rows = np.vstack([np.concatenate([q, np.zeros(model.nv)]), states])
    log = Log(model, np.arange(len(rows), dtype=float), rows[:, : model.nq], rows[:, model.nq :])
    total = log.total_energy
    energy = float(np.max(np.abs(total - total[0])))
    return Row(contender.label, setting, float(log.loop_gap.max()), energy, contender)


def _by_ada(model: ada.Model, q: Array, integrator: IntegratorName, steps: int) -> Row:
    is_adaptive = integrator == "dop853"
    each = COARSE if is_adaptive else 1
    sim = Simulation(model, q, integrator=integrator, step=each * STEP, tolerance=1e-13)
    log = sim.run(steps * STEP)
    sim.reset()
    contender, setting = _compiled_steps(sim, TIMED), ""
    if is_adaptive:
        setting = f"1e-13, a row every {each} ms"
        call = f"s.restart(x); s.advance(0.0, 0, n // {each}, {each} * h)"
        contender = replace(contender, statement=call)
    return _judged(setting, model, np.hstack([log.q, log.v])[1:], q, contender)


def _by_pinocchio(model: ada.Model, q: Array, steps: int) -> list[Row]:
    """Time of its dynamics in integrators written in Python: one call, times the calls of a step."""
    made = []
    engine, zero = ClosedPinocchio(model), np.zeros(model.nv)
    for algorithm in ("constraintDynamics", "lcaba"):
        for kp in (0.0, BAUMGARTE):
            call = engine.contender("", algorithm, q, zero, zero, (1e-8, 50), kp)
            forward = eval("lambda q, v: " + call.statement, dict(call.names))
            for name, march, calls in (("Euler", _euler, 1), ("RK4", _rk4, 4)):
                states = march(forward, q, STEP, steps)
                label = f"pinocchio {algorithm}, {name}, Kp {kp:g}"
                timed = replace(call, label=label, statement="; ".join([call.statement] * calls))
                made.append(_judged("", model, states, q, timed))
    return made


def _by_mujoco(model: ada.Model, q: Array, steps: int) -> list[Row]:
    """Steps of MuJoCo; the loop holds a point, which is sufficient in a plane and the least work."""
    parts = Parts.of(model)
    for name, loop in parts.loops.items():
        parts.loops[name] = replace(loop, kind="spherical")
    points, made = parts.build(), []
    for kind in (EULER, RK4):
        for solref in (None, STIFF):
            engine = Mujoco(points, kind, STEP, solref)
            label = f"{kind}, solref {'default' if solref is None else solref}"
            made.append(_judged("", points, engine.states(q, steps), q, engine.steps(q, min(steps, TIMED), label)))
    return made


def _euler(forward: Callable[[Array, Array], Array], q: Array, h: float, steps: int) -> Array:
    """Rows [q, v] from rest by v⁺ = v + h a, q⁺ = q + h v⁺."""
    v = np.zeros(len(q))
    rows = []
    for _ in range(steps):
        v = v + h * forward(q, v)
        q = q + h * v
        rows.append(np.concatenate([q, v]))
    return np.array(rows)


def _rk4(forward: Callable[[Array, Array], Array], q: Array, h: float, steps: int) -> Array:
    """Rows [q, v] from rest by the classical method."""
    n = len(q)
    x = np.concatenate([q, np.zeros(n)])
    rows = []

    def rate(x: Array) -> Array:
        return np.concatenate([x[n:], forward(x[:n], x[n:])])

    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        rows.append(x)
    return np.array(rows)


def _hour(report: Report) -> None:
    """The rhombus of Takahashi 2012, fig. 3.9, swings for an hour."""
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
    columns = ["integrator", "largest gap [m]", "energy drift (share of the swing)", "seconds of computing"]
    report.table("rhombus, one hour of motion, steps of 1 ms", [*columns, "x real time"], rows)
