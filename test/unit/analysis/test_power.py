# SPDX-License-Identifier: Apache-2.0
"""The power balance against closed forms of a pendulum and of a body; integrals of samples."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from refused import refused

from ada_dynamics import Builder, Dynamics, Simulation
from ada_dynamics.analysis.power import external_power, power_balance, stop_power
from ada_dynamics.analysis.sampled_signals import cumulative_integral
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.errors import InputError
from ada_dynamics.model import chain_3d
from ada_dynamics.model.elements import Limits, Mimic
from ada_dynamics.simulation.log import ContactFrame, Log

G = 9.81
MASS, LENGTH, INERTIA = 2.0, 0.5, 0.1  # of the pendulum; the inertia is about its centre of mass


def pendulum(**joint: Any):
    """A bob under a pivot, turning about y; at angle zero it hangs."""
    builder = Builder("pendulum").link("base").link("bob", MASS, (0.0, 0.0, -LENGTH), (INERTIA, INERTIA, INERTIA))
    return builder.joint("pivot", "revolute", "base", "bob", axis=(0.0, 1.0, 0.0), **joint).build()


def test_a_motor_that_is_held_over_each_step_does_torque_times_angle():
    log = Simulation(pendulum(), [1.0], controller=lambda t, q, v: [4.0 if t < 0.2995 else -2.5]).run(0.6)
    balance = power_balance(log)
    switch = 300
    wanted = 4.0 * (log.q[switch, 0] - log.q[0, 0]) - 2.5 * (log.q[-1, 0] - log.q[switch, 0])
    assert balance.work["input"][-1] == pytest.approx(wanted, rel=1e-12)
    assert balance.worst < 1e-10  # the jump costs nothing


def test_the_power_of_a_wrench_is_that_of_its_generalized_force():
    model = chain_3d(4, base="floating")
    dynamics, rng = Dynamics(model), np.random.default_rng(5)
    q, v = model.random_state(rng)
    wrench = {"link_3": rng.normal(size=6)}
    rest = np.zeros(model.nv)
    generalized = dynamics.inverse(q, rest, rest) - dynamics.inverse(q, rest, rest, external=wrench)
    assert external_power(dynamics, q, v, wrench) == pytest.approx(generalized @ v, rel=1e-11)


def test_smooth_friction_takes_less_below_its_speed_and_mimics_count():
    builder = Builder("pair").link("base").link("a", 1.0, inertia=(1, 1, 1)).link("b", 1.0, inertia=(1, 1, 1))
    builder.joint("one", "revolute", "base", "a", axis=(0, 1, 0), friction=0.5, damping=0.2)
    builder.joint("two", "revolute", "base", "b", axis=(0, 1, 0), friction=1.0, damping=0.1, mimic=Mimic("one", -3.0))
    model = builder.build()
    v = np.array([[0.2], [-0.01], [0.0]])
    hard = [0.2 * x**2 + 0.1 * 9.0 * x**2 + 0.5 * abs(x) + 3.0 * abs(x) for x in v[:, 0]]
    log = Log(model, np.arange(3.0), 0.0 * v, v, tau=0.0 * v)
    np.testing.assert_allclose(power_balance(log).dissipated, hard, atol=1e-15)
    s = 0.05
    soft = [1.1 * x**2 + 0.5 * x**2 / np.hypot(x, s) + 9.0 * x**2 / np.hypot(3.0 * x, s) for x in v[:, 0]]
    log.info["friction_speed"] = s
    np.testing.assert_allclose(power_balance(log).dissipated, soft, atol=1e-15)


def test_stops_take_and_give_back():
    model = pendulum(limits=Limits(lower=-0.5, upper=0.4))
    stops = JointStops(stiffness=200.0, damping=0.0)
    t = np.linspace(0.0, 1.0, 2001)
    q = (0.4 + 0.1 * np.sin(np.pi * t))[:, None]  # into the upper stop and out again
    v = (0.1 * np.pi * np.cos(np.pi * t))[:, None]
    power = stop_power(model, stops, q, v)
    np.testing.assert_allclose(power, -200.0 * (q[:, 0] - 0.4) * v[:, 0], atol=1e-12)
    balance = power_balance(Log(model, t, q, v, info={"stops": asdict(stops)}))
    assert np.min(balance.work["stops"]) == pytest.approx(-0.5 * 200.0 * 0.1**2, rel=1e-6)
    assert balance.work["stops"][-1] == pytest.approx(0.0, abs=1e-9)


def caught() -> tuple[Log, float]:
    """A box that falls and is caught by a constant force at a point."""
    model = Builder("box").link("box", 2.0, inertia=(0.1, 0.1, 0.1)).build("floating")
    t, force = np.linspace(0.0, 1.0, 101), 15.0
    a = force / 2.0 - G
    q, v = np.zeros((101, 7)), np.zeros((101, 6))
    q[:, 6], q[:, 2], v[:, 2] = 1.0, 0.5 * a * t**2, a * t
    wrench = np.zeros((101, 6))
    wrench[:, 2] = force
    frames = {"sole": ContactFrame("box", (0.0, 0.0, -0.1))}
    log = Log(model, t, q, v, None, np.zeros_like(v), contact_wrenches={"sole": wrench}, contact_frames=frames)
    return log, force


def test_contacts_do_force_times_the_way_of_their_point():
    log, force = caught()
    balance = power_balance(log)
    np.testing.assert_allclose(balance.contact, force * log.v[:, 2], atol=1e-12)
    assert balance.worst < 1e-12


def test_unknown_places_and_efforts_are_refused():
    log, _ = caught()
    log.contact_frames.clear()
    with refused(InputError, field="contact_frames", value="sole"):
        power_balance(log)
    log, _ = caught()
    log.tau[3] = np.nan
    with refused(InputError, field="tau", value=(101, 6)):
        power_balance(log)


def test_integrals_are_of_fourth_order():
    def error(n):
        t = np.linspace(0.0, 2.0, n + 1)
        return np.max(np.abs(cumulative_integral(t, np.cos(3.0 * t)) - np.sin(3.0 * t) / 3.0))

    assert error(200) < 1e-8
    assert error(100) / error(200) == pytest.approx(16.0, rel=0.15)


def test_times_that_stand_still_have_no_integral():
    with refused(InputError, field="times", value=2):
        cumulative_integral([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
