# SPDX-License-Identifier: Apache-2.0
"""How ranks and poses are found, step by step: against numpy, closed forms of linkages, and poses that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.loops.assembly import CLOSED, close, free_velocities, start_of
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.rank import STEP, Rows, moves, rank_at, stepped
from ada_dynamics.loops.study import (
    NEAR_SINGULAR,
    POSES,
    _regular,
    acting_somewhere,
    independent_columns,
    sample_poses,
    study,
)

Array = Any
Y = (0, 1, 0)


def rods(lengths: tuple[float, ...], apart: float, third: float = 0.0) -> ada.Model:
    """Rods in a plane, one after the other, from one pivot to another one apart from it."""
    builder, parent = ada.Builder("rods").link("base"), "base"
    for i, length in enumerate(lengths, start=1):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5 * length), (0.1, 0.1, 0.01))
        before = 0.0 if i == 1 else lengths[i - 2]
        builder.joint(f"pin_{i}", "revolute", parent, f"rod_{i}", (0, third, before), axis=Y)
        parent = f"rod_{i}"
    builder.loop("closing", "revolute", parent, "base", (0, 0, lengths[-1]), child_xyz=(apart, 0, 0), axis=Y)
    return builder.build()


RHOMBUS = rods((1.0, 1.0, 1.0), 1.0)


def upright(angle: float) -> Array:
    """The rhombus with parallel cranks, leaning by an angle."""
    return np.array([angle, np.pi / 2 - angle, np.pi / 2 + angle])


def off(*by: float) -> Array:
    """A pose beside that at 0.4."""
    return upright(0.4) + np.array(by)


FLAT = upright(np.pi / 2)


# --- conditions in lengths --------------------------------------------------------------------------------------------
def test_the_last_decimal_is_that_of_the_longest_number() -> None:
    for apart, decimals in ((1.25, 4), (1.2345, 4), (1.23456, 5), (1.000000125, 9), (1.0 + 2e-12, 12)):
        model = rods((1.0, 1.5, 1.0), apart)
        length = np.mean([1.0, 1.5, 1.0, apart])
        assert Rows(LoopNumbers(model)).rounding == pytest.approx(10.0**-decimals / length, rel=1e-9, abs=0.0)
    assert Rows(LoopNumbers(rods((1.0, 1.5, 1.0), np.sqrt(2.0)))).rounding == 0.0
    assert Rows(LoopNumbers(rods((1.0, 1.5, np.sqrt(3.0)), 1.0))).rounding == 0.0


def test_gaps_and_singular_values_are_in_lengths() -> None:
    big = rods((2.0, 2.0, 2.0), 2.0)
    for model, scale in ((RHOMBUS, 1.0), (big, 2.0)):
        rows = Rows(LoopNumbers(model))
        # all straight up: three rods from the pivot, and one aside
        assert rows.size(np.zeros(3)) == pytest.approx(3.0)
        at = rows.spectrum(upright(0.4))
        ends = np.cumsum(upright(0.4))
        J = np.array([[sum(f(w) for w in ends[k:]) for k in range(3)] for f in (np.cos, np.sin)])
        assert at.s == pytest.approx([*np.linalg.svd(J, compute_uv=False), 0.0], abs=1e-12), scale
        assert at.Vt.shape == (3, 3)
        assert Rows(rows.numbers, np.array([0])).spectrum(upright(0.4)).s.shape == (3,)


def test_a_step_closes_the_gap_but_for_its_square_and_is_the_shortest_one() -> None:
    rows = Rows(LoopNumbers(RHOMBUS))
    q = off(0.01, -0.02, 0.005)
    before, step = rows.size(q), rows.step_by(q, 2)
    assert rows.size(RHOMBUS.integrate(q, step)) < before**2
    still = rows.spectrum(q).Vt[2]
    assert abs(still @ step) < 1e-15
    # by one singular value only what that one sees is closed
    at = rows.spectrum(q)
    one = rows.step_by(q, 1)
    assert np.linalg.norm(np.cross(one, at.Vt[0])) < 1e-15
    assert at.U[:, 0] @ rows.gap(RHOMBUS.integrate(q, one)) == pytest.approx(0.0, abs=before**2)


def test_a_pose_settles_where_its_loops_close_and_nowhere_where_they_cannot() -> None:
    rows = Rows(LoopNumbers(RHOMBUS))
    settled = rows.settled(off(0.01, -0.02, 0.005), 2)
    assert settled is not None and rows.size(settled) < 1e-14
    assert rows.settled(off(0.8, 0.0, 0.0), 2) is None, "more than a step away"
    # with too few steps it is still on its way
    far = off(0.1, 0.05, 0.1)
    assert rows.settled(far, 2) is not None and rows.settled(far, 2, steps=2) is None
    assert np.array_equal(rows.settled(upright(0.4), 0), upright(0.4)), "without a condition nothing moves"


def test_a_step_along_a_motion_ends_on_the_loops() -> None:
    rows = Rows(LoopNumbers(RHOMBUS))
    along = STEP * np.array([1.0, -1.0, 1.0])
    found = stepped(rows, upright(0.4), 2, along)
    np.testing.assert_allclose(found, upright(0.4 + STEP), atol=1e-12)
    assert stepped(rows, upright(0.4), 2, STEP * np.ones(3)) is None, "it leads back to where it came from"


# --- rank -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", [0.4, 1.2, -0.7, np.pi / 2])
def test_a_rhombus_moves_with_rank_two_and_flat_with_rank_one(angle: float) -> None:
    rows = Rows(LoopNumbers(RHOMBUS))
    assert rank_at(rows, upright(angle)) == (1 if angle == np.pi / 2 else 2)
    assert moves(rows, upright(0.4), 2) and moves(rows, upright(0.4), 3)
    assert not moves(rows, upright(0.4), 1)


def test_two_rods_between_pivots_are_locked_and_in_line_as_well() -> None:
    for apart in (1.5, 2.0):
        model = rods((1.0, 1.0), apart)
        lean = np.arcsin(apart / 2)
        q = np.array([lean, np.pi - 2.0 * lean])
        rows = Rows(LoopNumbers(model))
        assert rows.size(q) < 1e-15
        assert rank_at(rows, q) == (2 if apart == 1.5 else 1)
        assert not moves(rows, q, 1) or apart == 2.0


def test_loops_without_conditions_that_act_have_no_rank() -> None:
    rows = Rows(LoopNumbers(RHOMBUS), np.array([], dtype=np.intp))
    assert rank_at(rows, upright(0.4)) == 0 and rows.size(upright(0.4)) == 0.0


def test_a_motion_that_ends_near_by_is_one_if_its_other_side_leads_on() -> None:
    """A crank that a longer loop of rods stops: from just before its dead point it goes back alone."""
    model = rods((1.0, 1.0, 0.5), 2.4)
    # both long rods nearly in line: 2 sin and so on; the crank of 0.5 turns about the far pivot
    numbers = LoopNumbers(model)
    best = None
    for turn in np.linspace(0.0, np.pi, 400):
        tip = np.array([2.4 - 0.5 * np.cos(turn), 0.5 * np.sin(turn)])
        reach = np.linalg.norm(tip)
        if reach < 2.0 - 1e-3:
            lean, half = np.arctan2(tip[0], tip[1]), np.arccos(reach / 2.0)
            first, second = lean - half, lean + half
            third = np.arctan2(2.4 - tip[0], -tip[1])
            best = np.array([first, second - first, third - second])
    assert best is not None and Rows(numbers).size(best) < 1e-12
    assert moves(Rows(numbers), best, 2)


# --- sample poses -----------------------------------------------------------------------------------------------------
def test_sample_poses_are_closed_a_step_apart_and_the_same_every_time() -> None:
    numbers = LoopNumbers(RHOMBUS)
    found = sample_poses(numbers, upright(0.4))
    assert len(found) == POSES and np.array_equal(found[0], upright(0.4))
    assert all(np.array_equal(a, b) for a, b in zip(found, sample_poses(numbers, upright(0.4)), strict=True))
    rows = Rows(numbers)
    for i, q in enumerate(found):
        assert rows.size(q) < 1e-11
        np.testing.assert_allclose(q, upright(q[0]), atol=1e-9)  # of the same branch
        # each joint turns by as much, three tried steps from some pose before
        assert i == 0 or min(abs(abs(q[0] - other[0]) - 3.0 * STEP) for other in found[:i]) < 1e-9
    assert len({round(q[0], 6) for q in found}) > 3
    assert len(sample_poses(numbers, upright(0.4), count=3)) == 3


def test_poses_much_nearer_to_a_singular_one_than_most_are_left_out() -> None:
    def whitened(sigma: float) -> Array:
        return np.diag([2.0, 2.0 * sigma, 1e-9])

    sigmas = [0.4, 0.5, 0.6, 0.5 * NEAR_SINGULAR * 1.01, 0.5 * NEAR_SINGULAR * 0.99]
    # the median is 0.4
    assert _regular([whitened(s) for s in sigmas], 2) == [0, 1, 2, 3, 4]
    assert _regular([whitened(s) for s in (*sigmas, 0.5, 0.5)], 2) == [0, 1, 2, 3, 5, 6]
    assert _regular([np.zeros((3, 2))] * 2, 0) == [0, 1]


def test_columns_that_stay_far_from_dependent_are_chosen_from_the_largest_on() -> None:
    columns = np.array([[1.0, 0.0, 0.9, 0.0], [0.0, 0.3, 0.9, 0.0], [0.0, 0.0, 0.0, 0.1]])
    assert independent_columns([columns], 1) == [2]
    # of what is left across the third one, the first has 0.7 and the second 0.2
    assert independent_columns([columns], 2) == [0, 2]
    assert independent_columns([columns], 3) == [0, 2, 3]
    assert independent_columns([columns], 4) == [0, 2, 3], "no fourth one is independent"
    other = columns.copy()
    other[:, 2] = 0.0  # in another pose it is lost
    assert independent_columns([columns, other], 2) == [0, 1]


def test_conditions_across_a_plane_never_act() -> None:
    numbers = LoopNumbers(RHOMBUS)
    acting = acting_somewhere(numbers, FLAT)
    assert [str(numbers.conditions[c][2]) for c in acting] == ["force along x", "force along z"]
    found = study(RHOMBUS, upright(0.4))
    assert (found.rank, found.mobility, found.is_redundant) == (2, 1, False)
    assert sorted((*found.used, *found.idle)) == list(range(5)) and sorted(found.used) == acting
    assert [len(own) for own in found.rows(found.idle).values()] == [3]
    (said,) = found.redundant_names()
    assert said.startswith("closing: ") and said.endswith("(never carries anything the mechanism feels)")


def test_conditions_that_act_by_rounding_alone_do_not_act() -> None:
    """The same rods in a plane askew, with places and axes that are rounded."""
    R, rng = Rotation.from_euler("xyz", (0.3, -0.5, 0.7)).as_matrix(), np.random.default_rng(2)
    builder, parent = ada.Builder("askew").link("base"), "base"

    def axis() -> Array:
        return R[:, 1] + 1e-9 * rng.normal(size=3)

    for i in range(3):
        builder.link(f"rod_{i}", 1.0, R[:, 2] * 0.5, (0.1, 0.1, 0.1))
        builder.joint(f"pin_{i}", "revolute", parent, f"rod_{i}", R[:, 2] * float(i > 0), axis=axis())
        parent = f"rod_{i}"
    builder.loop("closing", "revolute", parent, "base", R[:, 2], child_xyz=R[:, 0], axis=axis())
    numbers = LoopNumbers(builder.build())
    felt = np.max([np.abs(numbers.jacobian(upright(a))).max(axis=1) for a in (0.4, 0.9)], axis=0)
    assert (felt < 1e-8).sum() == 3 and (felt > 0.0).all()
    assert len(acting_somewhere(numbers, upright(0.4))) == 2


# --- closing ----------------------------------------------------------------------------------------------------------
def test_closing_stops_at_its_tolerance_and_polishes_from_there_on() -> None:
    numbers = LoopNumbers(RHOMBUS)
    start = off(0.05, -0.05, 0.02)
    rough = close(numbers, start, tolerance=1e-3, polish=0)
    assert 1e-9 < rough.gap < 1e-3
    polished = close(numbers, start, tolerance=1e-3, polish=2)
    assert (polished.steps, polished.gap < CLOSED) == (rough.steps + 2, True)
    assert close(numbers, start, steps=1).steps == 1
    one = Rows(numbers)
    np.testing.assert_allclose(close(numbers, start, steps=1).q, start + one.step_by(start, 2), atol=1e-12)


def test_only_free_velocities_move() -> None:
    numbers = LoopNumbers(RHOMBUS)
    free = free_velocities(RHOMBUS, ["pin_1"])
    assert free is not None and free.tolist() == [1, 2]
    assert free_velocities(RHOMBUS, []) is None
    start = off(0.2, -0.1, 0.1)
    found = close(numbers, start, free)
    assert found.gap < CLOSED and found.q[0] == start[0]
    np.testing.assert_allclose(found.q, upright(0.6), atol=1e-10)
    # a single joint closes what it alone is wrong in
    last = np.array([2])
    np.testing.assert_allclose(close(numbers, off(0.0, 0.0, 0.3), last).q, upright(0.4), atol=1e-10)


def test_a_step_that_does_not_help_is_damped_as_levenberg_and_marquardt_write_it() -> None:
    """(JᵀJ + d² s²) x = -Jᵀ g, with s the largest singular value, for one of some d."""
    numbers = LoopNumbers(rods((1.0, 1.0), 3.0))
    rows, seen = Rows(numbers), set()
    for first in (1.2, 1.35, 1.5):
        q = np.array([first, 0.05])
        J, g = numbers.jacobian(q) / (numbers.weights * numbers.length)[:, None], rows.gap(q)
        largest = np.linalg.svd(J, compute_uv=False)[0]
        step = close(numbers, q, steps=1).q - q
        size = np.abs(step).max()
        found = []
        for damping in (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3):
            x = -np.linalg.solve(J.T @ J + (damping * largest) ** 2 * np.eye(2), J.T @ g)
            x *= min(1.0, 0.6 * max(1.0, numbers.length) / np.abs(x).max())
            if np.abs(x - step).max() < 1e-9 * size:
                found.append(damping)
        assert len(found) == 1
        seen.add(found[0])
    assert max(seen) > 0.0


def test_rods_that_do_not_reach_end_stretched_towards_the_pivot() -> None:
    numbers = LoopNumbers(rods((1.0, 1.0), 3.0))
    found = close(numbers, np.array([1.0, 0.4]))
    np.testing.assert_allclose(found.q, [np.pi / 2, 0.0], atol=1e-2)  # whose square is what the gap is off by
    assert found.gap * numbers.length == pytest.approx(1.0, rel=1e-4)


def test_a_guess_is_copied_and_none_is_the_neutral_pose() -> None:
    q = upright(0.4)
    found = start_of(RHOMBUS, q)
    assert np.array_equal(found, q) and found is not q and not np.shares_memory(found, q)
    assert np.array_equal(start_of(RHOMBUS, None), np.zeros(3))
