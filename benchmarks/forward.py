# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: one call from Python, native loops, batches, and the generic kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.arguments import Algorithm, KernelKind
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.jit import Kernel
from benchmarks import peers, robots
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.peers import MUJOCO, PINOCCHIO, Mujoco, Pinocchio
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Plan, measure

CALL = "ada forward"
NATIVE, GENERIC = "ada native", "ada generic native"
KERNEL, KERNEL_ROWS = "ada kernel, columns", "ada kernel, rows"
COLUMNS, ROWS = "ada forward, columns", "ada forward, rows"
BATCH = "MuJoCo batch"


@dataclass(frozen=True)
class Goals:
    """Ratios aimed at for a robot; None: shown only."""

    call: tuple[float | None, float | None] = (None, None)  # pinocchio, MuJoCo
    native: tuple[float | None, float | None] = (None, None)
    batch: tuple[float | None, float | None] = (None, None)
    generic: float | None = None


GOALS = {
    "pa10": Goals((14.0, 7.0), (12.0, 10.0), (80.0, 100.0), 2.5),
    "pa10full": Goals(native=(8.0, None), batch=(50.0, None), generic=2.5),
    "humanoid": Goals((10.0, 7.0), (10.0, 8.0), (30.0, 30.0)),
}


def run(report: Report, plan: Plan, quick: bool) -> None:
    """All robots."""
    report.begin("forward", "forward dynamics against pinocchio (aba) and MuJoCo (mj_forward, bodies only)")
    for robot in [robots.pa10()] if quick else [robots.pa10(), robots.pa10(full=True), robots.humanoid()]:
        _Robot(robot, report, plan, 256 if quick else 4096).run()


class _Robot:
    """The comparisons of one robot."""

    def __init__(self, robot: robots.Robot, report: Report, plan: Plan, batch: int) -> None:
        self.name, self.report, self.plan, self.batch = robot.name, report, plan, batch
        self.goals = GOALS[robot.name]
        self.model = robot.model()
        self.states = robots.random_states(self.model, batch)
        q, v, tau = self.states
        self.few = q[:256].copy(), v[:256].copy(), tau[:256].copy()
        engines = peers.available()
        self.pin = Pinocchio(robot) if PINOCCHIO in engines else None
        self.mujoco = Mujoco(robot) if MUJOCO in engines else None

    def run(self) -> None:
        """Check that all agree, then time."""
        self._agree()
        self._single_calls()
        self._native()
        self._batches()

    def _agree(self) -> None:
        q, v, tau = (x[:64] for x in self.states)
        dynamics = ada.Dynamics(self.model)
        ours = np.array([dynamics.forward(*row) for row in zip(q, v, tau, strict=True)])
        generic = ada.Dynamics(self.model, kernel="generic").forward(q, v, tau)
        peers.insist(f"{self.name}: batch against single states", dynamics.forward(q, v, tau), ours, 1e-12)
        peers.insist(f"{self.name}: generic against specialised", generic, ours, 1e-11)
        found = []
        for engine in (self.pin, self.mujoco):
            if engine:
                name = type(engine).__name__
                worst = peers.insist(f"{self.name} against {name}", ours, engine.forward(q, v, tau), 1e-10)
                found.append(f"{name} {worst:.0e}")
        self.report.note(f"{self.name}: algorithm {dynamics.algorithm}; largest relative difference to {found}")

    def _single_calls(self) -> None:
        q, v, tau = (np.ascontiguousarray(x[0]) for x in self.states)
        dynamics = ada.Dynamics(self.model)
        dynamics.forward(q, v, tau)  # compiles; from now on `forward` is a builtin
        names = {"f": dynamics.forward, "q": q, "v": v, "tau": tau, "keep": dynamics}
        contenders = [Contender(CALL, "f(q, v, tau)", names)]
        contenders += [engine.single(*self.few) for engine in (self.pin, self.mujoco) if engine]
        goals = self.goals
        aims = [
            Aim(PINOCCHIO, CALL, goals.call[0]),
            Aim(MUJOCO, CALL, goals.call[1]),
        ]
        self._compare(f"{self.name}, one call from Python", contenders, aims)

    def _native(self) -> None:
        contenders = []
        ways: tuple[tuple[str, Algorithm, KernelKind], ...] = (
            (NATIVE, "auto", "specialised"),
            (GENERIC, "auto", "generic"),
        )
        for label, algorithm, kind in ways:
            kernel = kernel_of(ada.Dynamics(self.model, algorithm, kernel=kind), "forward")
            contenders.append(rows_in_turn(label, kernel, self.few, 4))
        if self.pin:
            contenders.append(self.pin.native(*self.few))
        mujoco = self.mujoco.native(*self.few) if self.mujoco else None
        if mujoco:
            contenders.append(mujoco)
        aims = [
            Aim(PINOCCHIO, NATIVE, self.goals.native[0]),
            Aim(MUJOCO, NATIVE, self.goals.native[1]),
            Aim(PINOCCHIO, GENERIC, self.goals.generic),
            Aim(MUJOCO, GENERIC),
        ]
        self._compare(f"{self.name}, native", contenders, aims)

    def _batches(self) -> None:
        n = self.batch
        dynamics = ada.Dynamics(self.model)
        rows = dict(zip(("q", "v", "tau"), map(np.ascontiguousarray, self.states), strict=True))
        columns = dict(zip(("q", "v", "tau"), map(np.asfortranarray, self.states), strict=True))
        kernel = kernel_of(dynamics, "forward")
        assert isinstance(kernel, Kernel)
        dynamics.forward(
            columns["q"], columns["v"], columns["tau"]
        )  # from now on `forward` is a builtin, as for any user
        contenders = [
            batch_by_address(KERNEL, kernel, self.states),
            batch_by_address(KERNEL_ROWS, kernel, self.states, "rows"),
            Contender(COLUMNS, "f(q, v, tau)", {"f": dynamics.forward, **columns}, n),
            Contender(ROWS, "f(q, v, tau)", {"f": dynamics.forward, **rows}, n),
        ]
        if self.pin:
            contenders.append(self.pin.native(*self.states))
        if self.mujoco:
            contenders.append(self.mujoco.batch(*self.states))
        aims = [
            Aim(slow, own, limit)
            for slow, limit in zip((PINOCCHIO, BATCH), self.goals.batch, strict=True)
            for own in (KERNEL, KERNEL_ROWS, COLUMNS, ROWS)
        ]
        self._compare(f"{self.name}, batch of {n}", contenders, aims)

    def _compare(self, title: str, contenders: list[Contender], aims: list[Aim]) -> None:
        self.report.timings(title, measure(contenders, self.plan), aims)
