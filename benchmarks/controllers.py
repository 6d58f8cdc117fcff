# SPDX-License-Identifier: Apache-2.0
"""Controllers: an update with all its checks and limits, beside the same law written with pinocchio and numpy.

The version with pinocchio uses its algorithms, numpy between them, a check of the state and a clip of the efforts. Ours
is `Controller.update`, which checks state, time and reference, keeps limits and rates, and returns a `Command`. Both
must return the same efforts for the same state before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_controllers import Controller, JointReference, State, make
from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.model.edit import with_gravity
from ada_experiments.pinocchio_model import PROXIMAL, STEPS, PinocchioModel
from benchmarks import peers
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Plan, measure

Law = Callable[[Array, Array], Array]

OURS, STREAMED = "ada", "ada, a new reference each time"
PERIOD = 1e-3  # [s]
# Both compute the same formulas; pinocchio closes loops by iteration.
AGREEMENT, LOOP_AGREEMENT = 1e-9, 1e-6
FOUR_BAR = "loops/parallel_four_bar.yaml"
MICRO = 1e6


def run(report: Report, plan: Plan, quick: bool) -> None:
    """All controllers."""
    del quick
    report.begin("controllers", "an update from Python, beside the same law with pinocchio")
    report.note(
        "ours checks state, time and reference, and keeps limits; pinocchio's checks that q and v are finite, and clips"
    )
    _computed_torque(report, plan)
    _virtual_closed_chain(report, plan)
    for robot in ("hoap2_10dof", "hoap2"):
        _reaction_null_space(report, plan, robot)


# --- laws -------------------------------------------------------------------------------------------------------------
def _computed_torque(report: Report, plan: Plan) -> None:
    model = ada.load("pa10")
    controller = make("computed_torque", model, {"stiffness": [100.0], "damping": [20.0]})
    q, v = np.array([0.1, 0.5, -0.2, 0.8, 0.3, 0.4, 0.1]), np.linspace(-0.1, 0.1, 7)
    goal, speed, ahead = q + 0.02, v + 0.05, np.linspace(0.0, 0.2, 7)
    reference = JointReference(goal, speed, ahead)
    law: Law | None = None
    if PINOCCHIO in peers.available():
        other = PinocchioModel(model)
        pin, m, d = other.pin, other.model, other.data

        def efforts(q: Array, v: Array) -> Array:
            a = ahead + 20.0 * (speed - v) + 100.0 * (goal - q)
            return np.asarray(pin.rnea(m, d, q, v, a))

        law = efforts
    _compare(report, plan, "PA-10: computed torque", controller, State(q, v), reference, law, 3.0, AGREEMENT)


def _virtual_closed_chain(report: Report, plan: Plan) -> None:
    """Fig. 7.5 of Takahashi 2012: four links move as a parallel four-bar."""
    model = ada.load("planar_4r")
    kp, kd = np.array([5.0, 0.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0, 0.0])
    chosen = {"loops": FOUR_BAR, "joint_stiffness": kp.tolist(), "joint_damping": kd.tolist()}
    controller = make("virtual_closed_chain", model, chosen)
    virtual = with_gravity(ada.load("planar_4r", loops=str(resources.find("config", FOUR_BAR))), (0.0, 0.0, 0.0))
    start = ada.close_loops(virtual, np.radians([60.0, 30.0, 150.0, -60.0]))
    q, v = ada.Dynamics(virtual).project_to_constraints(np.asarray(start), np.array([0.2, 0.0, 0.0, 0.0]))
    goal = np.zeros(4)
    law: Law | None = None
    if PINOCCHIO in peers.available():
        robot, closed = PinocchioModel(model), PinocchioModel(virtual)
        pin, constraints = robot.pin, closed.new_constraints()
        settings = pin.ProximalSettings(1e-14, PROXIMAL, STEPS)

        def efforts(q: Array, v: Array) -> Array:
            u = kp * (goal - q) - kd * v
            a = pin.constraintDynamics(closed.model, closed.data, q, v, u, *constraints, settings)
            return np.asarray(pin.rnea(robot.model, robot.data, q, v, a))

        law = efforts
    title = "four links as a parallel four-bar: virtual closed chain"
    _compare(report, plan, title, controller, State(q, v), JointReference(goal), law, 5.0, LOOP_AGREEMENT)


def _reaction_null_space(report: Report, plan: Plan, robot: str) -> None:
    """Eqs. 6.3 and 6.4 with a held base at rest: joints follow as far as the base feels nothing."""
    model = ada.load(robot)
    controller = make("reaction_null_space", model)
    stiffness, damping = controller.settings.stiffness[0], controller.settings.damping[0]
    gain = controller.settings.momentum_gain
    rng = np.random.default_rng(7)
    joints = model.nv - 6
    q, v = model.neutral(), np.zeros(model.nv)
    ends = np.array([[limit.lower, limit.upper] for limit in controller.limits]).T
    q[7:], v[6:] = np.clip(0.2 * rng.normal(size=joints), *ends), 0.1 * rng.normal(size=joints)
    goal = np.clip(q[7:] + 0.05, *ends)
    law: Law | None = None
    if PINOCCHIO in peers.available():
        other = PinocchioModel(model)
        pin, m, d = other.pin, other.model, other.data
        rest, a = np.zeros(model.nv), np.zeros(model.nv)

        def efforts(q: Array, v: Array) -> Array:
            wanted = stiffness * (goal - q[7:]) - damping * v[6:]
            M_fl = pin.crba(m, d, q)[:6, 6:]
            # effort of the velocities on the base, without its weight
            bias = pin.rnea(m, d, q, v, rest)[:6] - pin.computeGeneralizedGravity(m, d, q)[:6]
            due = M_fl @ (wanted + gain * v[6:]) + bias
            a[6:] = wanted - np.linalg.lstsq(M_fl, due, rcond=1e-6)[0]
            return np.asarray(pin.rnea(m, d, q, v, a)[6:])

        law = efforts
    title = f"{robot}, {joints} joints: Reaction Null-Space"
    _compare(report, plan, title, controller, State(q, v), JointReference(goal), law, 50.0, AGREEMENT)


# --- how ------------------------------------------------------------------------------------------------------------
def _compare(
    report: Report,
    plan: Plan,
    title: str,
    controller: Controller[Any],
    state: State,
    reference: JointReference,
    law: Law | None,
    limit: float,
    agreement: float,
) -> None:
    """Times of an update; the time goes on by a period with each."""
    q, v = state.q, state.v
    controller.reset(state, 0.0)
    own = controller.update(state, reference, 0.0).effort
    assert own is not None
    clock = count(PERIOD, PERIOD)
    names = {"u": controller.update, "s": state, "r": reference, "clock": clock, "R": JointReference}
    contenders = [
        Contender(OURS, "u(s, r, next(clock))", names),
        Contender(STREAMED, "u(s, R(*r), next(clock))", names),
    ]
    aims = []
    if law is not None:
        effort = np.array([lim.effort for lim in controller.limits])

        def update(q: Array, v: Array) -> Array:
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                raise ValueError("the state is not finite")
            return np.clip(law(q, v), -effort, effort)

        peers.require_agreement(title, own[None], update(q, v)[None], agreement)
        contenders.append(Contender(PINOCCHIO, "u(q, v)", {"u": update, "q": q, "v": v}))
        contenders.append(Contender(f"{PINOCCHIO}, the law alone", "u(q, v)", {"u": law, "q": q, "v": v}))
        aims = [Aim(PINOCCHIO, OURS), Aim(f"{PINOCCHIO}, the law alone", OURS)]
    timings = measure(contenders, plan)
    report.timings(title, timings, aims)
    report.aim(f"{title}: an update", MICRO * timings.median(OURS), limit, "us")
