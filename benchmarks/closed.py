# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops: forward dynamics against pinocchio (constraintDynamics, lcaba) and MuJoCo."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.expr import cost
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.cache import without_cache
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from benchmarks import peers, robots
from benchmarks.peers import LCABA, MUJOCO, ONE_STEP, PINOCCHIO, ClosedPinocchio, Mujoco, result_of
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Schedule, batch_by_address, measure, rows_in_turn

States = tuple[Array, Array, Array]
CALL = "ada forward"
NATIVE, KERNEL, ROWS = "ada native", "ada kernel, columns", "ada forward, rows"
FEW = 64  # different states; a batch repeats them
# Loops multiply rounding by their condition number, 1e5 for the ladder; loops of a batch are closed to 1e-13.
AGREEMENT = 1e-8


@dataclass(frozen=True)
class Case:
    """A mechanism and its target ratios; None: the ratio is only shown."""

    make: Callable[[], Mechanism]
    call: float | None = None
    native: float | None = None
    batch: float | None = None
    reach: float = 0.2  # distance of the states from the start [rad, m]


CASES = (
    Case(mechanisms.four_bar, call=25.0, native=50.0, batch=300.0),
    Case(robots.four_bar_2_1, call=25.0, native=50.0, batch=300.0),
    Case(partial(robots.of_catalogue, "slider_crank")),
    Case(mechanisms.five_bar),
    Case(mechanisms.hexa, native=25.0, batch=100.0),
    Case(robots.rus6, native=25.0, batch=100.0),
    Case(partial(mechanisms.ladder, 10), native=40.0, reach=0.05),
    Case(partial(robots.of_catalogue, "two_feet"), native=8.0, batch=40.0),
    Case(mechanisms.stewart),
    Case(mechanisms.delta),
)
COLUMNS = [
    "mechanism", "nv", "constraints", "elimination", "flops", "sincos", "divisions", "guards", "set-up s",
    "one state s", "batch s",
]  # fmt: skip


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Compare all mechanisms."""
    report.begin("closed", "mechanisms with loops against pinocchio (constraintDynamics, lcaba) and MuJoCo")
    report.note(
        "pinocchio has no constraintDynamicsInParallel: its call from Python is also compared with the native loop and "
        "the batch"
    )
    rows = [_compare(case, report, schedule, 256 if quick else 4096) for case in (CASES[:1] if quick else CASES)]
    report.table("kernels, and processor seconds until they run", COLUMNS, rows)
    report.note("set-up: analysis of loops and elimination orders; then tracing and compiling; without a cache")


def _compare(case: Case, report: Report, schedule: Schedule, count: int) -> list[object]:
    """Check that all engines agree on a mechanism, then time them; a row of the table of kernels."""
    model, start = case.make()
    dynamics = ada.Dynamics(model, q0=start)
    kernel = kernel_of(dynamics, "forward")
    assert isinstance(kernel, Kernel)
    few = states_on_loops(dynamics, start, case.reach)
    q, v, tau = few
    one = q[0].copy(), v[0].copy(), tau[0].copy()
    q, v, tau = (np.tile(x, (count // FEW, 1)) for x in few)
    many = q, v, tau
    engines = peers.available()
    pin = ClosedPinocchio(model) if PINOCCHIO in engines else None
    mujoco = Mujoco.of(model) if MUJOCO in engines else None
    others = pin.contenders(*one) if pin else []
    _check(dynamics, few, pin, others, report)
    ours = ada.Dynamics(model, q0=start)
    ours.forward(*one)  # compiles; from now on `forward` is a builtin
    dynamics.forward(*many)
    q_v_tau = ("q", "v", "tau")
    single = {"f": ours.forward, "keep": ours, **dict(zip(q_v_tau, one, strict=True))}
    rows = {"f": dynamics.forward, **dict(zip(q_v_tau, many, strict=True))}
    contenders = [
        Contender(CALL, "f(q, v, tau)", single),
        rows_in_turn(NATIVE, kernel, few, 20),
        batch_by_address(KERNEL, kernel, many),
        Contender(ROWS, "f(q, v, tau)", rows, len(many[0])),
        *others,
        *([mujoco.single(*one)] if mujoco else []),
    ]
    limits = {CALL: case.call, NATIVE: case.native, KERNEL: case.batch, ROWS: case.batch}
    aims = [Aim(PINOCCHIO, own, limit) for own, limit in limits.items()]
    aims += [Aim(slow, NATIVE) for slow in (ONE_STEP, LCABA, MUJOCO)]
    report.timings(model.name, measure(contenders, schedule), aims)
    return _kernel_row(dynamics, start)


def _check(
    dynamics: ada.Dynamics, states: States, pin: ClosedPinocchio | None, others: list[Contender], report: Report
) -> None:
    name = dynamics.model.name
    ours = np.array([dynamics.forward(*row) for row in zip(*states, strict=True)])
    peers.require_agreement(f"{name}: batch against single states", dynamics.forward(*states), ours, AGREEMENT)
    if pin is None:
        return
    worst = peers.require_agreement(f"{name} against pinocchio", ours, pin.forward(*states), AGREEMENT)
    found = [f"pinocchio {worst:.0e}"]
    for other in others:
        tolerance = np.inf if other.label == LCABA else AGREEMENT
        worst = peers.require_agreement(f"{name} against {other.label}", result_of(other)[None], ours[:1], tolerance)
        found.append(f"{other.label} as timed {worst:.0e}")
    report.note(f"{name}: largest relative differences: {', '.join(found)}")


def _kernel_row(dynamics: ada.Dynamics, start: Array) -> list[object]:
    """Operations of a kernel, and seconds of its first use without a cache."""
    model = dynamics.model
    with without_cache():
        begin = time.process_time()
        fresh = kernel_of(ada.Dynamics(model, q0=start), "forward")
        assert isinstance(fresh, Kernel)
        seconds = [time.process_time() - begin]
        for kind in ("single", "batch"):
            begin = time.process_time()
            fresh.prepare(kind)
            seconds.append(time.process_time() - begin)
    function = fresh.function
    of, mobility = cost(function), dynamics.constraints.state(start).mobility
    order = function.name.removeprefix("closed_").rpartition("_")[0].replace("_", " ")
    counts = [of.flops, of.sincos_pairs, of.divisions, len(function.guards)]
    return [model.name, model.nv, model.nv - mobility, order, *counts, *seconds]


def states_on_loops(dynamics: ada.Dynamics, start: Array, reach: float, count: int = FEW) -> States:
    """States near the start with closed loops, and with velocities that keep them closed."""
    model = dynamics.model
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        _, away = dynamics.project_to_constraints(start, rng.normal(size=model.nv))
        step = reach * away / np.max(np.abs(away))
        found.append(dynamics.project_to_constraints(model.integrate(start, step), rng.normal(size=model.nv)))
    q, v = (np.array(x) for x in zip(*found, strict=True))
    return q, v, rng.normal(size=v.shape) * 3.0
