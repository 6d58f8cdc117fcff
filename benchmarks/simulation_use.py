# SPDX-License-Identifier: Apache-2.0
"""Simulations in use: a robot on the ground in real time, what logs and recordings cost, sweeps, rollouts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.algorithms.kinematics import link_pose
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation import CompiledController, Contact, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.spatial.vector import Vec3
from ada_experiments import awa_simulators
from ada_experiments.awa_walk import khr1_walk, with_armature
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.scenario.scenario import settings_of
from benchmarks import peers, robots
from benchmarks.machine import resident_memory
from benchmarks.peers import MUJOCO
from benchmarks.report import Report
from benchmarks.simulation_peers import RK4, MujocoMarch
from benchmarks.timing import Contender, Plan, measure

STEP = 1e-3  # [s]
KP, KD = 5.0, 0.01  # [N m/rad], [N m s/rad]
REAL_TIME = 50.0
RUNS = 10_000
GROWTH = 1.02  # of memory over nine tenths of a sweep


def run(report: Report, quick: bool) -> None:
    """All parts."""
    _standing(report, quick)
    _rows_kept(report, quick)
    _rollouts(report, quick)
    _sweep(report, 30 if quick else RUNS)


def _medians(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Seconds of each, which runs once in a round."""
    contenders = [Contender(name, "f()", {"f": function}) for name, function in runs.items()]
    timings = measure(contenders, Plan(rounds, 0.0))
    return {name: timings.median(name) for name in runs}


# --- on the ground --------------------------------------------------------------------------------------------------
def _on_the_ground(model: ada.Model, contact: Contact) -> Array:
    """The neutral pose, with the lowest point of contact on the ground."""
    q = model.neutral()
    poses = {p.link: link_pose(model.tree, q.tolist(), p.link) for p in contact.points}
    heights = [poses[p.link].point(Vec3(*p.xyz))[2] for p in contact.points]
    q[2] -= min(map(float, heights))
    return q


