# SPDX-License-Identifier: Apache-2.0
"""The motion of a scenario compared with pinocchio and MuJoCo, and the order of the integrator.

Two motions of a chaotic system diverge from the last digit on. The scenario is therefore also run from a neighbouring
initial state; the growth of the difference determines how long equal digits can be expected: until an initial error of
ROUNDING has grown to AGREES. Accelerations that differ by rounding, such as those of a thin rod about its axis, make
motions diverge by t²/2 times the difference; accelerations are therefore compared separately.

Reference motions: accelerations of pinocchio or MuJoCo, integrated by scipy's DOP853 with tight tolerances.

Only the robot description comes from `ada`: equations, integrator and rotation coordinates are independent. With
pinocchio a floating base moves by the exponential map, q = q0 ⊕ y with ẏ = (∂(q0 ⊕ y)/∂y)⁻¹ v; with MuJoCo by
quaternions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.stops import limited_joints
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_experiments.mujoco_twin import MujocoModel
from ada_experiments.pinocchio_model import PinocchioModel
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Claim, Outcome, Progress, experiment
from ada_tools.scenario.run import build_model, simulate, simulation_of
from ada_tools.scenario.scenario import Scenario

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log

AGREES = 1e-9  # [rad, m]
SAME = 1e-9  # accelerations, relative to the largest one of the motion
ROUNDING = 1e-14  # [rad, m] initial error; a few units in the last place of numbers up to 10
BESIDE = 1e-9  # [rad, m] distance of the neighbouring initial state
EVERY = 0.1  # [s] interval of compared times
STEPS = (20e-3, 10e-3, 5e-3, 2.5e-3, 1e-3)  # [s] steps of the fixed-step method; the last is that of the document
ORDER = 5  # of RKF45 with the fifth-order weights
SOFT = 2e-3  # [s] time constant of MuJoCo loops: twice the step, the stiffest allowed value
SOFT_AGREES = 1e-4  # [rad, m]
DOP853 = {"integrator": "dop853", "tolerance": 1e-13, "simulation.step": 1e-2}


class EngineSettings(NamedTuple):
    """Settings of the scenario."""

    finer: Annotated[tuple[float, ...], "s"] = ()  # additional, smaller steps of RKF45


@experiment("other_engines")
def other_engines(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compare the motion with pinocchio and MuJoCo, and with RKF45 for several steps."""
    part = scenario.simulation
    has_stops = part is None or (part.stops and bool(limited_joints(build_model(scenario))))
    if part is None or scenario.disturbances or part.efforts.entries or has_stops:
        text = (
            f"{scenario.file}: experiment: other_engines requires the simulation of a free motion; remove "
            "disturbances, efforts and stops (stops: none)."
        )
        raise InputError(text, file=scenario.file, field="experiment")
    chosen = read_settings(scenario, EngineSettings)
    exact = scenario.with_changes(DOP853)
    log = simulate(exact)
    times = np.asarray(np.arange(round(part.duration / EVERY) + 1) * EVERY, dtype=np.float64)
    ours = _at(log, times)
    comparison = EngineComparison(times, ours, _growth(exact, times, ours))
    model, q, v = log.model, log.q[0], log.v[0]
    states = ours, _at(log, times, log.v)
    a = simulation_of(exact).dynamics.forward(*states, np.zeros(model.nv))
    progress(0.0, "pinocchio")
    theirs = accelerations(PinocchioModel(model), *states) - a
    comparison.add("pinocchio", by_pinocchio(model, q, v, times), theirs, a)
    progress(0.4, "MuJoCo")
    if model.loops:
        comparison.add_soft("MuJoCo (soft loops)", by_mujocos_steps(model, q, v, times, STEPS[-1], SOFT))
    else:
        theirs = accelerations(MujocoModel(model), *states) - a
        comparison.add("MuJoCo", by_mujoco(model, q, v, times), theirs, a)
    steps = (*STEPS, *chosen.finer)
    errors = []
    for i, step in enumerate(steps):
        progress(0.8 + 0.2 * i / len(steps), f"RKF45 with steps of {1e3 * step:g} ms")
        log = simulate(scenario.with_changes({"integrator": "rkf45", "step": step}))
        errors.append(comparison.difference(_at(log, times)))
    return Outcome([*comparison.claims, *comparison.order(steps, errors)])


