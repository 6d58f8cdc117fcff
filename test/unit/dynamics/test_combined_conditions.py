# SPDX-License-Identifier: Apache-2.0
"""Combinations that redundant loops are held by in a pose, and how far they may wear out, by pinocchio's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.dynamics.quantities.closed import following
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


def test_a_mechanism_held_by_combinations_moves_as_by_all_conditions_until_they_are_worn_out(bennett: Any) -> None:
    model, closed, poses, oracle = bennett
    rng = np.random.default_rng(4)
    tau = rng.normal(size=model.nv)
    for q, chosen in zip(poses, closed.chosen(poses), strict=True):
        v = oracle.admissible(q, np.ones(model.nv))
        expected = oracle.forward(q, v, tau).acceleration
        for name in (*closed.plans.following, "unknown"):
            solver = following(closed.tree, closed.plans, name, chosen.tolist())
            found = solver.run(q.tolist(), v.tolist(), tau.tolist())
            np.testing.assert_allclose(
                np.array(found.accelerations, dtype=float), expected, atol=1e-8 * np.abs(expected).max()
            )
            assert all(float(guard) >= 0.0 for guard in solver.guards(found))
            # these are fresh: of their determinant nine tenths may go
            for share, is_held in ((0.99 / WORN_OUT, True), (1.01 / WORN_OUT, False)):
                worn = following(closed.tree, closed.plans, name, [*chosen[:-1].tolist(), float(chosen[-1]) * share])
                assert all(float(guard) >= 0.0 for guard in worn.guards(found)) == is_held
            # a gap is closed by the shortest step, by kinetic energy, across the loop
            gap = [0.01, -0.02]
            step = np.array(solver.correct(q.tolist(), gap).accelerations, dtype=float)
            J = matrix_of(closed, chosen) @ closed.study.numbers.jacobian(q)[list(closed.plans.conditions)]
            M = np.asarray(oracle.tree.mass_matrix(q))
            np.testing.assert_allclose(J @ step, np.negative(gap), atol=1e-9)
            np.testing.assert_allclose(np.linalg.svd(J)[2][2:] @ M @ step, 0.0, atol=1e-9)