def _held(q: Array) -> CompiledController:
    """A PD law that keeps the joints of a floating robot where they are."""
    wanted = q[7:].tolist()

    def law(t: Any, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        efforts = [-KP * (x - goal) - KD * speed for x, goal, speed in zip(q[7:], wanted, v[6:], strict=True)]
        return [0.0] * 6 + efforts

    return CompiledController(law)


def _standing(report: Report, quick: bool) -> None:
    """KHR-1 on both soles."""
    model = ada.load("khr1")
    contact = Contact.of_soles(model)
    q = _on_the_ground(model, contact)
    span = 0.05 if quick else 2.0
    rows = []
    integrators: tuple[IntegratorName, ...] = ("semi_implicit",) if quick else ("semi_implicit", "rk4")
    for integrator in integrators:
        step = STEP if integrator == "semi_implicit" else STEP / 10.0  # contacts are stiff
        sim = Simulation(model, q, controller=_held(q), integrator=integrator, step=step, contact=contact)

        def steps(sim: Simulation = sim) -> None:
            sim.reset()
            sim.step(round(span / sim.step_length))

        def logged(sim: Simulation = sim) -> None:
            sim.reset()
            sim.run(span)

        found = _medians({"steps": steps, "logged": logged}, 1 if quick else 7)
        factors = {name: span / seconds for name, seconds in found.items()}
        sunk = abs(float(sim.q[2] - q[2]))
        rows.append([integrator, step * 1e3, factors["steps"], factors["logged"], sunk * 1e3])
        if integrator == "semi_implicit":
            for name, what in (("steps", "steps"), ("logged", "run(), all rows kept")):
                report.aim(f"KHR-1 on its soles: {what}", factors[name], REAL_TIME, "x real time", at_least=True)
    columns = ["integrator", "step [ms]", "steps, x real time", "run(), x real time", "sunk [mm]"]
    title = f"KHR-1 ({model.nv} velocities, {len(contact.points)} points of contact) stands under a compiled PD law"
    report.table(title, columns, rows)
    if not quick:
        report.note(f"KHR-1 walks as in A2, under PID control in Python each millisecond: {_walking():.0f} x real time")


def _walking() -> float:
    """Real-time factor of the walk of Awa 2009 with soft stops, a row for every fourth step."""
    scenario = scenarios.load("A2")
    part = settings_of(scenario, awa_simulators.KNOWN)
    chosen = awa_simulators.read_settings(part)
    model = with_armature(ada.load(part.text("robot")), chosen.armature)
    walk, contact = khr1_walk(model), awa_simulators.soles(model, chosen)
    logs = [awa_simulators.walk_here(model, walk, contact, chosen)[1] for _ in range(2)]  # the first one may compile
    return float(logs[-1].info["real_time_factor"])


# --- rows -----------------------------------------------------------------------------------------------------------
def _rows_kept(report: Report, quick: bool) -> None:
    """What a row of the log costs, in memory and in a recording."""
    table = []
    count = 100 if quick else 3000
    for name in ("pa10", "khr1"):
        model = ada.load(name)
        sim = Simulation(model, robots.random_states(model, 1)[0][0], step=STEP)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.mcap"
            found = _medians(_ways_to_keep(sim, count, path), 1 if quick else 7)
            size = path.stat().st_size / count
        each = {key: 1e6 * seconds / count for key, seconds in found.items()}
        table.append([name, each["none"], each["log"] - each["none"], each["recorded"] - each["none"], size])
    columns = ["robot", "step [us]", "log [us per row]", "MCAP [us per row]", "MCAP [bytes per row]"]
    report.table("rows: a step of rkf45, and what it costs to keep it", columns, table)


def _ways_to_keep(sim: Simulation, count: int, path: Path) -> dict[str, Callable[[], Any]]:
    """The same steps with their rows thrown away, kept in memory, and recorded."""

    def steps() -> None:
        sim.reset()
        sim.step(count)

    def logged() -> None:
        sim.reset()
        sim.run(count * STEP)

    def recorded() -> None:
        sim.reset()
        sim.run(count * STEP, record=path, keep=False)

    return {"none": steps, "log": logged, "recorded": recorded}


# --- many ----------------------------------------------------------------------------------------------------------
def _rollouts(report: Report, quick: bool) -> None:
    """Many starts side by side, a row of every step, one thread."""
    count, steps = (8, 10) if quick else (256, 100)
    model = ada.load("pa10")
    q = robots.random_states(model, count)[0]
    sim = Simulation(model, integrator="rk4", step=STEP)
    runs: dict[str, Callable[[], Any]] = {"ada rk4": lambda: sim.rollout(q, None, steps * STEP)}
    if MUJOCO in peers.available():
        from mujoco import rollout

        other = MujocoMarch(model, RK4, STEP)
        start = np.hstack([np.zeros((count, 1)), q, np.zeros((count, model.nv))])
        runs[RK4] = lambda: rollout.rollout(other.model, other.data, start, nstep=steps)
        theirs, _ = runs[RK4]()
        ours = sim.rollout(q, None, steps * STEP)
        peers.insist("rollouts", np.hstack([ours.q[:, -1], ours.v[:, -1]]), theirs[:, -1, 1:], 1e-7)
    found = _medians(runs, 1 if quick else 9)
    table = [[name, 1e6 * seconds / (count * steps)] for name, seconds in found.items()]
    report.table(f"{model.name}: {count} starts side by side, {steps} steps, all rows", ["by", "us per step"], table)
    if RK4 in found:
        report.aim("rollouts: MuJoCo / ada", found[RK4] / found["ada rk4"], 10.0, "x", at_least=True)


def _sweep(report: Report, runs: int) -> None:
    """Three rods fall from many starts."""
    found = sweep.load(
        {
            "scenario": "T3.1",
            "with": {"simulation.duration": "100 ms"},
            "parameters": {"start.joints.joint_1": {"uniform": ["90 deg", "180 deg"]}},
            "random": {"count": runs, "seed": 1},
            "measures": ["energy_drift"],
        }
    )
    table = []
    for executor in ("threads", "local"):
        memory: dict[float, float] = {}

        def look(share: float, text: str, memory: dict[float, float] = memory) -> None:
            memory[share] = resident_memory() / 1e6

        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            result = sweep.run_sweep(found, folder, executor, 1, look)
            seconds = time.perf_counter() - began
        early, late = (_at(memory, share) for share in (0.1, 1.0))
        table.append([executor, result.done, runs / seconds, early, late])
        if result.done != runs:
            raise AdaError(f"sweep: {result.failed} of {runs} runs failed.")
        if executor == "threads" and early == early:  # all is in this process, the work as well
            report.aim(f"sweep of {runs} runs: memory at the end / at a tenth", late / early, GROWTH, "x")
    columns = ["executor, one worker", "runs", "runs per second", "MB at a tenth", "MB at the end"]
    report.table(f"sweep of {runs} runs of 100 steps", columns, table)


def _at(memory: dict[float, float], share: float) -> float:
    """At the share that is nearest."""
    return memory[min(memory, key=lambda known: abs(known - share))] if memory else float("nan")
