# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics with loops: against a reference in extended precision, tier by tier, and refusals."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from complex_step import changes_of_accelerations
from loop_robots import mechanism, slider_crank
from mechanism_oracle import Oracle
from numpy.typing import NDArray
from random_trees import KINDS
from refused import refused
from scipy.linalg import block_diag
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.model import edit
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots import mechanisms
from ada_experiments.pinocchio_model import PinocchioModel
from trials.random_mechanism import random_mechanism

Array = NDArray[np.float64]

MORE = ("five_bar", "cassie_leg", "parallel_gripper", "delta", "slider_crank", "watt_six_bar", "stewart", "two_feet")
SAME = 1e-9  # beside what the differences themselves are uncertain by


def derivative(f: Callable[[float], Array]) -> tuple[Array, float]:
    """Derivative at 0, and how well it is known: by the two steps, one half of the other, that agree best."""
    steps = [4e-3 / 2**k for k in range(5)]
    found = [(8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h) for h in steps]
    apart = [float(np.max(np.abs(one - other))) for one, other in pairwise(found)]
    best = int(np.argmin(apart))
    return found[best + 1], apart[best]


def state(name: str, seed: int = 3) -> tuple[ada.Model, Array, Array, Array]:
    """A mechanism away from its start, with velocities that its loops allow, and efforts."""
    model, q = mechanism(name)
    return model, *moving(model, q, seed)