def _at(log: Log, times: Array, column: Array | None = None) -> Array:
    """Positions of a log, or another column, at existing times."""
    rows = np.clip(np.searchsorted(log.t, times - 1e-9), 0, len(log.t) - 1)
    if np.max(np.abs(log.t[rows] - times)) > 1e-9:
        raise InputError("the simulation has no rows at the compared times; choose a step that divides 0.1 s.")
    return np.asarray((log.q if column is None else column)[rows], dtype=np.float64)


def _growth(exact: Scenario, times: Array, ours: Array) -> Array:
    """Largest growth of an initial difference up to each time."""
    simulation = simulation_of(exact)
    model = simulation.model
    q = model.integrate(np.array(simulation.q), np.full(model.nv, BESIDE))
    v = np.array(simulation.v)
    if model.loops:
        from ada_dynamics.dynamics import Dynamics

        q, v = Dynamics(model, q0=np.array(simulation.q)).project_to_constraints(q, v)
    simulation.reset(q, v)
    other = _at(simulation.run(float(times[-1])), times)
    apart = np.max(np.abs(other - ours), axis=1)
    return np.asarray(np.maximum.accumulate(apart / apart[0]), dtype=np.float64)


class EngineComparison:
    """Motion of this library compared with those of other engines.

    Attributes:
        last: index of the last time at which equal digits can be expected.
        claims: claims of agreement up to that time.
    """

    def __init__(self, times: Array, ours: Array, growth: Array) -> None:
        """Compare at some times [s], given our positions and the growth of an initial difference up to each."""
        self.times, self.ours, self.growth = times, ours, growth
        beyond = np.flatnonzero(growth * ROUNDING > AGREES)
        self.last = int(beyond[0]) - 1 if len(beyond) else len(times) - 1
        self.claims: list[Claim] = []

    def difference(self, other: Array) -> float:
        """Largest position difference up to the last comparable time."""
        return float(np.max(np.abs(other - self.ours)[: self.last + 1]))

    def add(self, name: str, other: Array, rates: Array, ours: Array) -> None:
        """Compare an equivalent motion, with acceleration differences at the compared states."""
        off = np.max(np.abs(rates), axis=1)
        share = float(np.max(off) / np.max(np.abs(ours), initial=np.finfo(float).tiny))
        note = f"in {len(self.times)} states of the motion, relative to the largest"
        self.claims.append(Claim(f"accelerations agree with {name}", share, SAME, note=note))
        mean, end = float(np.sqrt(np.mean(off**2))), float(self.times[self.last])
        by_rounding = 0.5 * (end - float(self.times[0])) ** 2 * mean
        note = f"tolerances of 1e-13 here and 3e-14 there; the accelerations differ by {mean:.0e}"
        is_chaotic = self.last < len(self.times) - 1
        text = f"the motion by DOP853 agrees with {name} until {end:.1f} s" + ", where rounding dominates" * is_chaotic
        self.claims.append(Claim(text, self.difference(other), max(AGREES, by_rounding), unit="rad, m", note=note))

    def add_soft(self, name: str, other: Array) -> None:
        """Compare a motion of a mechanism with soft loops."""
        note = f"its loops have a time constant of {1e3 * SOFT:g} ms, its steps are of 1 ms"
        text = f"the motions by DOP853 and {name} are similar"
        self.claims.append(Claim(text, self.difference(other), SOFT_AGREES, unit="rad, m", note=note))

    def order(self, steps: Sequence[float], errors: Sequence[float]) -> list[Claim]:
        """Claims that the errors of RKF45 by step, up to the last comparable time, decrease with its order."""
        # The error of DOP853 is about its tolerance times the growth; smaller errors do not show the order.
        floor = 1e-13 * float(self.growth[self.last])
        orders = [
            float(np.log(a / b) / np.log(long / short))
            for (a, b), (long, short) in zip(pairwise(errors), pairwise(steps), strict=True)
        ]
        best = max((i for i in range(len(orders)) if errors[i + 1] > 10.0 * floor), default=0)
        predicted = errors[best] * (steps[-1] / steps[best]) ** ORDER + 10.0 * floor
        return [
            Claim(
                "RKF45 converges with its order",
                orders[best],
                ORDER - 0.5,
                ">=",
                note="between the two smallest steps with errors above rounding",
            ),
            Claim(
                f"RKF45 at {1e3 * steps[-1]:g} ms has the error predicted by its order",
                errors[-1],
                2.0 * predicted,
                unit="rad, m",
                note=f"limit: twice the prediction from a step of {1e3 * steps[best]:g} ms with order {ORDER}",
            ),
        ]


