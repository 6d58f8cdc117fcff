# SPDX-License-Identifier: Apache-2.0
"""PID control: eq. 1 of Awa 2009 against closed forms, its steady state, its sum and its start."""

import math
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_controllers import Command, JointReference, State, make
from ada_controllers.in_simulation import InSimulation
from ada_controllers.pid import LONGEST
from ada_dynamics.model.elements import Limits

INERTIA = 0.5  # [kg m²]
WEIGHT = 0.4 * 9.81 * 0.3  # of the bob, with its lever [N m]


def pendulum(effort: float = math.inf, gravity: float = 9.81) -> ada.Model:
    """A bob at the side of its pivot when q = 0, so that its weight acts at full lever."""
    builder = ada.Builder("pendulum").link("base")
    builder.link("bob", 0.4, (0.3, 0.0, 0.0), (0.0, INERTIA - 0.4 * 0.09, 0.01))
    limits = Limits(effort=effort)
    builder.joint("pivot", "revolute", "base", "bob", axis=(0, 1, 0), limits=limits)
    return builder.build(gravity=(0.0, 0.0, -gravity))


def pid(model: ada.Model, **settings: Any) -> Any:
    scalars = ("derivative_filter", "anti_windup")
    return make("pid", model, {name: value if name in scalars else [value] for name, value in settings.items()})


def test_efforts_are_equation_1_on_a_ramp() -> None:
    dt, c, steps = 1e-3, 0.2, 400
    controller = pid(pendulum(), gain=5.0, integral_time=0.5, derivative_time=0.1)
    controller.reset(State(np.zeros(1), np.zeros(1)), 0.0)
    for k in range(steps + 1):
        state = State(np.array([-c * k * dt]), np.array([-c]))
        effort = controller.update(state, None, k * dt).effort
    t = steps * dt
    assert effort == pytest.approx(5.0 * (c * t + c * t * (t + dt) / 2.0 / 0.5 + 0.1 * c), rel=1e-12)
    assert controller.signals()["error"] == pytest.approx(c * t)


def test_the_derivative_is_that_of_the_error_and_smooths_as_a_first_order_lag() -> None:
    dt, lag = 1e-4, 0.02
    controller = pid(pendulum(), gain=2.0, integral_time=0.0, derivative_time=0.5, derivative_filter=lag)
    state = State(np.zeros(1), np.zeros(1))
    controller.reset(state, 0.0)
    reference = JointReference(np.zeros(1), np.ones(1))
    for k in range(1, 401):
        effort = controller.update(state, reference, k * dt).effort
    assert effort == pytest.approx(1.0 - math.exp(-400 * dt / lag), rel=0.5 * dt / lag * 2.0)


def test_a_robot_comes_to_rest_at_the_reference_in_spite_of_its_weight() -> None:
    model = pendulum()
    controller = pid(model, gain=50.0, integral_time=0.5, derivative_time=0.2)
    loop = InSimulation(controller, JointReference(np.array([0.4])))
    log = loop.simulation(model, np.zeros(1), step=2e-3).run(8.0)
    assert log.q[-1] == pytest.approx([0.4], abs=1e-5)
    # what the sum carries is the weight
    assert loop.signals["integral"][-1] == pytest.approx([-WEIGHT * math.cos(0.4)], abs=1e-3)


def test_the_sum_waits_while_the_effort_is_cut() -> None:
    model = pendulum(effort=1.0, gravity=0.0)
    overshoot, added = {}, {}
    for waits in (True, False):
        controller = pid(model, gain=20.0, integral_time=4.0, derivative_time=1.0, anti_windup=waits)
        loop = InSimulation(controller, JointReference(np.array([2.0])))
        log = loop.simulation(model, np.zeros(1), step=2e-3, integrator="rk4").run(4.0)
        overshoot[waits] = float(log.q.max()) - 2.0
        cut = np.flatnonzero(loop.signals["effort"][:, 0] < 1.0)[0]  # the first period that is not
        added[waits] = float(loop.signals["integral"][cut - 1, 0])
    assert added[True] == 0.0
    assert added[False] > 5.0
    assert 0.0 < overshoot[True] < 0.7 * overshoot[False]


def test_it_goes_on_from_the_effort_that_the_joints_were_told_last() -> None:
    controller = pid(pendulum(), gain=30.0, integral_time=0.4, derivative_time=0.2)
    state = State(np.array([0.7]), np.array([0.3]))
    controller.reset(state, 5.0, Command(effort=np.array([2.5])))
    assert controller.update(state, None, 5.0).effort == pytest.approx([2.5])
    assert controller.update(state, None, 5.001).effort == pytest.approx([2.5])


def test_without_a_gain_it_takes_those_that_damp_the_inertia_at_each_motor_critically() -> None:
    model = pendulum(gravity=0.0)
    loop = InSimulation(make("pid", model, {"integral_time": [0.0]}), JointReference(np.array([0.4])))
    log = loop.simulation(model, np.zeros(1), step=1e-3, integrator="rk4").run(1.0)
    wanted = 0.4 * (1.0 - (1.0 + 10.0 * log.t) * np.exp(-10.0 * log.t))
    assert np.max(np.abs(log.q[:, 0] - wanted)) < 2e-3  # efforts are held for a step


def test_a_long_gap_between_updates_is_not_summed_up() -> None:
    controller = pid(pendulum(), gain=1.0, integral_time=1.0, derivative_time=0.0)
    state = State(np.zeros(1), np.zeros(1))
    controller.reset(state, 0.0)
    told = controller.update(state, JointReference(np.array([1.0])), 1000.0).effort
    assert told == pytest.approx([1.0 + LONGEST])


def test_the_speed_loop_goes_on_from_there_too_and_makes_its_effort_of_a_target_speed() -> None:
    controller = pid(pendulum(), gain=5.0, integral_time=0.5, derivative_time=0.1, speed_gain=0.8)
    state = State(np.array([0.7]), np.array([0.3]))
    controller.reset(state, 5.0, Command(effort=np.array([2.5])))
    assert controller.update(state, None, 5.0).effort == pytest.approx([2.5])
    controller.reset(state, 6.0)
    e, v = 0.2, 0.3
    u = 5.0 * (e + e * 0.01 / 0.5 - 0.1 * v)  # eq. 1 after one period of 10 ms
    told = controller.update(state, JointReference(np.array([0.9])), 6.01).effort
    assert told == pytest.approx([0.8 * (u - v)])