def moving(model: ada.Model, q: Array, seed: int) -> tuple[Array, Array, Array]:
    rng, oracle = np.random.default_rng(seed), Oracle(model)
    q = oracle.nearby(q, rng, 0.2)
    v = np.asarray(oracle.admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
    return q, v, rng.normal(size=model.nv)


def along_the_loops(model: ada.Model, q: Array, v: Array, tau: Array) -> Iterator[tuple[Array, Array, Array, float]]:
    """Some directions of q and v that keep the loops closed, what the reference's accelerations do along them, and how
    well that is known.
    """
    oracle, rng = Oracle(model), np.random.default_rng(7)

    def reference(at: Array, speed: Array, efforts: Array) -> Array:
        return np.asarray(oracle.forward(at, speed, efforts).acceleration, dtype=np.float64)

    def pose(d: Array, t: float) -> Array:
        closed = oracle.close(model.integrate(q, d, t))
        assert closed is not None
        return np.asarray(closed, dtype=np.float64)

    for _ in range(2):
        d = np.asarray(oracle.admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
        speed = lambda t, d=d: np.asarray(oracle.admissible(pose(d, t), v), dtype=np.float64)  # noqa: E731
        yield d, derivative(speed)[0], *derivative(lambda t, d=d, s=speed: reference(pose(d, t), s(t), tau))
        yield 0.0 * d, d, *derivative(lambda t, d=d: reference(q, v + t * d, tau))


def assert_like_the_reference(
    found: tuple[Array, Array, Array], model: ada.Model, q: Array, v: Array, tau: Array
) -> None:
    dq, dv, du = found
    for of_q, of_v, wanted, uncertain in along_the_loops(model, q, v, tau):
        size = max(1.0, float(np.max(np.abs(wanted))))
        assert uncertain < 1e-6 * size  # ill-conditioned ones, of random lengths and inertias
        assert np.max(np.abs(dq @ of_q + dv @ of_v - wanted)) < SAME * size + 3.0 * uncertain
    oracle, more = Oracle(model), np.random.default_rng(1).normal(size=model.nv)
    before, after = (oracle.forward(q, v, u).acceleration for u in (tau, tau + more))  # linear in them
    assert np.max(np.abs(du @ more - (after - before))) < 1e-10 * max(1.0, np.max(np.abs(before)))


@pytest.mark.parametrize(
    "name", ["four_bar", "bennett", *(pytest.param(name, marks=pytest.mark.fuzz) for name in MORE)]
)
def test_along_the_loops_they_are_those_of_the_reference_by_the_kernel_and_on_numbers(name: str) -> None:
    model, q, v, tau = state(name)
    dynamics = ada.Dynamics(model)
    by_numbers = ada.Dynamics(model, solver="rank-revealing")
    for solved in (dynamics, by_numbers):
        assert_like_the_reference(solved.forward_derivatives(q, v, tau), model, q, v, tau)


@pytest.mark.parametrize(
    "name", ["four_bar", *(pytest.param(n, marks=pytest.mark.fuzz) for n in ("delta", "hexa", "stewart"))]
)
def test_they_are_pinocchios_analytic_ones_off_the_loops_too(name: str) -> None:
    model, q = mechanism(name)
    q, v, tau = moving(model, q, 3)
    other = PinocchioModel(model)
    pin, data = other.pin, other.model.createData()
    constraints = other.new_constraints()
    pin.initConstraintDynamics(other.model, data, *constraints)
    settings, state = pin.ProximalSettings(1e-12, 1e-10, 10), (other.position(q), other.velocity(v), other.effort(tau))
    pin.constraintDynamics(other.model, data, *state, *constraints, settings)
    pin.computeConstraintDynamicsDerivatives(other.model, data, *constraints, settings)
    found = ada.Dynamics(model).forward_derivatives(q, v, tau)
    for mine, theirs in zip(found, (data.ddq_dq, data.ddq_dv, data.ddq_dtau), strict=True):
        assert np.max(np.abs(mine - theirs)) < 1e-10 * np.max(np.abs(theirs))


@pytest.mark.parametrize("seeds", [(6,), pytest.param(range(1, 2004), marks=pytest.mark.fuzz)], ids=["one", "many"])
def test_random_mechanisms_have_the_derivatives_of_extended_precision(seeds: Iterable[int]) -> None:
    for seed in seeds:
        print("seed", seed)  # the last one is what failed
        rng, spatial = np.random.default_rng(seed), seed % 4 != 3
        options: dict[str, Any] = {"kinds": KINDS, "loop_kinds": LOOP_KINDS} if spatial and seed % 5 == 1 else {}
        options |= {"spatial": spatial, "floating": seed % 3 == 0, "losses": seed % 2 == 0, "mimics": seed % 5 == 0}
        model, q = random_mechanism(rng, **options)
        dynamics = ada.Dynamics(model, q0=q, solver=("auto", "auto", "robust", "rank-revealing")[seed % 7 % 4])
        if dynamics.constraints.mobility == 0:
            continue
        q, v = dynamics.project_to_constraints(q, rng.normal(size=model.nv))
        tau, w = rng.normal(size=(2, model.nv))
        found, together = (dynamics.forward_derivatives(x, v, tau) for x in (q, np.array([q] * 9)))
        assert all(np.array_equal(one, many[5]) for one, many in zip(found, together, strict=True))
        directions = block_diag(dynamics.constraints.state_map(q, v), np.eye(model.nv))
        wanted = changes_of_accelerations(model, (q, v, tau), directions)
        chosen = np.hstack(dynamics.forward_derivatives(q, v, tau, "independent"))
        for result, expected in (
            (np.hstack(found) @ directions, wanted),
            (chosen, wanted[list(dynamics.constraints.indices())]),
            (np.hstack(dynamics.forward_vjp(q, v, tau, w)) @ directions, w @ wanted),
            (dynamics.forward_jvp(q, v, tau, *np.split(directions @ directions[0], 3)), wanted @ directions[0]),
        ):
            assert np.max(np.abs(result - expected)) < SAME * max(1.0, np.max(np.abs(wanted)))
        if seed % 5 > 1 and seed < 404:
            assert_like_the_reference(found, model, q, v, tau)


@pytest.mark.parametrize("solver", ["auto", "robust", "rank-revealing"])
def test_a_loop_that_no_motion_violates_changes_nothing(solver: Any) -> None:
    """A door on two hinges in line."""
    builder = ada.Builder("door").link("frame").link("door", 2.0, (0.4, 0.0, 0.0), (0.1, 0.2, 0.25))
    builder.joint("lower", "revolute", "frame", "door", axis=(0, 0, 1))
    builder.loop("upper", "revolute", "frame", "door", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 0, 1))
    model, (q, v, tau) = builder.build(gravity=(1.0, 2.0, -9.0)), np.array([[0.3], [0.5], [0.2]])
    closed, tree = ada.Dynamics(model, solver=solver), ada.Dynamics(edit.open_loops(model))
    for question in (
        lambda one: one.forward(q, v, tau),
        lambda one: one.project_to_constraints(q, v),
        lambda one: one.forward_derivatives(q, v, tau),
        lambda one: one.forward_derivatives(q, v, tau, "independent"),
        lambda one: ada.Simulation(one.model, q, v).step_derivatives(q, v, tau),
    ):
        assert all(np.allclose(x, y, rtol=1e-14) for x, y in zip(question(closed), question(tree), strict=True))


def test_a_singular_state_of_a_batch_is_named() -> None:
    model, q = mechanisms.four_bar()
    flat, v, tau = np.array([np.pi / 2, 0.0, np.pi]), np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.0, 0.0])
    dynamics = ada.Dynamics(model)
    for where, poses in (("q", flat), ("q[1]", np.array([q, flat, q]))):
        for question in (
            lambda at: dynamics.forward_derivatives(at, v, tau),
            lambda at: dynamics.forward_vjp(at, v, tau, np.ones(3)),
        ):
            with refused(ada.SingularConfigurationError, loop="closing", field=where):
                question(poses)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("five_bar", "independent"),
        ("five_bar", "actuated"),
        *(nightly(name, "actuated") for name in ("delta", "stewart")),
    ],
)
def test_by_coordinates_along_the_loops_they_say_how_these_accelerate_and_what_their_motors_need(
    name: str, by: str
) -> None:
    model, q, v, tau = state(name)
    dynamics, n = ada.Dynamics(model), model.nv
    own, motors = (list(dynamics.constraints.indices(which)) for which in (by, "actuated"))
    a, along, m = dynamics.forward(q, v, tau), dynamics.constraints.state_map(q, v, by), len(own)
    assert np.allclose(along[[*own, *(n + k for k in own)]], np.eye(2 * m), rtol=0.0, atol=1e-12)
    efforts, directions = dynamics.inverse(q, v, a), block_diag(along, np.eye(n))
    wanted = changes_of_accelerations(model, (q, v, efforts), directions)[own]
    found, size = np.hstack(dynamics.forward_derivatives(q, v, efforts, by)), np.max(np.abs(wanted))
    assert found.shape == (m, 2 * m + n)
    assert np.max(np.abs(found - wanted)) < SAME * size
    of_motors = np.hstack(dynamics.inverse_derivatives(q, v, a, by))
    kept = wanted[:, 2 * m :][:, motors] @ of_motors + np.hstack([wanted[:, : 2 * m], -np.eye(m)])
    assert np.max(np.abs(kept)) < SAME * size


