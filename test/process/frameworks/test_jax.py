# SPDX-License-Identifier: Apache-2.0
"""Dynamics in JAX: jit, vmap and grad give the library's own numbers."""

import numpy as np
import pytest
from loop_robots import states
from random_trees import sprung_chain
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.computation import ambient_of

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)
import ada_dynamics.jax as adapter  # noqa: E402


@pytest.mark.parametrize("name", ["pa10", "free", "five_bar"])
def test_values_and_gradients_are_the_librarys_under_jit_and_vmap(name):
    model, q, v, tau = states(name)
    dynamics = ada.Dynamics(model)
    w = np.random.default_rng(1).normal(size=v.shape)
    assert np.array_equal(jax.jit(adapter.forward, static_argnums=0)(dynamics, q, v, tau), dynamics.forward(q, v, tau))
    of_one = jax.vmap(lambda *x: adapter.forward(dynamics, *x))
    assert np.array_equal(jax.jit(of_one)(q, v, tau), dynamics.forward(q, v, tau))
    weighted = lambda *x: (w * adapter.forward(dynamics, *x)).sum()  # noqa: E731
    by_q, by_v, by_tau = jax.jit(jax.grad(weighted, argnums=(0, 1, 2)))(q, v, tau)
    found = dynamics.forward_derivatives(q, v, tau)
    velocities = ambient_of(dynamics).velocity_gradient(q, np.asarray(by_q))
    for mine, matrix in zip((velocities, by_v, by_tau), found, strict=True):
        assert np.max(np.abs(np.asarray(mine) - (w[:, None] @ matrix)[:, 0])) < 1e-11 * np.max(np.abs(matrix))


def test_gradients_of_inverse_dynamics_and_of_what_is_broadcast():
    model, q, v, a = states("pa10", 4)
    dynamics = ada.Dynamics(model)
    total = lambda q: adapter.inverse(dynamics, q, v, a).sum()  # noqa: E731
    wanted = dynamics.inverse_derivatives(np.tile(q[0], (4, 1)), v, a).dq.sum(axis=(0, 1))
    assert np.allclose(jax.grad(total)(q[0]), wanted, rtol=1e-12, atol=1e-12)


def test_inverse_dynamics_at_rest_are_the_gravity_of_the_library_springs_included():
    dynamics = ada.Dynamics(sprung_chain())
    q, rest = dynamics.model.random_state(np.random.default_rng(2))[0], np.zeros(dynamics.model.nv)
    assert np.allclose(adapter.inverse(dynamics, q, rest, rest), dynamics.gravity(q), rtol=0.0, atol=1e-12)


def test_loops_have_no_inverse_of_all_efforts():
    model, q, v, _ = states("five_bar")
    with refused(ada.InputError, field="inverse", value="five_bar"):
        adapter.inverse(ada.Dynamics(model), q, v, v)
