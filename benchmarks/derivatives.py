# SPDX-License-Identifier: Apache-2.0
"""Derivatives, without and with loops: against pinocchio's analytic ones, and as multiples of one evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from ada_dynamics.simulation.methods import IntegratorName
from benchmarks import peers, robots
from benchmarks.closed import states_on_loops
from benchmarks.peers import PINOCCHIO, ClosedPinocchio, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Schedule, Timings, batch_by_address, measure, rows_in_turn

CALL, NATIVE, BATCH, FORWARD, VJP = "ada call", "ada native", "ada batch", "forward", "vjp"
JVP, HVP = "jvp", "hvp"
ROLLOUT, GRADIENT, BOTH = "motion", "its gradient", "both"
MANY, FEW, REPEATS = 512, 16, 64  # so many repeats that the call itself does not count
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
    (partial(robots.of_catalogue, "two_feet"), Aims(call=10.0, native=8.0)),
)


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Open robots, mechanisms with loops, then motions."""
    report.begin(
        "derivatives", "of forward and inverse dynamics, by q, v and effort or acceleration, against pinocchio"
    )
    count = FEW if quick else MANY
    for robot in [robots.pa10()] if quick else [robots.pa10(), robots.humanoid()]:
        for name, aims in OPEN[robot.name].items():
            _open(robot, name, aims, report, schedule, count)
    for make, aims in CLOSED[:1] if quick else CLOSED:
        _closed(make(), aims, report, schedule, count)
    moving: list[tuple[ada.Model, Array | None]] = [(robots.pa10(), None), mechanisms.four_bar()]
    moving += [] if quick else [mechanisms.stewart()]
    for (model, start), integrator in product(moving, INTEGRATORS):
        _motion(model, start, integrator, report, schedule)


def _open(model: ada.Model, name: str, aims: Aims, report: Report, schedule: Schedule, count: int) -> None:
    states = robots.random_states(model, count)
    contenders = _own(ada.Dynamics(model), name, states)
    if PINOCCHIO in peers.available():
        other = Pinocchio(model)
        q, v, u = (x[0] for x in states)
        names: dict[str, Any] = {"pin": other.pin, "m": other.model, "d": other.data, "q": q, "v": v, "u": u}
        contenders.append(Contender(PINOCCHIO, THEIRS[name], names))
        theirs = np.array(eval(THEIRS[name], names)[:2])
        ours = np.array(getattr(ada.Dynamics(model), name)(q, v, u)[:2])
        peers.require_agreement(f"{model.name}: {name}", ours.reshape(1, -1), theirs.reshape(1, -1), 1e-8)
    _show(f"{model.name}, {model.nv} velocities: {name}", contenders, aims, report, schedule)


def _closed(mechanism: Mechanism, aims: Aims, report: Report, schedule: Schedule, count: int) -> None:
    model, start = mechanism
    dynamics = ada.Dynamics(model)
    q, v, tau = (np.resize(x, (count, x.shape[1])) for x in states_on_loops(dynamics, start, 0.1, FEW))
    contenders = _own(dynamics, "forward_derivatives", (q, v, tau))
    if PINOCCHIO in peers.available() and (other := ClosedPinocchio(model)).is_complete:
        contenders.append(_of_pinocchio(other, dynamics, q[0], v[0], tau[0]))
    _show(f"{model.name}, {model.nv} velocities, with loops: forward_derivatives", contenders, aims, report, schedule)


