# SPDX-License-Identifier: Apache-2.0
"""Damped least squares within limits, against scipy's solvers and the conditions of an optimum."""

import numpy as np
import pytest

from ada_dynamics.ik.least_squares import Level, LinearBounds, solve_level, solve_levels

optimize = pytest.importorskip("scipy.optimize")


@pytest.mark.parametrize("seed", range(20))
def test_a_box_gives_what_scipy_gives(seed):
    rng = np.random.default_rng(seed)
    A, b, half = rng.normal(size=(6, 9)), 3.0 * rng.normal(size=6), rng.uniform(0.05, 0.5, 9)
    x = solve_level(Level(A, b, 1e-4), LinearBounds(np.eye(9), -half, half))
    stacked = np.vstack([A, 1e-2 * np.eye(9)]), np.concatenate([b, np.zeros(9)])
    theirs = optimize.lsq_linear(*stacked, (-half, half), tol=1e-14).x
    assert np.abs(np.abs(x) - half).min() < 1e-12, "no limit is met: the test shows nothing"
    assert np.abs(x - theirs).max() < 1e-5  # theirs comes to its bounds from inside
    assert (np.abs(x) <= half + 1e-13).all()
    assert np.linalg.norm(stacked[0] @ x - stacked[1]) <= np.linalg.norm(stacked[0] @ theirs - stacked[1]) + 1e-11


@pytest.mark.parametrize("seed", range(20))
def test_limits_in_any_direction_hold_and_multipliers_push_inwards(seed):
    rng = np.random.default_rng(seed)
    A, b, C = rng.normal(size=(4, 6)), 4.0 * rng.normal(size=4), rng.normal(size=(12, 6))
    middle = C @ rng.normal(size=6)
    limits = LinearBounds(C, middle - 0.3, middle + 0.3)
    x = solve_level(Level(A, b, 1e-3), limits)
    at, slope = C @ x, A.T @ (A @ x - b) + 1e-3 * x
    assert (at > limits.lower - 1e-10).all() and (at < limits.upper + 1e-10).all()
    sides = np.concatenate([C[at < limits.lower + 1e-9], -C[at > limits.upper - 1e-9]])
    assert len(sides), "no limit is met: the test shows nothing"
    assert optimize.nnls(sides.T, slope)[1] < 1e-8


def test_limits_that_exclude_each_other_are_told():
    C = np.array([[1.0, 0.0], [1.0, 0.0]])
    limits = LinearBounds(C, np.array([1.0, -np.inf]), np.array([np.inf, 0.5]))
    assert solve_level(Level(np.eye(2), np.zeros(2), 1e-6), limits) is None
    assert solve_levels([Level(np.eye(2), np.zeros(2), 1e-6)], limits) is None


def test_a_lower_level_takes_only_what_a_higher_one_leaves():
    first = Level(np.array([[1.0, 1.0, 0.0]]), np.array([1.0]), 1e-12)
    second = Level(np.eye(3), np.array([3.0, 0.0, 5.0]), 1e-12)
    free = LinearBounds(np.eye(3), np.full(3, -np.inf), np.full(3, np.inf))
    # On x + y = 1 the point nearest to (3, 0) is (2, -1).
    assert np.abs(solve_levels([first, second], free) - (2.0, -1.0, 5.0)).max() < 1e-9
    held = LinearBounds(np.eye(3), np.full(3, -0.5), np.array([9.0, 9.0, 4.0]))
    assert np.abs(solve_levels([first, second], held) - (1.5, -0.5, 4.0)).max() < 1e-9
