# SPDX-License-Identifier: Apache-2.0
"""What is left of a motion once some of it is chosen, on random conditions: against least squares, minors and rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.loops.choices import Choices, velocities_of
from ada_dynamics.loops.combinations import Combinations, independent_counts
from ada_dynamics.loops.map_order import pivots_of
from ada_dynamics.loops.velocities import (
    completion,
    independent_velocities,
    least_seen,
    least_share,
    motions,
    units_of_rates,
    velocity_units,
)

Array = Any


@pytest.mark.parametrize("several", [(), (3,), (2, 3)])
@pytest.mark.parametrize("repeated", [0, 2])
def test_all_velocities_follow_from_chosen_ones(several: tuple[int, ...], repeated: int) -> None:
    rng = np.random.default_rng(1)
    J = rng.normal(size=(*several, 4, 7))
    J_rate = rng.normal(size=J.shape)
    J, J_rate = (np.concatenate([x, x[..., :repeated, :]], axis=-2) for x in (J, J_rate))
    chosen = (5, 0, 3)
    found = completion(J, chosen)
    assert found.T.shape == (*several, 7, 3)
    np.testing.assert_allclose(J @ found.T, 0.0, atol=1e-13)
    np.testing.assert_array_equal(found.T[..., chosen, :], np.broadcast_to(np.eye(3), (*several, 3, 3)))
    h = 1e-6
    later, earlier = (completion(J + way * J_rate, chosen).T for way in (h, -h))
    slope = (later - earlier) / (2.0 * h)
    np.testing.assert_allclose(found.rate(J_rate), slope, atol=1e-8 * np.abs(slope).max())
    # the share is under the singular value that it stands for, and above it by the number of entries
    basis = motions(J, 3).basis()
    exact = least_share(basis, chosen)
    assert found.share.shape == exact.shape == several
    assert (found.share > 0.0).all() and (found.share <= exact).all()
    others = [1, 2, 4, 6]
    norms = np.linalg.norm(J, axis=(-2, -1)) * np.linalg.norm(np.linalg.pinv(J[..., others]), axis=(-2, -1))
    np.testing.assert_allclose(found.share, 1.0 / norms)
    assert not found.is_suspicious.any()


def test_velocities_that_are_all_chosen_are_themselves() -> None:
    found = completion(np.ones((2, 1, 3)), (2, 0, 1))
    np.testing.assert_array_equal(found.T, 2 * [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    assert found.inverse.shape == (2, 0, 1) and found.share.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rows", [2, 3])
def test_velocities_that_do_not_determine_the_motion_are_suspicious(rows: int) -> None:
    J = np.random.default_rng(2).normal(size=(rows, 4))
    J[:, 3] = 2.0 * J[:, 2]  # with 0 and 1 chosen, 2 and 3 still move
    J[2:] = J[:1]
    found = completion(J, (0, 1))
    assert found.is_suspicious
    share = least_share(motions(J, 2).basis(), (0, 1))
    assert share < 1e-15
    still = least_seen(motions(J, 2).basis(), (0, 1))
    np.testing.assert_allclose(J @ still, 0.0, atol=1e-14)
    np.testing.assert_allclose(still / still[3], [0.0, 0.0, -2.0, 1.0], atol=1e-14)


def test_motions_are_what_conditions_leave_and_tell_which_is_lost() -> None:
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 6))
    J = np.array([U @ np.diag(s) @ V[:4] for s in ([3.0, 2.0, 1.0, 0.5], [3.0, 2.0, 1.0, 2e-4])])
    found = motions(J, 2)
    np.testing.assert_allclose(found.sigma, [0.5 / 3.0, 2e-4 / 3.0], rtol=1e-9)
    assert (found.rank, found.lost.tolist()) == (4, [0, 1])
    assert found.basis().shape == (2, 6, 2) and found.basis(1).shape == (2, 6, 3)
    np.testing.assert_allclose(J @ found.basis(), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.abs(np.einsum("kc,c->k", found.weakest, U[:, 3])), 1.0)
    np.testing.assert_allclose(np.abs(found.basis(1)[1].T @ V[3]), [1.0, 0.0, 0.0], atol=1e-12)
    free = motions(np.zeros((5, 2, 3)), 3)
    assert (free.rank, free.sigma.tolist(), free.lost.tolist()) == (0, [1.0] * 5, [0] * 5)
    np.testing.assert_array_equal(free.basis(), np.broadcast_to(np.eye(3), (5, 3, 3)))
    assert free.weakest.shape == (5, 2)


def test_no_motion_has_the_whole_share_and_too_few_velocities_none() -> None:
    assert least_share(np.zeros((4, 3, 0)), ()).tolist() == [1.0] * 4
    basis = np.eye(4)[:, :2]
    assert least_share(np.array([basis, basis[::-1]]), (0,)).tolist() == [0.0, 0.0]
    assert least_share(np.array([basis, basis[::-1]]), (0, 1)) == pytest.approx([1.0, 0.0])


def test_independent_velocities_tell_the_motions_apart() -> None:
    # two motions: a turns with b, and c with d at half the speed
    N = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    N /= np.linalg.norm(N, axis=0)
    for order in ([0, 1, 2, 3], [3, 0, 2, 1]):
        chosen = independent_velocities([N[order]])
        assert list(chosen) == sorted(chosen) and len(chosen) == 2
        assert abs(np.linalg.det(N[order][list(chosen)])) == pytest.approx(2.0 / np.sqrt(10.0))


def branching() -> ada.Model:
    """A ball joint, ten hinges on it, and a slide."""
    builder = ada.Builder("many").link("base").link("hub", 1.0).joint("ball", "spherical", "base", "hub")
    for i in range(10):
        builder.link(f"leaf_{i}", 1.0, inertia=(1, 1, 1)).joint(f"hinge_{i}", "revolute", "hub", f"leaf_{i}")
    builder.link("end", 1.0).joint("slide", "prismatic", "hub", "end")
    return builder.build()


def test_velocities_are_named_by_their_joint_and_their_number_in_it() -> None:
    model = branching()
    choices = Choices(model, None)
    ball, slide = model.v_index("ball"), model.v_index("slide")
    assert [choices.label(k) for k in (ball.start, ball.start + 2, slide.start)] == ["ball[0]", "ball[2]", "slide"]
    with pytest.raises(IndexError):
        choices.label(model.nv)
    assert velocities_of(model, ["slide", "ball"]) == (slide.start, *range(ball.start, ball.stop))
    assert velocities_of(model, ["ball[2]", "hinge_3"]) == (ball.start + 2, model.v_index("hinge_3").start)
    assert velocities_of(model, ["slide[0]"]) == (slide.start,)
    for name in ("ball[3]", "ball[x]", "bell[0]"):
        with pytest.raises(InputError, match=rf"{name[:4]}"):
            velocities_of(model, [name])
    assert choices.map_order((0,)) is None
    assert choices.of("independent") == tuple(range(model.nv))


def test_a_slide_by_one_length_counts_as_a_turn_by_one_radian() -> None:
    model = branching()
    units = velocity_units(model, 2.5)
    expected = np.ones(model.nv)
    expected[model.v_index("slide")] = 2.5
    assert units.tolist() == expected.tolist()
    assert units_of_rates(model) == ["m" if unit == 2.5 else "rad" for unit in units]


def test_what_can_still_move_is_named_up_to_eight_joints() -> None:
    choices = Choices(branching(), None)
    with pytest.raises(InputError) as caught:
        choices.of([f"hinge_{i}" for i in range(9)])
    said = str(caught.value)
    assert ", ".join(f"hinge_{i}" for i in range(8)) + ", ..." in said and "hinge_8" not in said
    assert "the 9 velocities of the chosen joints of model 'many'" in said
    assert "5 missing of 14. With them at rest," in said and "too many" not in said
    with pytest.raises(InputError, match=r"the 8 velocities.*\(hinge_0, .*, hinge_7\) do not"):
        choices.of([f"hinge_{i}" for i in range(8)])
    with pytest.raises(InputError, match=r"the 0 velocities of the chosen joints .*\(none\)"):
        choices.of([])


# --- orders of elimination --------------------------------------------------------------------------------------------
def test_pivots_are_ratios_of_minors_and_large_in_every_pose() -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        samples = rng.normal(size=(3, 4, 7)) * (rng.random((4, 7)) < 0.7)
        samples[:, range(4), [1, 2, 4, 6]] += 2.0
        pivots, typical = pivots_of(samples, (0, 3, 5))
        rows, columns = zip(*pivots, strict=True)
        assert sorted(rows) == [0, 1, 2, 3] and sorted(columns) == [1, 2, 4, 6]
        minors = [[np.linalg.det(A[np.ix_(rows[:k], columns[:k])]) for k in range(5)] for A in samples]
        ratios = np.abs(np.divide(np.array(minors)[:, 1:], np.array(minors)[:, :-1])).min(axis=0)
        np.testing.assert_allclose(typical, ratios, rtol=1e-9)
        assert min(typical) > 0.05


def test_each_pivot_brings_the_fewest_new_terms_of_those_that_are_large_enough() -> None:
    """By Markowitz's count, (entries of the row - 1) (entries of the column - 1), of the pattern that is left."""
    rng, steps = np.random.default_rng(11), 0
    for _ in range(12):
        pattern = rng.random((6, 9)) < 0.45
        pattern[range(6), range(6)] = True
        samples = rng.uniform(0.5, 1.0, (2, 6, 9)) * rng.choice([-1.0, 1.0], (6, 9)) * pattern
        pivots, _ = pivots_of(samples, (6, 7, 8))
        left, rows, columns = samples.copy(), set(range(6)), set(range(6))
        for i, k in pivots:
            has = pattern.copy()

            def terms(r: int, c: int, has: Array = has, rows: set[int] = rows) -> int:
                return (int(has[r].sum()) - 1) * (sum(bool(has[x, c]) for x in rows) - 1)

            sizes = {(r, c): np.abs(left[:, r, c]).min() for r in rows for c in columns if has[r, c]}
            enough = [at for at, size in sizes.items() if size >= 0.1 * max(sizes.values())]
            assert (i, k) in enough and terms(i, k) == min(terms(*at) for at in enough)
            rows.remove(i)
            columns.remove(k)
            for r in rows:
                if pattern[r, k]:
                    left[:, r] -= (left[:, r, k] / left[:, i, k])[:, None] * left[:, i]
                    pattern[r] |= pattern[i]
                left[:, r, k], pattern[r, k] = 0.0, False
            steps += 1
    assert steps == 72


