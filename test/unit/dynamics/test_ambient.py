# SPDX-License-Identifier: Apache-2.0
"""Gradients by the numbers of q are those that differences along motions say, and leave quaternions their length."""

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics.computation import ambient_of

Array = Any
H = 1e-6  # of central differences: 1e-12 of truncation, 1e-10 of rounding


def turning() -> ada.Model:
    """A floating base, a hinge, a ball joint and a slide."""
    builder = ada.Builder("turning").link("base", 1.0, inertia=(1, 1, 1))
    for i, kind in enumerate(("revolute", "spherical", "prismatic")):
        builder.link(f"link_{i}", 1.0, inertia=(1, 1, 1)).joint(f"joint_{i}", kind, "base", f"link_{i}", (0, 0, 1))
    return builder.build(base="floating")


@pytest.fixture(scope="module")
def world() -> tuple[ada.Model, Any, Array, np.random.Generator]:
    model, rng = turning(), np.random.default_rng(8)
    return model, ambient_of(ada.Dynamics(model)), np.array([model.random_state(rng)[0] for _ in range(4)]), rng


def rate(model: ada.Model, q: Array, v: Array) -> Array:
    return (model.integrate(q, v, H) - model.integrate(q, v, -H)) / (2.0 * H)


def test_a_gradient_by_positions_says_of_every_motion_what_that_by_velocities_says(world: Any) -> None:
    model, ambient, q, rng = world
    by_velocity = rng.normal(size=(4, model.nv))
    found = ambient.gradient(q, by_velocity)
    for _ in range(3):
        v = rng.normal(size=model.nv)
        for row, gradient, own in zip(q, found, by_velocity, strict=True):
            assert gradient @ rate(model, row, v) == pytest.approx(own @ v, abs=1e-8)
    ball = model.q_index("joint_1")
    np.testing.assert_allclose(np.sum(found[:, ball] * q[:, ball], axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.sum(found[:, 3:7] * q[:, 3:7], axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(ambient.velocity_gradient(q, found), by_velocity, atol=1e-13)


def test_a_change_of_positions_is_the_velocity_that_makes_it(world: Any) -> None:
    model, ambient, q, rng = world
    v = rng.normal(size=(4, model.nv))
    changes = np.array([rate(model, *row) for row in zip(q, v, strict=True)])
    np.testing.assert_allclose(ambient.velocity(q, changes), v, atol=1e-8)
    by_position = rng.normal(size=(4, model.nq))
    found = ambient.velocity_gradient(q, by_position)
    np.testing.assert_allclose(np.sum(found * v, axis=1), np.sum(by_position * changes, axis=1), atol=1e-8)
    # what would lengthen a quaternion is no motion
    longer = np.zeros_like(q)
    longer[:, 3:7] = q[:, 3:7]
    np.testing.assert_allclose(ambient.velocity(q, longer), 0.0, atol=1e-14)
