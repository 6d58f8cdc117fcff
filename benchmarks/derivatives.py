# SPDX-License-Identifier: Apache-2.0
"""Derivatives, without and with loops: against pinocchio's analytic ones, and as multiples of one evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.jit import Kernel
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from ada_dynamics.simulation.methods import IntegratorName
from benchmarks import peers, robots
from benchmarks.closed_peers import CONVERGED, SINGLE_STEP, ClosedPinocchio
from benchmarks.native import batch_by_address
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, Timings, measure

CALL, NATIVE, BATCH, FORWARD, VJP = "ada call", "ada native", "ada batch", "forward", "vjp"
JVP, HVP = "jvp", "hvp"
ROLLOUT, GRADIENT = "motion", "its gradient"
MANY, FEW, REPEATS = 512, 16, 5
INTEGRATORS: tuple[IntegratorName, ...] = ("rk4", "semi_implicit")
ROWS, HOLD = 50, 20  # of efforts, and steps for which each acts
States = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Aims:
    """Ratios to pinocchio, and microseconds of the native kernel."""

    call: float | None = None
    batch: float | None = None
    native: float | None = None


OPEN = {
    "pa10": {"forward_derivatives": Aims(call=12.0, batch=40.0), "inverse_derivatives": Aims()},
    "humanoid": {"forward_derivatives": Aims(call=8.0, batch=40.0), "inverse_derivatives": Aims(call=8.0)},
}
THEIRS = {
    "forward_derivatives": "pin.computeABADerivatives(m, d, q, v, u)",
    "inverse_derivatives": "pin.computeRNEADerivatives(m, d, q, v, u)",
}
CLOSED: tuple[tuple[Callable[[], Mechanism], Aims], ...] = (
    (mechanisms.four_bar, Aims(call=10.0, native=0.3)),
    (robots.rus6, Aims(call=10.0, native=3.0)),
    (mechanisms.stewart, Aims(call=10.0)),
    (mechanisms.delta, Aims(call=10.0)),
    (mechanisms.two_feet, Aims(call=10.0, native=8.0)),
)


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Open robots, then mechanisms with loops."""
    report.begin(
        "derivatives", "of forward and inverse dynamics, by q, v and effort or acceleration, against pinocchio"
    )
    for robot in [robots.pa10()] if quick else [robots.pa10(), robots.humanoid()]:
        _open(robot, report, plan, quick)
    for make, aims in CLOSED[:1] if quick else CLOSED:
        _closed(make(), aims, report, plan, quick)
    moving: list[ada.Model | Mechanism] = [robots.pa10().model(), mechanisms.four_bar()]
    moving += [] if quick else [mechanisms.stewart()]
    for one in moving:
        for integrator in INTEGRATORS:
            _motion(one, integrator, report, plan)


def _open(robot: robots.Robot, report: Report, plan: Plan, quick: bool) -> None:
    model = robot.model()
    states = robots.random_states(model, FEW if quick else MANY)
    for name, aims in OPEN[robot.name].items():
        contenders = _own(ada.Dynamics(model), name, states)
        if PINOCCHIO in peers.available():
            other = Pinocchio(robot)
            q, v, u = (x[0] for x in states)
            names: dict[str, Any] = {"pin": other.pin, "m": other.model, "d": other.data, "q": q, "v": v, "u": u}
            contenders.append(Contender(PINOCCHIO, THEIRS[name], names))
            theirs = np.array(eval(THEIRS[name], names)[:2])
            ours = np.array(getattr(ada.Dynamics(model), name)(q, v, u)[:2])
            peers.insist(f"{robot.name}: {name}", ours.reshape(1, -1), theirs.reshape(1, -1), 1e-8)
        _show(f"{robot.name}, {model.nv} velocities: {name}", contenders, aims, report, plan)


def _closed(mechanism: Mechanism, aims: Aims, report: Report, plan: Plan, quick: bool) -> None:
    model, start = mechanism
    dynamics = ada.Dynamics(model)
    states = _on_the_loops(dynamics, start, FEW if quick else MANY)
    contenders = _own(dynamics, "forward_derivatives", states)
    if PINOCCHIO in peers.available() and (other := ClosedPinocchio(model)).is_complete:
        contenders.append(_of_pinocchio(other, dynamics, *(x[0] for x in states)))
    _show(f"{model.name}, {model.nv} velocities, with loops: forward_derivatives", contenders, aims, report, plan)


def _motion(made: ada.Model | Mechanism, integrator: IntegratorName, report: Report, plan: Plan) -> None:
    """The gradient of a motion by the efforts of all its steps, beside the motion itself."""
    model, start = (made, None) if isinstance(made, ada.Model) else made
    sim, w = ada.Simulation(model, start, integrator=integrator, step=1e-3), np.ones(model.nv)
    tau = 0.1 * np.random.default_rng(0).normal(size=(ROWS, model.nv))
    _, pull = sim.rollout_vjp(sim.q, None, tau, hold=HOLD)
    contenders = [
        Contender(ROLLOUT, f"s.reset(); s.step({ROWS * HOLD})", {"s": sim}, ROWS * HOLD),
        Contender(GRADIENT, "f(w, w)", {"f": pull, "w": w}, ROWS * HOLD),
    ]
    title = f"{model.name}, {model.nv} velocities: a motion of {ROWS * HOLD} steps, {integrator}, per step"
    timings = _show(title, contenders, Aims(), report, plan)
    report.aim(f"{title}: gradient by motion", timings.ratio(GRADIENT, ROLLOUT), 4.0, "x")


