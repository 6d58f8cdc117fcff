# SPDX-License-Identifier: Apache-2.0
"""Motions on a device are those of the processor at hand: chains, floating bases, loops, and through singular poses."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.contact.contact import Contact, ContactSphere
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError, SingularConfigurationWarning
from ada_dynamics.gpu.rollout import DeviceRollout
from ada_dynamics.model import Builder
from ada_dynamics.simulation import CompiledController

STARTS = 9


@pytest.fixture(scope="module", params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> str:
    return request.param


def starts(sim: ada.Simulation) -> tuple[np.ndarray, np.ndarray]:
    model, rng = sim.model, np.random.default_rng(1)
    q, v = np.tile(sim.q, (STARTS, 1)), 0.5 * rng.normal(size=(STARTS, model.nv))
    return sim.dynamics.project_to_constraints(q, v) if model.loops else (q, v)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit"])
@pytest.mark.parametrize("name", ["pa10", "five_bar", pytest.param("khr1", marks=pytest.mark.fuzz)])
def test_motions_are_those_of_the_processor_at_hand(name, integrator, device):
    model = ada.load(name)
    start = ada.close_loops(model, model.neutral()) if model.loops else None
    sim = ada.Simulation(model, start, integrator=integrator, step=1e-3)
    q, v = starts(sim)
    tau = np.random.default_rng(2).normal(size=(STARTS, model.nv)) * 1e-2
    expected = sim.rollout(q, v, 0.02, tau, rows_every=5)
    found = sim.rollout(q, v, 0.02, tau, rows_every=5, device=device)
    assert np.array_equal(found.t, expected.t)
    # 20 steps: roundings of each, of numbers near one
    assert np.allclose(found.q, expected.q, rtol=0, atol=1e-13)
    assert np.allclose(found.v, expected.v, rtol=0, atol=1e-11)


def test_steps_near_singular_poses_are_taken_by_the_robust_order_and_those_from_singular_poses_here(device):
    model = ada.load("four_bar")
    sim = ada.Simulation(model, ada.close_loops(model, model.neutral()), integrator="rk4", step=1e-3)
    speeds = np.linspace(2.0, 6.0, STARTS)
    q = np.tile(sim.q, (STARTS, 1))
    v = sim.dynamics.project_to_constraints(q, speeds[:, None] * np.array([1.0, 0.0, 0.0]))[1]
    q[4] = np.array([0.5, 0.0, 1.0]) * np.pi
    v[4] = 3.0 * kernels_of(sim.dynamics).closed.tangents(q[4])[0]
    with pytest.warns(SingularConfigurationWarning):
        expected = sim.rollout(q, v, 1.0, rows_every=100)
    motions = DeviceRollout(sim.context, np.concatenate([q, v], axis=1), np.zeros(model.nv), device)
    motions.run(1000)
    assert 0 < motions.cpu_steps < 5
    x = motions.x.numpy()
    assert np.allclose(x[:, :3], expected.q[:, -1], rtol=0, atol=1e-9)
    assert np.max(np.abs([sim.dynamics.constraints.closure_error(row[:3]) for row in x])) < 1e-9


def test_a_motion_that_cannot_go_on_is_lost_and_the_others_go_on(device):
    sim = ada.Simulation(ada.planar_chain(3), integrator="rk4", step=1e-3)
    q, v = np.zeros((STARTS, 3)), np.zeros((STARTS, 3))
    v[4] = 1e200  # its square is beyond all floats
    expected, found = (sim.rollout(q, v, 0.02, rows_every=5, device=name) for name in ("cpu", device))
    assert np.isnan(found.q[4, 1:]).all()
    assert np.array_equal(np.isnan(found.q), np.isnan(expected.q))
    others = np.arange(STARTS) != 4
    assert np.allclose(found.q[others], expected.q[others], rtol=0, atol=1e-13)


def test_redundant_loops_go_on_with_combinations_chosen_anew_where_they_are_worn_out(device):
    model = ada.load("bennett")
    sim = ada.Simulation(model, ada.close_loops(model), integrator="rk4", step=2e-3)
    q, v = starts(sim)
    v = sim.dynamics.project_to_constraints(q, 20.0 * v)[1]  # some make a full turn
    expected = sim.rollout(q, v, 0.4, rows_every=200)
    motions = DeviceRollout(sim.context, np.concatenate([q, v], axis=1), np.zeros(model.nv), device)
    motions.run(200)
    assert 0 < motions.cpu_steps < 0.05 * 200 * STARTS
    assert np.allclose(motions.x.numpy()[:, :3], expected.q[:, -1], rtol=0, atol=1e-9)
    assert sim.dynamics.constraints.closure_error(motions.x.numpy()[0, :3]) < 1e-12


def test_compiled_laws_and_smooth_contact_go_along(device):
    model = ada.planar_chain(3)
    rng = np.random.default_rng(7)
    q, v = rng.uniform(-1.0, 1.0, (STARTS, 3)), rng.normal(size=(STARTS, 3))
    held = ada.Simulation(model, controller=CompiledController(lambda t, q, v: [-3.0 * q[0] - 0.1 * v[0], 0.0, 0.0]))
    assert np.allclose(held.rollout(q, v, 0.05, device=device).q, held.rollout(q, v, 0.05).q, rtol=0, atol=1e-12)

    ball = Builder("ball").link("body", 1.0, inertia=(4e-3,) * 3).build(base="floating")
    contact = Contact(spheres=[ContactSphere("ball", "body", (0, 0, 0), 0.05)])
    falling = ada.Simulation(ball, contact=contact, integrator="semi_implicit", step=1e-3)
    q = np.tile(ball.neutral(), (STARTS, 1))
    q[:, 2] = np.linspace(0.045, 0.06, STARTS)  # some touch the ground at once, some later
    v = np.tile([0.5, 0.0, -0.5, 0.0, 1.0, 0.0], (STARTS, 1))
    assert np.allclose(falling.rollout(q, v, 0.1, device=device).v, falling.rollout(q, v, 0.1).v, rtol=0, atol=1e-9)


def test_motions_that_are_no_function_of_the_state_are_refused():
    model = ada.load("pa10")
    timed = CompiledController(lambda t, q, v: [t, *[0.0] * 6])
    for device, settings in (
        ("host", {"integrator": "dop853"}),
        ("host", {"integrator": "rk4", "controller": timed}),
        ("gpu", {"integrator": "rk4"}),
    ):
        with pytest.raises(InputError):
            ada.Simulation(model, step=1e-2, **settings).rollout(np.zeros((2, 7)), None, 0.1, device=device)
