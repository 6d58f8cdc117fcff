# SPDX-License-Identifier: Apache-2.0
"""Combinations of conditions, branches, motions and motors, and where each of them ends, on numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.loops import (
    actuation,
    combinations,
    velocities,
)
from ada_dynamics.loops.admissible import along_branch, directions
from ada_dynamics.loops.combinations import independent_counts
from ada_dynamics.loops.singular import Rates, Solution, System, _unresisted, tangents

Array = Any
Y = (0, 1, 0)


def test_conditions_are_counted_by_loop_above_the_mean_of_what_counts_and_what_does_not() -> None:
    rows = {"a": (0, 1), "b": (0, 1), "c": (0,)}

    def W(*columns: list[float]) -> Array:
        return np.array(columns, dtype=float).T

    e = np.eye(4).tolist()
    assert independent_counts(rows, [W(e[0], e[1], e[0], e[2], e[3])], 4) == {"a": 2, "b": 1, "c": 1}
    assert independent_counts(rows, [W(e[0], e[1], e[0], e[2], e[2])], 3) == {"a": 2, "b": 1, "c": 0}
    # in one pose the second loop says less and the last one more: the last one gives up what is too much
    poses = [W(e[0], e[1], e[0], e[2], e[2]), W(e[0], e[1], e[0], e[1], e[2])]
    assert independent_counts(rows, poses, 3) == {"a": 2, "b": 1, "c": 0}
    assert independent_counts(rows, [np.zeros((4, 5))], 0) == {"a": 0, "b": 0, "c": 0}
    # 1e-2 counts where the rank says so, against 1e-6 that does not; what is between their mean and each goes with it
    for own, counted in ((2e-4, 1), (0.5e-4, 0)):
        columns = W([1, 0, 0, 0], [0, own, 0, 0], [0, 1e-2, 0, 0], [0, 0, 1e-6, 0], [0, 0, 0, 0])
        found = independent_counts(rows, [columns], 2)
        assert (found["a"], sum(found.values())) == (1 + counted, 2)


def test_weights_of_combinations_bring_loops_to_unit_strength_after_those_before_them() -> None:
    rows, units = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    rng = np.random.default_rng(5)
    W = rng.normal(size=(3, 8, 7))
    W[..., 4] = W[..., 2] + W[..., 0]
    found = combinations.Combinations(rows, {"a": 2, "b": 2, "c": 1}, units)
    assert found.by_loop == {"b": 2, "c": 1}
    matrix = found.matrix(W)
    assert matrix.shape == (3, 5, 7)
    for one, at in zip(matrix, W, strict=True):
        np.testing.assert_array_equal(one[:2], np.eye(2, 7))
        held = at @ (one * units).T
        Q = np.linalg.qr(at[:, :2])[0]
        left = held[:, 2:4] - Q @ (Q.T @ held[:, 2:4])
        np.testing.assert_allclose(left.T @ left, np.eye(2), atol=1e-12)
        assert not one[2:4, [0, 1, 5, 6]].any() and not one[4, :5].any() and one[4, 5:].all()
    weights = found.weights(matrix)
    np.testing.assert_array_equal(
        weights, np.concatenate([matrix[:, 2:4, 2:5].reshape(3, 6), matrix[:, 4, 5:]], axis=1)
    )
    np.testing.assert_array_equal(found.weights(matrix[0]), weights[0])


def test_a_branch_is_left_where_a_velocity_is_not_along_it() -> None:
    J = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    lost = np.array([[0.0, 1.0]])
    solution = Solution(np.zeros(3), np.zeros(2), 0.0, True, False, lost, 1)
    asked: list[Array] = []

    def rates(w: Array) -> Rates:
        """Of (y - 0) (x - 0) = 0, whose second derivative is 2 x y."""
        asked.append(w)
        turned = np.array([[0.0, 0.0, 0.0], [w[1], w[0], 0.0]])
        return Rates(turned, np.zeros(2), turned)

    for off, is_found in ((0.0, True), (0.49e-4, True), (2.1e-4, False), (1.0, False)):
        N = along_branch(J, 2, solution, np.array([2.0, 2.0 * off, 0.0]), rates)
        assert (N is not None) == is_found
        if N is not None:
            np.testing.assert_allclose(np.abs(N), [[1.0], [0.0], [0.0]], atol=1e-4)
    asked.clear()
    assert along_branch(J, 2, solution, np.full(3, 0.99e-9), rates) is None and not asked
    assert along_branch(J, 2, solution, np.array([1.01e-9, 0.0, 0.0]), rates) is not None
    kept = directions(np.array([[0.0, 2.0, 0.0]]), 1)
    np.testing.assert_allclose(kept.T @ kept, np.eye(2), atol=1e-15)
    assert not kept[1].any()


def test_a_velocity_has_a_share_in_a_motion_and_the_least_one_is_shown() -> None:
    basis = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
    assert velocities.least_share(basis, [0, 2]) == pytest.approx(0.6)
    assert velocities.least_share(basis, [0, 1, 2]) == pytest.approx(1.0)
    assert velocities.least_share(basis, [1]) == 0.0
    assert velocities.least_share(np.zeros((4, 3, 0)), [1]).tolist() == [1.0] * 4
    np.testing.assert_allclose(np.abs(velocities.least_seen(basis, [0, 2])), [0.6, 0.8, 0.0], atol=1e-15)
    J = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    found = velocities.motions(J, 1)
    s = np.linalg.svd(J, compute_uv=False)
    assert (found.rank, int(found.lost), float(found.sigma)) == (2, 0, pytest.approx(s[1] / s[0]))
    np.testing.assert_allclose(J @ found.basis(), 0.0, atol=1e-15)
    assert found.basis(1).shape == (3, 2)
    for share, lost in ((0.99e-4, 1), (1.01e-4, 0)):
        assert int(velocities.motions(np.diag([1.0, share, 0.0])[:2], 1).lost) == lost
    assert velocities.motions(np.zeros((2, 3)), 3).sigma == 1.0
    one = velocities.completion(J, (2,))
    # v0 = -v1, v1 = -2 v2
    np.testing.assert_allclose(one.T, [[2.0], [-2.0], [1.0]], atol=1e-14)
    inverse = np.linalg.inv(J[:, :2])
    assert float(one.share) == pytest.approx(1.0 / (np.linalg.norm(J) * np.linalg.norm(inverse)))
    for share, suspicious in ((1.9e-4, True), (2.1e-4, False), (np.nan, True)):
        assert bool(velocities.Completion((2,), one.T, inverse, np.array(share)).is_suspicious) == suspicious
    rate = np.array([[0.5, 0.0, 1.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(one.rate(rate), [*(-inverse @ (rate @ one.T)), [0.0]], atol=1e-14)


def test_motors_do_what_is_wanted_with_the_least_efforts_or_the_joints_that_they_leave_are_named() -> None:
    builder, before = ada.Builder("chain").link("base"), "base"
    for i in range(3):
        builder.link(f"link_{i}", 1.0, inertia=(1, 1, 1))
        builder.joint(f"joint_{i}", "revolute", before, f"link_{i}", axis=Y)
        before = f"link_{i}"
    model = builder.actuated(["joint_0", "joint_1"]).build()
    N = np.array([[1.0], [2.0], [2.0]]) / 3.0
    wanted = np.array([1.0, -1.0, 4.0])
    found = actuation.motor_efforts(model, N, wanted)
    assert found[2] == 0.0 and N.T @ found == pytest.approx(N.T @ wanted)
    np.testing.assert_allclose(np.cross(found, [1.0, 2.0, 0.0]), 0.0, atol=1e-14)
    for residue, is_done in ((0.99e-8, True), (1.01e-8, False)):
        for size in (0.1, 1.0, 10.0):
            efforts = np.array([size, 0.0, residue * max(1.0, size)])
            if is_done:
                np.testing.assert_allclose(actuation.motor_efforts(model, np.eye(3), efforts), [size, 0.0, 0.0])
            else:
                with pytest.raises(ada.InputError, match="drives the motion of joint_2;"):
                    actuation.motor_efforts(model, np.eye(3), efforts)
    for part, named in ((0.11, "joint_1, joint_2"), (0.09, "joint_2")):
        assert f"the motion of {named};" in actuation._nothing_drives(model, np.array([0.0, part, -1.0]))


def test_what_nothing_resists_still_has_the_share_of_its_conditions() -> None:
    J = np.array([[3.0, 0.0, 0.0], [0.0, 0.6, 0.0]])
    system = System(np.zeros((3, 3)), np.ones(3), J, np.zeros(2))
    for rank, sigma in ((2, 0.2), (1, 1.0), (0, 1.0)):
        found = _unresisted(system, rank)
        assert found.sigma == pytest.approx(sigma) and found.lost.shape == (0, 2)
        assert (found.is_singular, found.is_at_rest) == (True, False)
        assert np.isnan(found.accelerations).all() and found.accelerations.shape == (3,)


def test_ways_out_are_looked_for_among_what_the_conditions_that_are_left_allow() -> None:
    J = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    system = System(np.eye(4), np.zeros(4), J, np.zeros(3))
    ways = tangents(system, np.array([[0.0, 0.0, 1.0]]), lambda w: np.array([0.0, 0.0, w[0] * w[1]]))
    found = sorted(np.abs(way).tolist() for way in ways)
    np.testing.assert_allclose(found, [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], atol=1e-15)
