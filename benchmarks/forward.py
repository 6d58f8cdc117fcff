# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: one call from Python, native loops, batches, and the generic kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.jit import Kernel
from benchmarks import peers, robots
from benchmarks.peers import MUJOCO, PINOCCHIO, Mujoco, Pinocchio
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Schedule, batch_by_address, measure, rows_in_turn

CALL = "ada forward"
NATIVE, GENERIC = "ada native", "ada generic native"
KERNEL, KERNEL_ROWS = "ada kernel, columns", "ada kernel, rows"
COLUMNS, ROWS = "ada forward, columns", "ada forward, rows"
BATCH = "MuJoCo batch"


@dataclass(frozen=True)
class Goals:
    """Target ratios of a robot, against pinocchio and MuJoCo; None: the ratio is only shown."""

    call: tuple[float | None, float | None] = (None, None)
    native: tuple[float | None, float | None] = (None, None)
    batch: tuple[float | None, float | None] = (None, None)
    generic: float | None = None


GOALS = {
    "pa10": Goals((14.0, 7.0), (12.0, 10.0), (80.0, 100.0), 2.5),
    "pa10full": Goals(native=(8.0, None), batch=(50.0, None), generic=2.5),
    "humanoid": Goals((10.0, 7.0), (10.0, 8.0), (30.0, 30.0)),
}


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Compare all robots."""
    report.begin("forward", "forward dynamics against pinocchio (aba) and MuJoCo (mj_forward, bodies only)")
    for model in [robots.pa10()] if quick else [robots.pa10(), robots.pa10(full=True), robots.humanoid()]:
        _compare(model, report, schedule, 256 if quick else 4096)


def _compare(model: ada.Model, report: Report, schedule: Schedule, count: int) -> None:
    """Check that all engines agree on a robot, then time them."""
    goals, name = GOALS[model.name], model.name
    states = robots.random_states(model, count)
    q, v, tau = states
    few, one = (q[:256], v[:256], tau[:256]), (q[0].copy(), v[0].copy(), tau[0].copy())
    engines = peers.available()
    pin = Pinocchio(model) if PINOCCHIO in engines else None
    mujoco = Mujoco(model) if MUJOCO in engines else None
    _check(model, [engine for engine in (pin, mujoco) if engine], tuple(x[:64] for x in states), report)
    dynamics = ada.Dynamics(model)
    dynamics.forward(*one)  # compiles; from now on `forward` is a builtin
    names = {"f": dynamics.forward, **dict(zip(("q", "v", "tau"), one, strict=True)), "keep": dynamics}
    contenders = [Contender(CALL, "f(q, v, tau)", names)]
    contenders += [pin.single(*few)] if pin else []
    contenders += [mujoco.single(*one)] if mujoco else []
    aims = [Aim(peer, CALL, limit) for peer, limit in zip((PINOCCHIO, MUJOCO), goals.call, strict=True)]
    report.timings(f"{name}, one call from Python", measure(contenders, schedule), aims)

    generic = kernel_of(ada.Dynamics(model, kernel="generic"), "forward")
    kernel = kernel_of(ada.Dynamics(model), "forward")
    assert isinstance(kernel, Kernel)
    contenders = [rows_in_turn(NATIVE, kernel, few, 4), rows_in_turn(GENERIC, generic, few, 4)]
    contenders += [pin.native(*few)] if pin else []
    contenders += [mujoco.native(*one)] if mujoco else []
    aims = [Aim(peer, NATIVE, limit) for peer, limit in zip((PINOCCHIO, MUJOCO), goals.native, strict=True)]
    aims += [Aim(PINOCCHIO, GENERIC, goals.generic), Aim(MUJOCO, GENERIC)]
    report.timings(f"{name}, native", measure(contenders, schedule), aims)

    contenders = [batch_by_address(KERNEL, kernel, states), batch_by_address(KERNEL_ROWS, kernel, states, "rows")]
    for label, turned in ((COLUMNS, np.asfortranarray), (ROWS, np.ascontiguousarray)):
        names = {"f": dynamics.forward, **dict(zip(("q", "v", "tau"), map(turned, states), strict=True))}
        contenders.append(Contender(label, "f(q, v, tau)", names, count))
    contenders += [pin.native(*states)] if pin else []
    contenders += [mujoco.batch(*states)] if mujoco else []
    aims = [
        Aim(slow, own, limit)
        for slow, limit in zip((PINOCCHIO, BATCH), goals.batch, strict=True)
        for own in (KERNEL, KERNEL_ROWS, COLUMNS, ROWS)
    ]
    report.timings(f"{name}, batch of {count}", measure(contenders, schedule), aims)


def _check(model: ada.Model, engines: list[Pinocchio | Mujoco], states: tuple[Array, ...], report: Report) -> None:
    q, v, tau = states
    dynamics = ada.Dynamics(model)
    ours = np.array([dynamics.forward(*row) for row in zip(q, v, tau, strict=True)])
    generic = ada.Dynamics(model, kernel="generic").forward(q, v, tau)
    peers.require_agreement(f"{model.name}: batch against single states", dynamics.forward(q, v, tau), ours, 1e-12)
    peers.require_agreement(f"{model.name}: generic against specialised", generic, ours, 1e-11)
    found = []
    for engine in engines:
        name = type(engine).__name__
        worst = peers.require_agreement(f"{model.name} against {name}", ours, engine.forward(q, v, tau), 1e-10)
        found.append(f"{name} {worst:.0e}")
    report.note(f"{model.name}: algorithm {dynamics.algorithm}; largest relative difference to {found}")
