# SPDX-License-Identifier: Apache-2.0
"""Trees keep the invariants of mechanics and reproduce closed forms; mimics, derivatives, published kinematics."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import BASES, Array, dense_mass, floats, random_tree, state_of, trees

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, centroidal, crba, energy, kinematics

linalg = pytest.importorskip("scipy.linalg")


def derivative(f: Callable[[float], Any], h: float = 1e-3) -> Array:
    """At 0, by five points: truncation h⁴ = 1e-12 times the fifth derivative, rounding 1e-16/h = 1e-13."""
    far, near = np.asarray(f(-2 * h)) - np.asarray(f(2 * h)), np.asarray(f(h)) - np.asarray(f(-h))
    return np.asarray((8.0 * near + far) / (12.0 * h))


several = settings(max_examples=20)


@several
@given(model=trees(10))
def test_three_ways_give_one_mass_matrix_and_it_is_positive_definite(model: ada.Model) -> None:
    q, v, _ = state_of(model)
    M = dense_mass(model, q)
    d = np.sqrt(np.diag(M))
    for method in (crba.mass_matrix_by_unit_vectors, crba.mass_matrix_by_jacobians):
        assert np.max(np.abs(np.array(method(model.tree, q.tolist())) - M) / np.outer(d, d)) < 1e-12
    assert np.array_equal(M, M.T)
    assert np.min(np.linalg.eigvalsh(M / np.outer(d, d))) > 0.0
    # and the quadratic form is twice the kinetic energy
    T = energy.kinetic(model.tree, *floats(q, v))
    assert abs(0.5 * v @ M @ v - T) < 1e-12 * (np.abs(v) @ np.abs(M) @ np.abs(v))


@several
@given(model=trees(10))
def test_the_energy_changes_by_the_power_of_the_motors_less_the_dissipation(model: ada.Model) -> None:
    q, v, tau = state_of(model)
    a = np.array(aba.forward_dynamics(model.tree, *floats(q, v, tau)))

    def total(t: float) -> float:
        arguments = floats(model.integrate(q, v, t), v + t * a)
        return float(energy.kinetic(model.tree, *arguments) + energy.potential(model.tree, arguments[0]))

    passive = model.damping * v + model.friction * np.sign(v)
    power = float((tau - passive) @ v)
    # The fifth derivative grows with (|v|/length)⁵; the accelerations set the scale of each term.
    size = np.abs(a) @ dense_mass(model, q).__abs__() @ np.abs(v) + np.abs(tau) @ np.abs(v) + 10.0
    assert abs(derivative(total) - power) < 1e-7 * size


@several
@given(model=trees(10, bases=BASES[1:], gravity=(0, 0, 0)))
def test_a_tree_that_floats_without_weight_keeps_its_momentum(model: ada.Model) -> None:
    q, v, tau = state_of(model)
    tau[:6] = 0.0
    a = np.array(aba.forward_dynamics(model.tree, *floats(q, v, tau)))

    def momentum(t: float) -> Array:
        h = centroidal.momentum(model.tree, *floats(model.integrate(q, v, t), v + t * a))
        return np.array([*h.moment, *h.force])

    columns = [[*c.moment, *c.force] for c in centroidal.momentum_columns(model.tree, q.tolist())]
    assert np.max(np.abs(v @ np.array(columns) - momentum(0.0))) < 1e-12 * np.max(np.abs(v) @ np.abs(columns))
    size = np.max(np.abs(a) @ np.abs(columns)) + np.max(np.abs(momentum(0.0))) * (1.0 + np.max(np.abs(v)))
    assert np.max(np.abs(derivative(momentum))) < 1e-7 * size  # as above


def test_derivatives_are_differences_on_the_manifold() -> None:
    model = random_tree(3, ["revolute", "spherical", "prismatic"], "floating")
    dynamics = ada.Dynamics(model)
    q, v, u = state_of(model)
    unit = np.eye(model.nv)
    for f, ours in (
        (dynamics.forward, dynamics.forward_derivatives(q, v, u)),
        (dynamics.inverse, dynamics.inverse_derivatives(q, v, u)),
    ):
        by_q = np.array([derivative(lambda t, e=e, f=f: f(model.integrate(q, e, t), v, u)) for e in unit]).T
        by_v = np.array([derivative(lambda t, e=e, f=f: f(q, v + t * e, u)) for e in unit]).T
        by_u = np.array([derivative(lambda t, e=e, f=f: f(q, v, u + t * e)) for e in unit]).T
        for mine, theirs in zip(ours, (by_q, by_v, by_u), strict=True):
            assert np.max(np.abs(mine - theirs)) < 1e-8 * np.max(np.abs(theirs))
    M = dynamics.mass_matrix(q)
    assert np.max(np.abs(dynamics.inverse_derivatives(q, v, u).du - M)) < 1e-13 * np.max(np.abs(M))
    inverse = np.linalg.inv(M)
    assert np.max(np.abs(dynamics.forward_derivatives(q, v, u).du - inverse)) < 1e-11 * np.max(np.abs(inverse))


@several
@given(model=trees(10), pick=st.integers(0, 100))
def test_velocity_and_acceleration_of_a_link_are_the_rates_of_its_pose(model: ada.Model, pick: int) -> None:
    q, v, a = state_of(model)
    name = model.link_names[pick % len(model.link_names)]

    def place(t: float) -> Array:
        return np.array(kinematics.link_pose(model.tree, model.integrate(q, v, t).tolist(), name).position)

    def velocity(t: float) -> Array:
        V = kinematics.link_velocity(model.tree, *floats(model.integrate(q, v, t), v + t * a), name)
        return np.array([*V.angular, *V.linear])

    size = 1.0 + np.max(np.abs(velocity(0.0))) ** 2 + np.max(np.abs(a))
    assert np.max(np.abs(derivative(place) - velocity(0.0)[3:])) < 1e-8 * size
    A = kinematics.link_acceleration(model.tree, *floats(q, v, a), name)
    assert np.max(np.abs(derivative(velocity) - [*A.angular, *A.linear])) < 1e-7 * size