def test_what_touches_everything_is_eliminated_last() -> None:
    """An arrow: row 2 and velocity 4 touch all others; taken first, they would fill the whole matrix."""
    A = np.diag([2.0, 3.0, 0.0, 4.0, 0.0])[[0, 1, 2, 3]]
    A[2], A[:, 4] = 1.0, 1.0
    pivots, _ = pivots_of([np.hstack([A, np.ones((4, 1))])], (5,))
    assert set(pivots[:3]) <= {(0, 0), (1, 1), (3, 3), (2, 2)}
    assert not any((i == 2 and k != 2) or k == 4 for i, k in pivots[:3])


# --- combinations of dependent conditions -----------------------------------------------------------------------------
ROWS = {"first": (0, 1, 2), "second": (3, 4), "third": (5, 6, 7)}


def dependent(rng: np.random.Generator, poses: int = 3) -> Array:
    """W in some poses: the second loop adds one condition, the third two; one of each repeats others."""
    W = rng.normal(size=(poses, 9, 8))
    W[..., 4] = W[..., :4] @ rng.normal(size=4)
    W[..., 7] = W[..., :7] @ rng.normal(size=7)
    return W


def test_combinations_are_orthonormal_conditions_loop_after_loop() -> None:
    rng = np.random.default_rng(6)
    W, units = dependent(rng), rng.uniform(0.5, 2.0, 8)
    counts = independent_counts(ROWS, list(W), 6)
    assert counts == {"first": 3, "second": 1, "third": 2}
    found = Combinations(ROWS, counts, units)
    assert found.by_loop == {"second": 1, "third": 2}
    C = found.matrix(W)
    assert C.shape == (3, 6, 8)
    for one, weights, own in zip(W, C, found.weights(C), strict=True):
        np.testing.assert_array_equal(weights[:3], np.eye(8)[:3])
        assert (weights[3, [0, 1, 2, 5, 6, 7]] == 0.0).all() and (weights[4:, :5] == 0.0).all()
        combined = one @ (weights * units).T  # what they do to velocities
        before = np.linalg.qr(one[:, :3])[0]
        new = (np.eye(9) - before @ before.T) @ combined[:, 3:]
        # what a loop adds to those before has unit length, and is at right angles to the rest
        added = new[:, 0]
        assert np.linalg.norm(added) == pytest.approx(1.0)
        more = new[:, 1:] - np.outer(added, added @ new[:, 1:])
        np.testing.assert_allclose(more.T @ more, np.eye(2), atol=1e-12)
        np.testing.assert_array_equal(own, [*weights[3, 3:5], *weights[4, 5:], *weights[5, 5:]])
    np.testing.assert_allclose(C[1], found.matrix(W[1]), rtol=1e-9, atol=1e-12)


def test_a_loop_that_says_less_in_one_pose_is_counted_by_what_it_says_elsewhere() -> None:
    rng = np.random.default_rng(7)
    W = rng.normal(size=(2, 4, 3))
    W[0][:, 2] = W[0][:, 1] + W[0][:, 0]  # in this pose the second loop repeats the first one
    W[1][:, 1] = 3.0 * W[1][:, 0]  # and in this one the first one itself
    rows = {"first": (0, 1), "second": (2,)}
    assert independent_counts(rows, list(W), 2) == {"first": 2, "second": 0}
    assert independent_counts(rows, [W[1]], 2) == {"first": 1, "second": 1}
    weak = np.random.default_rng(8).normal(size=(4, 3)) * [1.0, 1.0, 1e-10]
    assert independent_counts(rows, [weak], 3) == {"first": 2, "second": 1}
    assert independent_counts(rows, [weak], 2) == {"first": 2, "second": 0}
    assert independent_counts(rows, [W[0], np.zeros((4, 3))], 0) == {"first": 0, "second": 0}