def _on_the_loops(dynamics: ada.Dynamics, start: Array, count: int) -> States:
    rng, nv = np.random.default_rng(0), dynamics.model.nv
    found = []
    for _ in range(FEW):
        q, v = dynamics.project_to_constraints(
            dynamics.model.integrate(start, 0.05 * rng.normal(size=nv)), rng.normal(size=nv)
        )
        found.append((q, v, rng.normal(size=nv)))
    q, v, tau = (np.array([x[i % FEW] for i in range(count)]) for x in zip(*found, strict=True))
    return q, v, tau


def _own(dynamics: ada.Dynamics, name: str, states: States) -> list[Contender]:
    """Calls from Python and native ones; one evaluation of forward dynamics, and products of its derivatives."""
    one, few = [x[0].copy() for x in states], [x[:FEW].copy() for x in states]
    method = getattr(dynamics, name)
    method(*one)
    kernel = kernels_of(dynamics).get(name, _never)
    given: dict[str, Any] = dict(zip(("q", "v", "u"), one, strict=True))
    rows = {"f": kernel.native_repeat, **dict(zip(("q", "v", "u"), few, strict=True))}
    made = [
        Contender(CALL, "f(q, v, u)", {"f": method, **given}),
        Contender(NATIVE, f"f(q, v, u, repeats={REPEATS})", rows, REPEATS * FEW),
        batch_by_address(BATCH, kernel, states, "rows"),
    ]
    if name == "forward_derivatives":
        made.append(_native(FORWARD, kernels_of(dynamics).forward(False), few))
        for label, vectors in ((JVP, 3), (VJP, 1), (HVP, 4)):
            owner = dynamics.derivatives if label == HVP else dynamics
            getattr(owner, f"forward_{label}")(*one, *[one[2]] * vectors)
            made.append(
                _native(label, kernels_of(dynamics).get(f"forward_{label}", _never), [*few, *[few[2]] * vectors])
            )
    return made


def _native(label: str, kernel: Kernel, inputs: list[Array]) -> Contender:
    names = {"f": kernel.native_repeat, **{f"x{i}": x for i, x in enumerate(inputs)}}
    given = ", ".join(f"x{i}" for i in range(len(inputs)))
    return Contender(label, f"f({given}, repeats={REPEATS})", names, REPEATS * FEW)


def _never() -> Any:
    raise AssertionError("the kernel is there: the method has been called")


def _of_pinocchio(closed: ClosedPinocchio, dynamics: ada.Dynamics, q: Array, v: Array, tau: Array) -> Contender:
    other = closed.other
    pin, data = other.pin, other.model.createData()
    models, datas = other.new_constraints()
    pin.initConstraintDynamics(other.model, data, models, datas)
    settings = pin.ProximalSettings(1e-12, *(CONVERGED if closed.is_redundant(q) else SINGLE_STEP))
    names: dict[str, Any] = {"pin": pin, "m": other.model, "d": data, "cm": models, "cd": datas, "s": settings}
    names |= {"q": other.position(q), "v": other.velocity(v), "u": other.effort(tau)}
    statement = (
        "pin.constraintDynamics(m, d, q, v, u, cm, cd, s); pin.computeConstraintDynamicsDerivatives(m, d, cm, cd, s)"
    )
    exec(statement, names)
    ours = dynamics.forward_derivatives(q, v, tau)
    for name, one, two in (("dv", ours.dv, data.ddq_dv), ("du", ours.du, data.ddq_dtau)):
        peers.insist(f"{dynamics.model.name}: {name}", one.reshape(1, -1), two.reshape(1, -1), 1e-8)
    return Contender(PINOCCHIO, statement, names)


def _show(title: str, contenders: list[Contender], aims: Aims, report: Report, plan: Plan) -> Timings:
    timings = measure(contenders, plan)
    rows = []
    for label in timings.labels:
        ratio = timings.ratio(PINOCCHIO, label) if PINOCCHIO in timings.labels else ""
        rows.append([label, 1e6 * timings.median(label), ratio])
    report.table(title, ["", "us", "pinocchio / this"], rows)
    _aim(title, timings, aims, report)
    return timings


def _aim(title: str, timings: Timings, aims: Aims, report: Report) -> None:
    if PINOCCHIO in timings.labels:
        for label, limit in ((CALL, aims.call), (BATCH, aims.batch)):
            if limit is not None:
                report.aim(f"{title}: {label}", timings.ratio(PINOCCHIO, label), limit, "x", at_least=True)
    if aims.native is not None:
        report.aim(f"{title}: native", 1e6 * timings.median(NATIVE), aims.native, "us")
    if VJP in timings.labels:
        report.aim(f"{title}: vjp by one forward", timings.ratio(VJP, FORWARD), 3.0, "x")
