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
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.expr import cost
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.cache import without_cache
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from benchmarks import peers, robots
from benchmarks.closed_peers import LCABA, ONE_STEP, ClosedMujoco, ClosedPinocchio, result_of
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.peers import MUJOCO, PINOCCHIO
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Plan, measure

States = tuple[Array, Array, Array]
CALL = "ada forward"
NATIVE, KERNEL, ROWS = "ada native", "ada kernel, columns", "ada forward, rows"
FEW = 64  # different states; a batch repeats them
# Loops multiply rounding by their condition number, 1e5 for the ladder; loops of a batch are closed to 1e-13.
AGREEMENT = 1e-8


@dataclass(frozen=True)
class Case:
    """A mechanism and the ratios aimed at; None: shown only."""

    make: Callable[[], Mechanism]
    call: float | None = None
    native: float | None = None
    batch: float | None = None
    reach: float = 0.2  # how far states are from the start [rad, m]


CASES = (
    Case(mechanisms.four_bar, call=25.0, native=50.0, batch=300.0),
    Case(robots.four_bar_2_1, call=25.0, native=50.0, batch=300.0),
    Case(mechanisms.slider_crank),
    Case(mechanisms.five_bar),
    Case(mechanisms.hexa, native=25.0, batch=100.0),
    Case(robots.rus6, native=25.0, batch=100.0),
    Case(partial(mechanisms.ladder, 10), native=40.0, reach=0.05),
    Case(mechanisms.two_feet, native=8.0, batch=40.0),
    Case(mechanisms.stewart),
    Case(mechanisms.delta),
)


def run(report: Report, plan: Plan, quick: bool) -> None:
    """All mechanisms."""
    report.begin("closed", "mechanisms with loops against pinocchio (constraintDynamics, lcaba) and MuJoCo")
    report.note(
        "pinocchio has nothing like constraintDynamicsInParallel: its call from Python is compared with all of ours, "
        "the native loop and the batch, too"
    )
    rows = []
    for case in CASES[:1] if quick else CASES:
        rows.append(_Comparison(case, report, plan, 256 if quick else 4096).run())
    columns = ["mechanism", "nv", "conditions", "elimination", "flops", "sincos", "divisions", "guards"]
    columns += ["set-up s", "one state s", "batch s"]
    report.table("kernels, and processor seconds until they run", columns, rows)
    report.note("set-up: loops studied, orders of elimination found and compared; then tracing and compiling; no cache")


class _Comparison:
    """One mechanism."""

    def __init__(self, case: Case, report: Report, plan: Plan, batch: int) -> None:
        self.case, self.report, self.plan = case, report, plan
        self.model, self.start = case.make()
        self.dynamics = ada.Dynamics(self.model, q0=self.start)
        kernel = kernel_of(self.dynamics, "forward")
        assert isinstance(kernel, Kernel)
        self.kernel = kernel
        self.few = _states(self.dynamics, self.start, case.reach)
        q, v, tau = (np.tile(x, (batch // FEW, 1)) for x in self.few)
        self.many = q, v, tau
        engines = peers.available()
        self.pin = ClosedPinocchio(self.model) if PINOCCHIO in engines else None
        self.mujoco = ClosedMujoco.of(self.model) if MUJOCO in engines else None

    def run(self) -> list[object]:
        """Check that all agree, then time; a row of the table of kernels."""
        others = self._others()
        self._agree(others)
        self._time(others)
        return self._kernel_row()

    def _forward(self, states: States) -> Array:
        q, v, tau = states
        return self.dynamics.forward(q, v, tau)

    def _others(self) -> list[Contender]:
        q, v, tau = (x[0].copy() for x in self.few)
        made = self.pin.contenders(q, v, tau) if self.pin else []
        return [*made, self.mujoco.contender(q, v, tau)] if self.mujoco else made

    def _agree(self, others: list[Contender]) -> None:
        name = self.model.name
        ours = np.array([self.dynamics.forward(*row) for row in zip(*self.few, strict=True)])
        peers.insist(f"{name}: batch against single states", self._forward(self.few), ours, AGREEMENT)
        found = []
        if self.pin:
            worst = peers.insist(f"{name} against pinocchio", ours, self.pin.forward(*self.few), AGREEMENT)
            found.append(f"pinocchio {worst:.0e}")
        for other in others:
            if other.label != MUJOCO:  # which keeps loops softly
                tolerance = np.inf if other.label == LCABA else AGREEMENT
                worst = peers.insist(f"{name} against {other.label}", result_of(other)[None], ours[:1], tolerance)
                found.append(f"{other.label} as timed {worst:.0e}")
        self.report.note(f"{name}: largest relative differences: {', '.join(found)}")

    def _time(self, others: list[Contender]) -> None:
        q, v, tau = (x[0].copy() for x in self.few)
        names = {"q": q, "v": v, "tau": tau}
        dynamics = ada.Dynamics(self.model, q0=self.start)
        dynamics.forward(q, v, tau)  # compiles; from now on `forward` is a builtin
        contenders = [Contender(CALL, "f(q, v, tau)", {"f": dynamics.forward, **names, "keep": dynamics})]
        contenders.append(rows_in_turn(NATIVE, self.kernel, self.few, 20))
        contenders.append(batch_by_address(KERNEL, self.kernel, self.many))
        self._forward(self.many)
        all_rows = dict(zip(("q", "v", "tau"), self.many, strict=True))
        contenders.append(Contender(ROWS, "f(q, v, tau)", {"f": self.dynamics.forward, **all_rows}, len(self.many[0])))
        timings = measure([*contenders, *others], self.plan)
        goals = self.case
        limits = {
            CALL: goals.call,
            NATIVE: goals.native,
            KERNEL: goals.batch,
            ROWS: goals.batch,
        }
        aims = [Aim(PINOCCHIO, own, limit) for own, limit in limits.items()]
        aims += [Aim(slow, NATIVE) for slow in (ONE_STEP, LCABA, MUJOCO)]
        self.report.timings(self.model.name, timings, aims)

    def _kernel_row(self) -> list[object]:
        """What is computed, and how long a first use takes without a cache."""
        with without_cache():
            start = time.process_time()
            fresh = kernel_of(ada.Dynamics(self.model, q0=self.start), "forward")
            assert isinstance(fresh, Kernel)
            seconds = [time.process_time() - start]
            for kind in ("single", "batch"):
                start = time.process_time()
                fresh.prepare(kind)
                seconds.append(time.process_time() - start)
        function = self.kernel.function
        of, mobility = cost(function), self.dynamics.constraints.state(self.start).mobility
        order = function.name.removeprefix("closed_").rpartition("_")[0].replace("_", " ")
        counts = [of.flops, of.sincos_pairs, of.divisions, len(function.guards)]
        return [self.model.name, self.model.nv, self.model.nv - mobility, order, *counts, *seconds]


def _states(dynamics: ada.Dynamics, start: Array, reach: float) -> States:
    """States near the start that close all loops and keep them closed."""
    model = dynamics.model
    rng = np.random.default_rng(0)
    found = []
    for _ in range(FEW):
        _, away = dynamics.project_to_constraints(start, rng.normal(size=model.nv))
        step = reach * away / np.max(np.abs(away))
        found.append(dynamics.project_to_constraints(model.integrate(start, step), rng.normal(size=model.nv)))
    q, v = (np.array(x) for x in zip(*found, strict=True))
    return q, v, rng.normal(size=v.shape) * 3.0