@pytest.mark.parametrize(("angle", "is_near"), [(0.3, False), (1e-3, True)])
def test_next_to_a_singular_configuration_an_error_is_estimated(angle: float, is_near: bool) -> None:
    """A parallelogram: θ̈ = (τ + K sin θ) / M in closed form, so that its derivative is K cos θ / M."""
    model, q = mechanisms.four_bar((0.5, 1.0, 0.5, 1.0), crank=np.pi / 2 - angle)
    dynamics, v = ada.Dynamics(model, q0=q), np.array([0.7, -0.7, 0.7])
    wanted = -model.gravity[2] * np.sin(angle) / (5.0 / 12.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = dynamics.forward_derivatives(q, v, 0 * v, coordinates=["joint_1"])
        dynamics.forward_derivatives([q, q], v, 0 * v, coordinates=["joint_1"])
    errors = [one.message.error for one in caught if issubclass(one.category, ada.LostDigitsWarning)]
    assert len(errors) == 2 * is_near and all(1e-6 < error < 1e-1 for error in errors)
    assert abs(found.dq[0, 0] - wanted) <= max(1e-10, *errors, 0.0) * wanted


def _isosceles_slider_crank(angle: float) -> tuple[list[float], list[float], float]:
    """Derivatives of θ̈ of a slider-crank with crank = rod, found and in closed form, and the estimate of their error.

    M θ̈ = τ + B ω² cos θ sin θ + G sin θ with M = A + B cos² θ; joint angles θ, π - 2 θ, θ + const.
    """
    length, (m1, m2, m3), speed = 0.5, (0.5, 1.0, 0.8), 1.3
    model, q = slider_crank(length, length, (m1, m2, m3), angle)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        v = speed * np.array([1.0, -2.0, 1.0])
        found = ada.Dynamics(model, q0=q).forward_derivatives(q, v, 0.0 * v, coordinates=["crank"])
    errors = [one.message.error for one in caught if issubclass(one.category, ada.LostDigitsWarning)]
    s, c = np.sin(angle), np.cos(angle)
    B, G = (2.0 * m2 + 4.0 * m3) * length**2, -model.gravity[2] * (m1 + m2) * length / 2.0
    M = (m1 + m2) * length**2 / 3.0 + B * c**2
    bias = B * c * s * speed**2 + G * s
    dq = (B * speed**2 * (c**2 - s**2) + G * c) / M + 2.0 * B * c * s * bias / M**2
    wanted = [dq, 2.0 * B * c * s * speed / M, 1.0 / M, -2.0 / M, 1.0 / M]
    return [found.dq[0, 0], found.dv[0, 0], *found.du[0]], wanted, max(errors, default=0.0)


def test_the_estimated_error_of_derivatives_of_a_slider_crank_has_the_size_of_the_error() -> None:
    estimates, errors = [], []
    for angle in np.geomspace(3e-4, 1e-3, 6):
        found, wanted, estimate = _isosceles_slider_crank(angle)
        errors.append(np.max(np.abs(np.subtract(found, wanted))) / np.max(np.abs(wanted)))
        estimates.append(estimate)
    assert min(estimates) > 0.0
    assert max(estimates) / 30.0 < max(errors) < 30.0 * max(estimates)


@pytest.mark.parametrize("angle", [0.03, 0.7])
def test_derivatives_of_a_slider_crank_far_from_singular_configurations_come_without_a_warning(angle: float) -> None:
    found, wanted, estimate = _isosceles_slider_crank(angle)
    assert estimate == 0.0
    assert np.allclose(found, wanted, rtol=1e-8, atol=1e-8)


def test_of_a_batch_the_states_next_to_a_singular_configuration_are_named() -> None:
    made = [mechanisms.four_bar((0.5, 1.0, 0.5, 1.0), crank=np.pi / 2 - angle) for angle in (0.3, 1e-3, 0.4, 2e-3)]
    (model, q), v = made[0], np.array([0.7, -0.7, 0.7])
    with pytest.warns(ada.LostDigitsWarning) as caught:
        ada.Dynamics(model, q0=q).forward_derivatives([q for _, q in made], v, 0 * v, coordinates=["joint_1"])
    assert [one.message.states for one in caught] == [(1, 3)]
    assert 1e-6 < caught[0].message.error < 1e-1
