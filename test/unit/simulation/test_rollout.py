# SPDX-License-Identifier: Apache-2.0
"""Rollouts side by side are the same motions as one after the other."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.simulation import CompiledController, Event, Simulation, half_sine


@pytest.fixture(scope="module")
def arm():
    model = ada.planar_chain(3)
    rng = np.random.default_rng(7)
    return model, rng.uniform(-1.0, 1.0, (13, 3)), rng.normal(size=(13, 3)), rng.normal(size=(13, 3))


@pytest.mark.parametrize("integrator", ["rk4", "rkf45", "semi_implicit", "dop853"])
def test_motions_are_those_of_single_runs(arm, integrator):
    model, q, v, tau = arm
    sim = Simulation(model, integrator=integrator, step=2e-3)
    together = sim.rollout(q, v, 0.2, tau, rows_every=5)
    assert together.q.shape == (13, 21, 3)
    for i in (0, 6, 12):
        log = Simulation(model, q[i], v[i], tau=tau[i], integrator=integrator, step=2e-3, log_every=5).run(0.2)
        np.testing.assert_allclose(together.t, log.t, atol=1e-15)
        np.testing.assert_allclose(together.q[i], log.q, atol=1e-12)
        np.testing.assert_allclose(together.v[i], log.v, atol=1e-11)


def test_more_states_than_a_block_and_a_compiled_law(arm):
    model, q, v, _ = arm
    law = CompiledController(lambda t, q, v: [-3.0 * q[0] - 0.1 * v[0], 0.0, 0.0])
    sim = Simulation(model, controller=law)
    many = np.tile(q, (11, 1))
    together = sim.rollout(many, np.tile(v, (11, 1)), 0.05)
    np.testing.assert_array_equal(together.q[:13], together.q[13:26])
    for threads in (2, 3):
        np.testing.assert_array_equal(sim.rollout(many, np.tile(v, (11, 1)), 0.05, threads=threads).v, together.v)
    log = Simulation(model, q[4], v[4], controller=law).run(0.05)
    np.testing.assert_allclose(together.q[4 + 130], log.q, atol=1e-12)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "dop853"])
def test_a_law_that_depends_on_time_goes_on_from_call_to_call_and_begins_at_the_time_given(arm, integrator):
    model, q, v, _ = arm
    law = CompiledController(lambda t, q, v: [3.0 * t - q[0], 0.0, -t * v[2]])
    sim = Simulation(model, q[0], v[0], controller=law, integrator=integrator, step=2e-3)
    sim.reset(q[0], v[0], t=5.0)
    here, there, whole = sim.batch(q, v), sim.batch(q, v, t=5.0), sim.rollout(q, v, 0.1, rows_every=50)
    for _ in range(5):
        here.run(10)
    there.run(50)
    sim.step(50)
    assert here.t == there.t == whole.t[-1] == pytest.approx(sim.t, abs=1e-14)
    assert whole.t[0] == 5.0
    for found in (here.v, there.v, whole.v[:, -1]):
        np.testing.assert_allclose(found[0], sim.v, rtol=0, atol=1e-11)
    assert np.max(np.abs(sim.rollout(q, v, 0.1, t=0.0).v[:, -1] - here.v)) > 0.1
    later = sim.rollout(here.q, here.v, 0.02)
    here.run(10)
    np.testing.assert_allclose(later.v[:, -1], here.v, rtol=0, atol=1e-11)


def test_events_that_end_a_motion_are_refused_side_by_side_and_others_are_not_looked_for(arm):
    model, q, v, _ = arm
    event = {terminal: Event("passes", lambda t, q, v: t - 0.01, terminal=terminal) for terminal in (False, True)}
    for question in ("rollout", "batch"):
        arguments = (q, v, 0.1)[: 3 if question == "rollout" else 2]
        with pytest.raises(InputError):
            getattr(Simulation(model, events=[event[True]]), question)(*arguments)
        getattr(Simulation(model, events=[event[False]]), question)(*arguments)


def test_loops_stay_closed_through_singular_poses():
    model, _ = four_bar(masses=(1.0, 2.0, 0.5), offset=0.1)
    flat = np.array([np.pi / 2, 0.0, np.pi])
    q = np.array([np.deg2rad([60.0, 30.0, 150.0]), flat, np.deg2rad([50.0, 40.0, 140.0])])
    v = np.array([[0.0, 0.0, 0.0], [2.0, -2.0, 2.0], [0.0, 0.0, 0.0]])
    sim = Simulation(model)
    together = sim.rollout(q, v, 0.5, rows_every=10)
    for i in range(3):
        single = Simulation(model, q[i], v[i], log_every=10).run(0.5)
        np.testing.assert_allclose(together.q[i], single.q, atol=1e-9)
        assert max(sim.dynamics.constraints.state(p).largest_violation for p in together.q[i]) < 1e-12


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros(3), None, 0.1),
        (np.zeros((2, 4)), None, 0.1),
        (np.zeros((2, 3)), np.zeros((3, 3)), 0.1),
        (np.zeros((2, 3)), None, 0.10005),
        (np.zeros((2, 3)), None, -1.0),
        (np.zeros((2, 3)), None, 0.1, np.zeros(2)),
        (np.array([[0.0, 0, 0], [0.0, np.nan, 0]]), None, 0.1),
    ],
)
def test_unusable_starts_are_refused_and_so_are_inputs_that_change_over_time(arm, arguments):
    profile = half_sine("link_3", (1, 0, 0, 0, 0, 0), 0.0, 0.1)
    for sim, given in ((Simulation(arm[0]), arguments), (Simulation(arm[0], external=[profile]), (arm[1], None, 0.1))):
        with pytest.raises(InputError):
            sim.rollout(*given)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_redundant_constraints_leave_a_motion_the_same_alone_and_among_others(integrator):
    """Each motion selects its combinations of redundant constraints where its own kernel stops."""
    sim = Simulation(ada.load("bennett"), integrator=integrator, step=2e-3)
    log = Simulation(sim.model, step=2e-3, log_every=100).run(0.6)
    together = sim.rollout(log.q, 3.0 * log.v, 0.2, rows_every=100)
    for i in range(len(log.t)):
        alone = sim.rollout(log.q[[i]], 3.0 * log.v[[i]], 0.2, rows_every=100)
        np.testing.assert_array_equal(alone.q[0], together.q[i])
        np.testing.assert_array_equal(alone.v[0], together.v[i])


@pytest.mark.parametrize("name", ["pa10", "five_bar"])
def test_a_motion_that_runs_away_is_lost_alone_until_it_is_placed_anew(name):
    model = ada.load(name)
    q = np.tile(ada.close_loops(model) if model.loops else np.full(7, 0.3), (3, 1))
    sim = ada.Simulation(model, q[0], integrator="semi_implicit", step=1e-3)
    tau = np.zeros((3, model.nv))
    tau[1, 0] = 1e200
    many, others = sim.batch(q), sim.batch(q[[0, 2]])
    many.run(20, tau)
    others.run(20, tau[[0, 2]])
    assert many.has_failed.tolist() == [False, True, False]
    assert np.array_equal(many.q[[0, 2]], others.q) and np.array_equal(many.v[[0, 2]], others.v)
    many.reset([1], q[[1]])
    many.run(20, np.zeros((3, model.nv)))
    assert not many.has_failed.any()
