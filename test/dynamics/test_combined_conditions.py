# SPDX-License-Identifier: Apache-2.0
"""Combinations that redundant loops are held by in a pose, and how far they may wear out, by pinocchio's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.loops.combinations import WORN_OUT
from ada_dynamics.robots import mechanisms

Array = Any


@pytest.fixture(scope="module")
def bennett() -> tuple[ada.Model, Any, Array, Oracle]:
    """One loop, whose five conditions are two independent ones."""
    model, start = mechanisms.bennett()
    oracle = Oracle(model)
    rng = np.random.default_rng(1)
    poses = np.array([oracle.nearby(start, rng, 0.4) for _ in range(3)])
    return model, ada.Dynamics(model, pose=start)._kernels.closed, poses, oracle


def matrix_of(closed: Any, row: Array) -> Array:
    """Combinations of all conditions that act; the last number is what must be left of the determinant."""
    return row[:-1].reshape(closed.study.rank, len(closed.plans.conditions))


def test_fresh_combinations_are_orthonormal_and_may_lose_nine_tenths_of_their_determinant(bennett: Any) -> None:
    _, closed, poses, oracle = bennett
    found = closed.chosen(poses)
    for q, row in zip(poses, found, strict=True):
        M = np.asarray(oracle.tree.mass_matrix(q))
        J = matrix_of(closed, row) @ closed.study.numbers.jacobian(q)[list(closed.plans.conditions)]
        held = J @ np.linalg.solve(M, J.T)
        np.testing.assert_allclose(held, np.eye(2), atol=1e-9)
        left = np.linalg.det(held) / np.prod(closed.plans.following_typical)
        left *= np.linalg.det(M) / np.prod(closed.plans.inertias)
        assert row[-1] == pytest.approx(WORN_OUT * left, rel=1e-9)


def test_they_allow_what_the_loop_allows(bennett: Any) -> None:
    model, closed, poses, oracle = bennett
    for q, row in zip(poses, closed.chosen(poses), strict=True):
        v = oracle.admissible(q, np.ones(model.nv))
        J = matrix_of(closed, row) @ closed.study.numbers.jacobian(q)[list(closed.plans.conditions)]
        np.testing.assert_allclose(J @ v, 0.0, atol=1e-9)
        assert np.linalg.matrix_rank(J, tol=1e-6) == 2 == model.nv - 1


def test_nothing_suits_a_pose_that_is_none(bennett: Any) -> None:
    _, closed, poses, _ = bennett
    wrong = poses.copy()
    wrong[1, 0] = np.nan
    found = closed.chosen(wrong)
    assert found.shape == closed.chosen(poses).shape
    assert np.isinf(found).all()