def _motion(
    model: ada.Model, start: Array | None, integrator: IntegratorName, report: Report, schedule: Schedule
) -> None:
    """The gradient of a motion with respect to the efforts of all its steps, compared with the motion itself."""
    sim, w = ada.Simulation(model, start, integrator=integrator, step=1e-3), np.ones(model.nv)
    tau = 0.1 * np.random.default_rng(0).normal(size=(ROWS, model.nv))
    _, pull = sim.rollout_vjp(sim.q, None, tau, hold=HOLD)
    contenders = [
        Contender(ROLLOUT, f"s.reset(); s.step({ROWS * HOLD})", {"s": sim}, ROWS * HOLD),
        Contender(GRADIENT, "f(w, w)", {"f": pull, "w": w}, ROWS * HOLD),
        Contender(
            BOTH,
            f"s.rollout_vjp(q, None, u, hold={HOLD})[1](w, w)",
            {"s": sim, "q": sim.q, "u": tau, "w": w},
            ROWS * HOLD,
        ),
    ]
    title = f"{model.name}, {model.nv} velocities: a motion of {ROWS * HOLD} steps, {integrator}, per step"
    timings = _show(title, contenders, Aims(), report, schedule)
    report.aim(f"{title}: gradient by motion", timings.ratio(GRADIENT, ROLLOUT), 4.0, "x")


def _own(dynamics: ada.Dynamics, name: str, states: States) -> list[Contender]:
    """Calls from Python and native ones; one evaluation of forward dynamics, and products of its derivatives."""
    one, few = [x[0].copy() for x in states], [x[:FEW].copy() for x in states]
    method = getattr(dynamics, name)
    method(*one)
    kernels = kernels_of(dynamics)
    kernel = kernels.get(name, never)
    made = [
        Contender(CALL, "f(q, v, u)", {"f": method, **dict(zip(("q", "v", "u"), one, strict=True))}),
        rows_in_turn(NATIVE, kernel, few, REPEATS),
        batch_by_address(BATCH, kernel, states, "rows"),
    ]
    if name == "forward_derivatives":
        made.append(rows_in_turn(FORWARD, kernels.forward(False), few, REPEATS))
        for label, vectors in ((JVP, 3), (VJP, 1), (HVP, 4)):
            owner = dynamics.derivatives if label == HVP else dynamics
            getattr(owner, f"forward_{label}")(*one, *[one[2]] * vectors)
            product_kernel = kernels.get(f"forward_{label}", never)
            made.append(rows_in_turn(label, product_kernel, [*few, *[few[2]] * vectors], REPEATS))
    return made


def never() -> Any:
    """Stand for a quantity whose kernel exists."""
    raise AssertionError("the kernel exists: the method has been called")


def _of_pinocchio(closed: ClosedPinocchio, dynamics: ada.Dynamics, q: Array, v: Array, tau: Array) -> Contender:
    made = closed.contender(PINOCCHIO, "constraintDynamics", q, v, tau, closed.converged(q))
    names, data = dict(made.names), made.names["d"]
    statement = f"{made.statement}; pin.computeConstraintDynamicsDerivatives(m, d, cm, cd, s)"
    exec(statement, names)
    ours = dynamics.forward_derivatives(q, v, tau)
    for name, one, two in (("dv", ours.dv, data.ddq_dv), ("du", ours.du, data.ddq_dtau)):
        peers.require_agreement(f"{dynamics.model.name}: {name}", one.reshape(1, -1), two.reshape(1, -1), 1e-8)
    return Contender(PINOCCHIO, statement, names)


def _show(title: str, contenders: list[Contender], aims: Aims, report: Report, schedule: Schedule) -> Timings:
    timings = measure(contenders, schedule)
    has_peer = PINOCCHIO in timings.labels
    rows = [
        [label, 1e6 * timings.median(label), timings.ratio(PINOCCHIO, label) if has_peer else ""]
        for label in timings.labels
    ]
    report.table(title, ["", "us", "pinocchio / this"], rows)
    for label, limit in ((CALL, aims.call), (BATCH, aims.batch)):
        if has_peer and limit is not None:
            report.aim(f"{title}: {label}", timings.ratio(PINOCCHIO, label), limit, "x", at_least=True)
    if aims.native is not None:
        report.aim(f"{title}: native", 1e6 * timings.median(NATIVE), aims.native, "us")
    if VJP in timings.labels:
        report.aim(f"{title}: vjp by one forward", timings.ratio(VJP, FORWARD), 3.0, "x")
    return timings