TOLERANCE = 3e-14  # relative and absolute; with 1e-13 the errors add up to 1e-9 in ten seconds


def accelerations(other: PinocchioModel | MujocoModel, q: Array, v: Array) -> Array:
    """Accelerations of each state without joint forces."""
    rest = np.zeros(other.ours.nv)
    return np.array([other.forward(*state, rest) for state in zip(q, v, strict=True)])


def by_pinocchio(model: Model, q: Array, v: Array, times: Array) -> Array:
    """Positions at the given times, from a state at the first time; loops by dense equations.

    Args:
        model: the robot.
        q: positions at the first time.
        v: velocities at the first time.
        times: increasing [s].
    """
    other = PinocchioModel(model)
    pin, own, rest = other.pin, other.model, np.zeros(model.nv)
    turns = model.has_manifold_coordinates
    start: dict[str, Array] = {}

    def rate(_: float, state: Array) -> Array:
        step, w = state[: own.nv], state[own.nv :]
        x = pin.integrate(own, start["x"], step)
        a = other.velocity(other.forward(other.own_position(x), other.own_velocity(w), rest))
        moved = np.linalg.solve(pin.dIntegrate(own, start["x"], step)[1], w) if turns else w
        return np.concatenate([moved, a])

    found, w = [np.array(q, dtype=float)], other.velocity(v)
    start["x"] = other.position(q)
    for begin, end in pairwise(times):
        state = _integrated(rate, np.concatenate([np.zeros(own.nv), w]), begin, end)
        start["x"] = pin.normalize(own, pin.integrate(own, start["x"], state[: own.nv]))
        w = state[own.nv :]
        found.append(other.own_position(start["x"]))
    return np.array(found)


def by_mujoco(model: Model, q: Array, v: Array, times: Array) -> Array:
    """Positions at the given times by MuJoCo, for robots without loops, which MuJoCo enforces only softly."""
    other = MujocoModel(model)
    mujoco, inside, data, nq = other.mujoco, other.model, other.data, model.nq

    def rate(_: float, state: Array) -> Array:
        data.qpos[:], data.qvel[:] = state[:nq], state[nq:]
        mujoco.mj_forward(inside, data)
        return np.concatenate([other.position_rate(state[:nq], state[nq:]), data.qacc])

    state, found = np.concatenate([other.position(q), other.velocity(q, v)]), [np.array(q, dtype=float)]
    for begin, end in pairwise(times):
        state = _integrated(rate, state, begin, end)
        mujoco.mj_normalizeQuat(inside, state[:nq])
        found.append(other.own_position(state[:nq]))
    return np.array(found)


def by_mujocos_steps(
    model: Model, q: Array, v: Array, times: Array, step: float, loop_time: float | None = None
) -> Array:
    """Positions at the given times by MuJoCo's fourth-order Runge-Kutta integrator.

    Args:
        model: the robot.
        q: positions at the first time.
        v: velocities at the first time.
        times: multiples of the step [s].
        step: [s].
        loop_time: time constant of the soft loop constraints [s]; None: MuJoCo's default.
    """
    other = MujocoModel(model)
    other.model.opt.integrator = other.mujoco.mjtIntegrator.mjINT_RK4
    other.model.opt.timestep = step
    if loop_time is not None:
        other.model.eq_solref[:, 0] = loop_time
    other.set_state(q, v)
    done, found = 0, []
    for t in times:
        wanted = round((t - times[0]) / step)
        if wanted > done:
            other.mujoco.mj_step(other.model, other.data, nstep=wanted - done)
            done = wanted
        found.append(other.state()[0])
    return np.array(found)


def _integrated(rate: Callable[[float, Array], Array], state: Array, begin: float, end: float) -> Array:
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        raise InputError(f"the comparison with other engines needs scipy: {how_to_install('tools')}") from None
    solved = solve_ivp(rate, (begin, end), state, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)
    if not solved.success:
        raise InputError(f"scipy could not integrate beyond {solved.t[-1]:g} s: {solved.message}")
    return np.asarray(solved.y[:, -1], dtype=np.float64)
