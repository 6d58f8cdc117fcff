# SPDX-License-Identifier: Apache-2.0
"""The compiled marches do what the same methods do in Python, with the order that they have."""

from dataclasses import replace

import numpy as np
import pytest
from random_trees import random_tree
from scipy.integrate import solve_ivp
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.contact.contact import Contact, ContactSphere, Ground, Material
from ada_dynamics.model.elements import Mimic
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.methods import METHODS

ADAPTIVE = [name for name, method in METHODS.items() if method.is_adaptive]


@pytest.fixture(scope="module")
def arm():
    model = ada.planar_chain(3)
    return model, np.array([1.0, -0.4, 0.7]), np.array([0.3, -0.2, 0.5])


@pytest.fixture(scope="module")
def truth(arm):
    """The state after 1 s by scipy, an order of magnitude more exact than what is compared to it."""
    model, q, v = arm
    dynamics = ada.Dynamics(model)

    def rate(t, x):
        return np.concatenate([x[3:], dynamics.forward(x[:3].copy(), x[3:].copy(), np.zeros(3))])

    return solve_ivp(rate, (0.0, 1.0), np.concatenate([q, v]), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def state(sim):
    return np.concatenate([sim.q, sim.v])


@pytest.mark.parametrize(
    ("name", "step"), [("rk4", 5e-3), ("rkf45", 5e-3), ("semi_implicit", 5e-3), *((one, 0.1) for one in ADAPTIVE)]
)
def test_a_compiled_march_and_the_same_steps_in_python_agree_to_rounding(arm, name, step, monkeypatch):
    logs = []
    for jit in ("on", "off"):
        monkeypatch.setenv("ADA_JIT", jit)
        sim = Simulation(*arm, integrator=name, step=step)
        logs.append(sim.run(0.2))
        assert sim.context.integrator.is_native == (jit == "on")
    compiled, plain = logs
    assert compiled.info["steps"] == plain.info["steps"]
    np.testing.assert_allclose(compiled.q, plain.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(compiled.v, plain.v, rtol=0, atol=1e-12)


def errors_of(arm, name, truth, steps):
    ends = []
    for step in steps:
        sim = Simulation(*arm, integrator=name, step=step)
        sim.run(1.0)
        ends.append(np.max(np.abs(state(sim) - truth)))
    return ends


@pytest.mark.parametrize(
    ("name", "steps", "order"),
    [("rk4", (0.005, 0.0025), 4), ("rkf45", (0.005, 0.0025), 5), ("semi_implicit", (1e-3, 5e-4), 1)],
)
def test_the_error_falls_with_the_order_of_the_method(arm, truth, name, steps, order):
    first, second = errors_of(arm, name, truth, steps)
    assert METHODS[name].order == order and order - 0.3 < np.log2(first / second) < (1.1 if order == 1 else 9.0)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_adaptive_steps_keep_their_tolerance(arm, truth, name, tolerance):
    sim = Simulation(*arm, integrator=name, step=1.0, tolerance=tolerance)
    sim.run(1.0)
    # errors of steps add up, and grow with the motion: by a factor of 30 here
    assert np.max(np.abs(state(sim) - truth)) < 100.0 * tolerance


def test_dop853_takes_the_steps_that_scipy_takes(arm):
    model, q, v = arm
    dynamics = ada.Dynamics(model)
    calls = 0

    def rate(t, x):
        nonlocal calls
        calls += 1
        return np.concatenate([x[3:], dynamics.forward(x[:3].copy(), x[3:].copy(), np.zeros(3))])

    solve_ivp(rate, (0.0, 3.0), np.concatenate([q, v]), method="DOP853", rtol=1e-9, atol=1e-9)
    sim = Simulation(model, q, v, integrator="dop853", step=3.0, tolerance=1e-9)
    log = sim.run(3.0)
    steps = log.info["steps"] + sim.context.integrator.counts.refused
    assert steps == pytest.approx(calls / 12, rel=0.25)


def test_orders_hold_on_the_manifold_of_rotations():
    model = ada.Builder("body")
    model.link("body", mass=2.0, com=(0.1, 0.0, -0.2), inertia=np.diag([0.1, 0.25, 0.3]))
    model = model.build(base="floating")
    q = model.neutral()
    v = np.array([0.1, 0.2, -0.1, 1.0, -2.0, 1.5])
    exact = Simulation(model, q, v, integrator="dop853", step=1.0, tolerance=1e-14)
    exact.run(1.0)
    for name in ("rk4", "rkf45", "tsit5"):
        errors = []
        for step in (0.02, 0.01):
            # of adaptive methods the formula itself: with steps of equal length
            sim = Simulation(model, q, v, integrator=replace(METHODS[name], errors=None), step=step)
            log = sim.run(1.0)
            errors.append(np.max(np.abs(state(sim) - state(exact))))
            assert np.max(np.abs(np.linalg.norm(log.q[:, 3:], axis=1) - 1.0)) < 4e-16
        assert np.log2(errors[0] / errors[1]) == pytest.approx(METHODS[name].order, abs=0.5)


@pytest.mark.parametrize("ratio", [1.0, -0.5])
def test_all_methods_move_a_joint_that_follows_another_one(ratio):
    builder = ada.Builder("pair").link("base").link("a", 1.0, (0.3, 0, 0), (0.01, 0.02, 0.03))
    builder.link("b", 2.0, (0.2, 0, 0), (0.02, 0.03, 0.04)).joint("j", "revolute", "base", "a", axis=(0, 1, 0))
    model = builder.joint("k", "revolute", "a", "b", (0.5, 0, 0), axis=(0, 1, 0), mimic=Mimic("j", ratio)).build(
        "fixed"
    )
    runs = {name: Simulation(model, [0.3], [0.1], integrator=name, step=1e-4) for name in METHODS}
    for sim in runs.values():
        sim.run(0.05)
    for sim in runs.values():
        np.testing.assert_allclose(state(sim), state(runs["dop853"]), atol=1e-3)


def test_runs_in_pieces_and_steps_are_the_run_in_one(arm):
    whole, sim = Simulation(*arm).run(0.1), Simulation(*arm)
    part = [sim.run(0.02) for _ in range(2)][-1]
    assert part.t[0] == pytest.approx(0.02) and sim.t == pytest.approx(0.04)
    sim.step(20)
    sim.step(40)
    np.testing.assert_array_equal(sim.q, whole.q[-1])
    sim.reset()
    np.testing.assert_array_equal(sim.q, arm[1])
    assert sim.t == 0.0


@pytest.mark.parametrize(
    ("links", "name"), [nightly(61, "rkf45"), nightly(61, "dop853"), nightly(90, "rkf45"), (260, "rkf45")]
)
def test_long_chains_run_on_long_code_and_generic_kernels(links, name):
    q = np.zeros(links)
    q[0] = 0.5
    log = Simulation(ada.planar_chain(links), q, integrator=name, step=1e-3).run(0.02)
    assert log.energy_drift < 1e-9


def test_contact_in_long_code_pushes_as_its_log_says_and_power_balances():
    model, rng = random_tree(5, ["revolute", "spherical", "prismatic"] * 23, "floating"), np.random.default_rng(2)
    q, _ = model.random_state(rng)
    dynamics, ball = ada.Dynamics(model), ContactSphere("ball", model.link_names[-1], (0.0, 0.0, 0.0), 0.5)
    middle = float(dynamics.pose(ball.link, q)[2, 3])
    ground = Contact(spheres=[ball], ground=Ground(height=middle), material=Material(stiffness=50.0))
    sim = Simulation(model, q, integrator="rkf45", step=1e-6, contact=ground)
    assert sim.context.system.is_compiled and not sim.context.system.has_own_code
    log = sim.run(3e-6)
    wrenches = {link: wrench[0] for link, wrench in log.applied.items()}
    assert np.linalg.norm(wrenches[ball.link]) > 10.0
    expected = dynamics.forward(log.q[0], log.v[0], log.tau[0], wrenches)
    np.testing.assert_allclose((log.v[2] - log.v[0]) / 2e-6, expected, rtol=1e-3, atol=1e-3 * np.max(np.abs(expected)))
    assert power_balance(Simulation(model, q, integrator="rkf45", step=5e-5, contact=ground).run(0.02)).worst < 1e-9
