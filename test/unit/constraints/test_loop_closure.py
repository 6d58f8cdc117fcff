# SPDX-License-Identifier: Apache-2.0
"""Positions completed from those of chosen coordinates: compiled, in one assembly mode, with a status per state."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics.loop_closure import BEYOND_LIMITS, CLOSED, NOT_CLOSED, SINGULAR
from ada_dynamics.robots import mechanisms

COORDINATES = {
    "five_bar": "actuated",
    "stewart": "actuated",
    "delta": "actuated",
    "cassie_leg": "independent",
    "parallel_ankle": ["ankle_pitch", "ankle_roll"],
}


@pytest.fixture(scope="module")
def dynamics():
    made = {name: ada.Dynamics(ada.load(name)) for name in COORDINATES}
    return made.__getitem__


def wanted(closure, size, count=20):
    rng = np.random.default_rng(0)
    return closure.reference[closure.places] + size * rng.normal(size=(count, len(closure.places)))


@pytest.mark.parametrize("name", COORDINATES)
def test_batch_and_single_states_close_the_loops_with_the_given_positions(name, dynamics):
    dyn = dynamics(name)
    closure = dyn.constraints.loop_closure(COORDINATES[name])
    given = wanted(closure, 0.02)
    q, status = closure.solve(given)
    assert (status < NOT_CLOSED).all()
    assert np.array_equal(q[:, closure.places], given)
    assert dyn.constraints.closure_error(q).max() < 1e-14
    for row, y in zip(q, given, strict=True):
        one = closure.solve(y)
        np.testing.assert_allclose(one.q, row, rtol=0, atol=1e-9)
        if not dyn.model.has_manifold_coordinates:
            free = ~np.isin(np.arange(dyn.model.nq), closure.places)
            held = [dyn.model.joint_of_position(k) for k in closure.places]
            np.testing.assert_allclose(ada.close_loops(dyn.model, row + 0.01 * free, held), row, rtol=0, atol=1e-9)


def test_a_five_bar_follows_its_closed_form_in_one_assembly_mode(dynamics):
    dyn = dynamics("five_bar")
    closure = dyn.constraints.loop_closure("actuated")
    given = wanted(closure, 0.25, 200)
    q, status = closure.solve(given)
    ok = status < NOT_CLOSED
    assert ok.mean() > 0.95  # the straight way to the others passes a singular configuration
    assert np.isnan(q[~ok]).all()
    left = 0.3 * np.stack([np.sin(given[:, 0]), np.cos(given[:, 0])], axis=1)
    right = [0.2, 0.0] + 0.3 * np.stack([np.sin(given[:, 1]), np.cos(given[:, 1])], axis=1)
    away = right - left
    half = np.linalg.norm(away, axis=1, keepdims=True) / 2
    normal = np.stack([-away[:, 1], away[:, 0]], axis=1) / (2 * half)
    tip = (left + right) / 2 + np.sqrt(0.25 - half**2) * normal
    found = np.array([dyn.pose("left_rod", row) @ [0, 0, 0.5, 1] for row in q[ok]])
    np.testing.assert_allclose(found[:, [0, 2]], tip[ok], atol=1e-9)


def test_unreachable_positions_are_refused_by_name_and_state():
    model, q = mechanisms.five_bar(width=0.6, tip=(0.3, 0.6))
    dyn = ada.Dynamics(model, q0=q)
    with pytest.raises(ada.ModelError) as one:
        dyn.constraints.complete_position([-1.6, 1.6])
    assert one.value.field == "given" and one.value.loop == "tip"
    with pytest.raises(ada.ModelError) as several:
        dyn.constraints.complete_position([q[[0, 2]], [-1.6, 1.6]])
    assert several.value.field == "given[1]"
    with pytest.raises(ada.InputError):
        dyn.constraints.complete_position([np.nan, 0.0])
    with pytest.raises(ada.UnknownNameError):
        dyn.constraints.complete_position({"left_rod": 0.1})


def test_the_other_side_of_a_singular_configuration_is_not_entered():
    model, q = mechanisms.four_bar()
    closure = ada.Dynamics(model, q0=q).constraints.loop_closure(["joint_3"])
    given = np.linspace(q[2] - 3.0, q[2] + 3.0, 61)[:, None]
    _, status = closure.solve(given)
    assert status[30] == CLOSED
    assert set(status) & {NOT_CLOSED, SINGULAR}


def test_limits_are_reported(dynamics):
    dyn = dynamics("parallel_ankle")
    closure = dyn.constraints.loop_closure(["ankle_pitch", "ankle_roll"])
    assert closure.solve({"ankle_pitch": 0.59}).status == CLOSED
    assert closure.solve({"ankle_pitch": 0.65}).status == BEYOND_LIMITS
    with pytest.warns(ada.BeyondLimitsWarning) as caught:
        dyn.constraints.complete_position([0.65, 0.0], ["ankle_pitch", "ankle_roll"])
    assert caught[0].message.joints == {"ankle_pitch": pytest.approx(0.05)}


def test_a_servo_loop_starts_from_the_last_solution(dynamics):
    dyn = dynamics("stewart")
    closure = dyn.constraints.loop_closure("actuated")
    y, q = closure.reference[closure.places], closure.reference
    for t in np.linspace(0.0, 1.0, 50):
        q = closure.solve(y + 0.05 * np.sin(np.arange(6) + 3 * t), near=q).q
    np.testing.assert_allclose(q, dyn.constraints.complete_position(y + 0.05 * np.sin(np.arange(6) + 3)), atol=1e-10)


def test_close_loops_takes_batches_and_positions_by_name(dynamics):
    model = dynamics("five_bar").model
    q = ada.close_loops(model, {"left_crank": 0.2, "right_crank": -0.1}, hold=model.actuated)
    assert q[model.q_index("left_crank")] == 0.2 and q.residual < 1e-14
    guesses = np.asarray(q) + 0.05 * np.random.default_rng(0).normal(size=(30, model.nq))
    found = ada.close_loops_batch(model, guesses, hold=model.actuated)
    assert (found.status == CLOSED).all()
    for guess, row in zip(guesses, found.q, strict=True):
        np.testing.assert_allclose(row, ada.close_loops(model, guess, hold=model.actuated), atol=1e-9)
    free = ada.close_loops_batch(model, guesses[:3])
    assert (free.status == CLOSED).all() and dynamics("five_bar").constraints.closure_error(free.q).max() < 1e-12
    with pytest.raises(ada.InputError):
        ada.close_loops(model, {"left_crank": [0.1, 0.2]})


def test_a_simulation_starts_from_positions_by_name(dynamics):
    model = dynamics("five_bar").model
    sim = ada.Simulation(model, {"left_crank": 0.2, "right_crank": -0.1})
    by_name = dict(zip(model.joint_names, sim.q, strict=True))
    np.testing.assert_array_equal(dynamics("five_bar").mass_matrix(by_name), dynamics("five_bar").mass_matrix(sim.q))
    assert sim.q[model.q_index("left_crank")] == 0.2
    assert dynamics("five_bar").constraints.closure_error(sim.q) < 1e-14


def test_assembly_modes_are_named_and_complete(dynamics):
    model = dynamics("five_bar").model
    modes = ada.assembly_modes(model, [0.2, -0.2])
    assert list(modes) == ["elbow_up", "elbow_down"]
    tips = [ada.Dynamics(model, q0=q).pose("left_rod", q) @ [0, 0, 0.5, 1] for q in modes.values()]
    assert tips[0][2] > tips[1][2]
    assert all(q.residual < 1e-12 and q[0] == pytest.approx(0.2, abs=1e-12) for q in modes.values())
    six_bar = ada.load("watt_six_bar")
    assert len(ada.assembly_modes(six_bar)) in (2, 4)


def test_a_closure_far_from_the_guess_is_warned_of(dynamics):
    model = dynamics("five_bar").model
    with pytest.warns(ada.DistantClosureWarning) as caught:
        ada.close_loops(model, {"left_rod": -2.0, "right_rod": 2.0})
    assert caught[0].message.joints and set(caught[0].message.joints) <= set(model.joint_names)


def test_without_loops_all_positions_are_given():
    dyn = ada.Dynamics(ada.load("pa10"))
    given = np.array([[0.1] * 7, [4.0] * 7])
    q, status = dyn.constraints.loop_closure().solve(given)
    assert np.array_equal(q, given) and status.tolist() == [CLOSED, BEYOND_LIMITS]
    assert np.array_equal(dyn.constraints.complete_position(given[0]), given[0])
