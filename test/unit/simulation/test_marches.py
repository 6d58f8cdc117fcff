# SPDX-License-Identifier: Apache-2.0
"""The compiled marches do what the same methods do in Python, with the order that they have."""

from dataclasses import replace

import numpy as np
import pytest
from random_trees import random_tree
from scipy.integrate import solve_ivp

import ada_dynamics as ada
from ada_dynamics.contact.contact import Contact, ContactSphere, Ground, Material
from ada_dynamics.dynamics import kernels
from ada_dynamics.jit import TapeKernel
from ada_dynamics.simulation import Simulation, integration, system
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.simulation.stepper import Stepper

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


@pytest.mark.parametrize("name", ["rk4", "rkf45", "semi_implicit"])
def test_a_compiled_march_and_the_same_steps_in_python_agree_to_rounding(arm, name, monkeypatch):
    model, q, v = arm
    compiled = Simulation(model, q, v, integrator=name, step=2e-3)
    compiled.run(0.2)
    monkeypatch.setattr(Stepper, "_native_march", lambda self: None)
    plain = Simulation(model, q, v, integrator=name, step=2e-3)
    plain.run(0.2)
    assert plain.motion.stepper._native is None
    np.testing.assert_allclose(state(compiled), state(plain), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_adaptive_march_and_the_same_in_python_take_the_same_steps(arm, name, monkeypatch):
    model, q, v = arm
    compiled = Simulation(model, q, v, integrator=name, step=0.25)
    log = compiled.run(1.0)
    monkeypatch.setattr(Stepper, "_native_march", lambda self: None)
    plain = Simulation(model, q, v, integrator=name, step=0.25)
    other = plain.run(1.0)
    assert log.info["steps"] == other.info["steps"]
    np.testing.assert_allclose(log.q, other.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rkf45", "semi_implicit", *ADAPTIVE])
def test_a_robot_too_large_for_code_of_its_own_is_marched_on_a_tape(name, monkeypatch):
    """Its bodies have other axes than those of its own code, in which contacts push."""
    model = random_tree(5, ["revolute", "spherical", "prismatic"], "floating")
    q, v = model.random_state(np.random.default_rng(2))
    ball = ContactSphere("ball", model.link_names[-1], (0.1, 0.0, 0.2), 0.5)
    ground = Contact(spheres=[ball], ground=Ground(height=1.0), material=Material(stiffness=50.0))

    def run(**options):
        sim = Simulation(model, q, 0.1 * v, integrator=name, step=1e-3, contact=ground, **options)
        sim.run(0.05)
        return sim

    monkeypatch.setattr(kernels, "SPECIALISE_UP_TO", 3)
    taped = run()
    assert taped.motion.stepper.is_native and taped.dynamics.is_generic
    assert isinstance(taped.motion.system.rate, TapeKernel)
    monkeypatch.setattr(system, "ON_TAPE_UP_TO", 3)
    called = run()
    assert not called.motion.stepper.is_native
    monkeypatch.undo()
    own = run()
    assert own.motion.system.has_own_code
    for other in (called, own):
        np.testing.assert_allclose(state(taped), state(other), rtol=0, atol=1e-9)
    assert np.max(np.abs(state(taped) - state(Simulation(model, q, 0.1 * v)))) > 1e-3


@pytest.mark.parametrize("name", ["rk4", "rkf45"])
def test_the_error_falls_at_least_with_the_order_of_the_method(arm, truth, name):
    model, q, v = arm
    errors = []
    for step in (0.005, 0.0025):
        sim = Simulation(model, q, v, integrator=name, step=step)
        sim.run(1.0)
        errors.append(np.max(np.abs(state(sim) - truth)))
    assert np.log2(errors[0] / errors[1]) > METHODS[name].order - 0.3


def test_semi_implicit_euler_is_of_first_order(arm, truth):
    model, q, v = arm
    errors = []
    for step in (1e-3, 5e-4):
        sim = Simulation(model, q, v, integrator="semi_implicit", step=step)
        sim.run(1.0)
        errors.append(np.max(np.abs(state(sim) - truth)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_adaptive_steps_keep_their_tolerance(arm, truth, name, tolerance):
    model, q, v = arm
    sim = Simulation(model, q, v, integrator=name, step=1.0, tolerance=tolerance)
    sim.run(1.0)
    # errors of steps add up, and grow with the motion: by a factor of 30 here
    assert np.max(np.abs(state(sim) - truth)) < 100.0 * tolerance


def test_dop853_takes_the_steps_that_scipy_takes(arm):
    """Same coefficients, same error estimate: the work to a tolerance is the same within a few steps."""
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
    steps = log.info["steps"] + sim.motion.stepper.counts.refused
    assert steps == pytest.approx(calls / 12, rel=0.25)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_steps_without_an_error_grow_tenfold(name, is_compiled, monkeypatch):
    """A slide at rest that nothing pushes: there is no error at all, and the next step is as long as it may be."""
    model = ada.Builder("slide").link("rail").link("car", 2.0).joint("x", "prismatic", "rail", "car", axis=(1, 0, 0))
    if not is_compiled:
        monkeypatch.setattr(Stepper, "_native_march", lambda self: None)
    sim = Simulation(model.build(gravity=(0, 0, 0)), [0.5], [0.0], integrator=name, step=1e6)
    log = sim.run(1e6)
    assert log.q[-1, 0] == 0.5
    assert sim.motion.stepper.counts.refused == 0
    assert log.info["steps"] == 10  # 1e-3 (1 + 10 + ... + 10⁹) s are more than 10⁶


def test_orders_hold_on_the_manifold_of_rotations(monkeypatch):
    """A free body that tumbles: the quaternion's error falls with the order, and its length stays 1."""
    model = ada.Builder("body")
    model.link("body", mass=2.0, com=(0.1, 0.0, -0.2), inertia=np.diag([0.1, 0.25, 0.3]))
    model = model.build(base="floating")
    q = model.neutral()
    v = np.array([0.1, 0.2, -0.1, 1.0, -2.0, 1.5])
    exact = Simulation(model, q, v, integrator="dop853", step=1.0, tolerance=1e-14)
    exact.run(1.0)
    # of adaptive methods the formula itself: with steps of equal length
    monkeypatch.setattr(integration, "METHODS", {name: replace(one, errors=None) for name, one in METHODS.items()})
    for name in ("rk4", "rkf45", "tsit5"):
        errors = []
        for step in (0.02, 0.01):
            sim = Simulation(model, q, v, integrator=name, step=step)
            log = sim.run(1.0)
            errors.append(np.max(np.abs(state(sim) - state(exact))))
            assert np.max(np.abs(np.linalg.norm(log.q[:, 3:], axis=1) - 1.0)) < 4e-16
        assert np.log2(errors[0] / errors[1]) == pytest.approx(METHODS[name].order, abs=0.5)


def test_rows_of_the_log_are_the_states_on_the_way(arm):
    model, q, v = arm
    every = Simulation(model, q, v).run(0.1)
    third = Simulation(model, q, v, log_every=3).run(0.1)
    np.testing.assert_allclose(every.t, np.arange(101) * 1e-3, atol=1e-15)
    np.testing.assert_array_equal(third.q[:-1], every.q[0:100:3])
    np.testing.assert_array_equal(third.q[-1], every.q[-1])  # the end is always there


def test_a_run_in_pieces_is_the_run_in_one(arm):
    model, q, v = arm
    whole = Simulation(model, q, v).run(0.5)
    sim = Simulation(model, q, v)
    for _ in range(5):
        part = sim.run(0.1)
    np.testing.assert_array_equal(part.q[-1], whole.q[-1])
    assert part.t[0] == pytest.approx(0.4) and sim.t == pytest.approx(0.5)


def test_steps_and_runs_agree(arm):
    model, q, v = arm
    whole = Simulation(model, q, v).run(0.05)
    sim = Simulation(model, q, v)
    sim.step(20)
    sim.step(30)
    np.testing.assert_array_equal(sim.q, whole.q[-1])
    sim.reset()
    np.testing.assert_array_equal(sim.q, q)
    assert sim.t == 0.0


def test_a_duration_off_the_grid_ends_with_a_shorter_step(arm, truth):
    model, q, v = arm
    sim = Simulation(model, q, v, step=0.0007)
    log = sim.run(1.0)
    assert log.t[-1] == 1.0
    np.testing.assert_allclose(state(sim), truth, atol=1e-9)


def test_very_long_chains_run_on_the_loop_kernels():
    """90 links: no code of their own; the energy tells that the steps are right."""
    model = ada.planar_chain(90)
    q = np.zeros(90)
    q[0] = 0.5
    log = Simulation(model, q, step=1e-3).run(0.02)
    assert log.energy_drift < 1e-9
