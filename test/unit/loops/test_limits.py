# SPDX-License-Identifier: Apache-2.0
"""Limits at which searches for orders, ranks and motions decide: each a little under and over, on numbers by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.loops import (
    assembly,
    long_orders,
    map_order,
    plans,
    stored,
    study,
)
from ada_dynamics.loops.assembly import CLOSED, Closing
from ada_dynamics.loops.long import RedundantError
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.orders import EARLY_PIVOT, Samples
from ada_dynamics.loops.rank import ROUNDED_GAP

Array = Any
Y = (0, 1, 0)


class Line:
    """A model whose positions are numbers."""

    nv = 2
    tree = None

    def integrate(self, q: Array, v: Array) -> Array:
        return q + v

    def difference(self, q: Array, other: Array) -> Array:
        return other - q


def rows_of(size: Any) -> Any:
    """Rows with gaps by pose, the first direction forbidden."""
    at = SimpleNamespace(Vt=np.eye(2))
    return SimpleNamespace(size=size, spectrum=lambda q: at, numbers=SimpleNamespace(model=Line()))


# --- sample poses -----------------------------------------------------------------------------------------------------
def sampled(monkeypatch: Any, start_gap: float, gap: float, turned: bool = False) -> int:
    """Poses found of three, where all but the start have this gap."""
    rows = rows_of(lambda q: gap if q.any() else start_gap)
    monkeypatch.setattr(study, "acting_somewhere", lambda numbers, q: [0])
    monkeypatch.setattr(study, "Rows", lambda numbers, acting: rows)
    monkeypatch.setattr(study, "rank_at", lambda rows, q: 1)
    monkeypatch.setattr(study, "_moved", lambda rows, q, at, step: q + step)
    monkeypatch.setattr(study, "flipped", lambda tree, q: ["loop"] * turned)
    numbers: Any = SimpleNamespace(model=Line())
    return len(study.sample_poses(numbers, np.zeros(2), 3))


@pytest.mark.parametrize(
    ("start", "limit"), [(0.0, 1e-11), (0.5e-12, 1e-11), (1e-9, 1e-8), (1e-5, 1e-4), (2e-4, ROUNDED_GAP)]
)
def test_a_sample_pose_is_closed_as_far_as_the_start_times_ten_and_never_less_than_files_are(
    monkeypatch: Any, start: float, limit: float
) -> None:
    assert sampled(monkeypatch, start, 0.99 * limit) == 3
    assert sampled(monkeypatch, start, 1.01 * limit) == 1
    assert sampled(monkeypatch, start, 0.99 * limit, turned=True) == 1


def test_a_motion_is_followed_straight_or_by_closing_what_lies_ahead(monkeypatch: Any) -> None:
    def moved(straight: Array | None, gaps: tuple[float, float], closed: Array) -> Array | None:
        rows = rows_of(lambda q: gaps[1] if q.any() else gaps[0])
        monkeypatch.setattr(study, "stepped", lambda rows, q, at, step: straight)
        monkeypatch.setattr(study, "close", lambda numbers, aim, steps: Closing(closed, 0.0, steps))
        return study._moved(rows, np.zeros(2), 1, np.array([0.4, -0.1]))

    straight, ahead = np.array([0.5, 0.0]), np.array([0.4, 0.0])
    for start, limit in ((0.0, 1e-11), (1e-7, 1e-6)):
        assert moved(straight, (start, 0.99 * limit), ahead) is straight
        assert moved(straight, (start, 1.01 * limit), ahead) is ahead
    # at least a quarter of the step away from where it was, and less than the step from where it was to go
    for closed, found in (
        ([0.11, 0.0], True),
        ([0.1, 0.1], False),
        ([0.09, 0.0], False),
        ([0.4, 0.29], True),
        ([0.4, 0.31], False),
        ([0.81, -0.1], False),
        ([0.0, 0.0], False),
    ):
        assert (moved(None, (0.0, 0.0), np.array(closed)) is not None) == found


def test_the_rank_is_that_of_most_poses_and_the_largest_of_as_many(monkeypatch: Any) -> None:
    for ranks, general in (([9, 2, 2, 3], 2), ([1, 2, 3], 3), ([5, 4], 4), ([4], 4), ([1, 3, 3, 2, 2], 3)):
        monkeypatch.setattr(study, "rank_at", lambda rows, k: k)
        rows: Any = None
        poses: Any = ranks
        assert study._general_rank(rows, poses) == general


def test_columns_of_equal_length_to_three_digits_are_taken_in_their_order() -> None:
    for more, chosen in ((4e-4, [0]), (6e-4, [1]), (4e-3, [1])):
        assert study.independent_columns([np.diag([1.0, 1.0 + more])], 1) == chosen
    # a column that is nothing but rounding stays as it is
    tiny = np.array([[1e-13, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(study._without(tiny, 0), tiny)
    np.testing.assert_allclose(study._without(np.array([[1e-11, 1.0], [0.0, 1.0]]), 0), [[0.0, 0.0], [0.0, 1.0]])


# --- assembly ---------------------------------------------------------------------------------------------------------
def slides(length: float = 1.0) -> tuple[LoopNumbers, ada.Model]:
    """Two slides whose gaps are their positions."""
    builder = ada.Builder("slides").link("base").link("a", 1.0, inertia=(1, 1, 1)).link("b", 1.0, inertia=(1, 1, 1))
    builder.joint("x", "prismatic", "base", "a", (length, 0, 0), axis=(1, 0, 0))
    builder.joint("z", "prismatic", "a", "b", (0, 0, length), axis=(0, 0, 1))
    model = builder.loop("end", "spherical", "b", "base", child_xyz=(length, 0, length)).build()
    return LoopNumbers(model), model


def test_dampings_are_tried_one_after_the_other_until_one_helps() -> None:
    """With unit singular values a step is -g / (1 + d²)."""
    numbers, _ = slides()
    J, g = np.eye(3)[:, :2], np.array([1e-3, -2e-3, 0.0])
    dampings = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)
    for count in range(len(dampings) + 1):
        asked: list[Array] = []

        def error(q: Array, count: int = count, asked: list[Array] = asked) -> Array:
            asked.append(q)
            return g * (0.5 if len(asked) == count else 1.0)

        found = assembly._better(numbers, np.zeros(2), g, J, np.arange(2), error, 1e-9)
        assert (found is None) == (count == 0) and len(asked) == (count or len(dampings))
        for q, d in zip(asked, dampings, strict=False):
            np.testing.assert_allclose(q, -g[:2] / (1.0 + d * d), rtol=1e-12)


def test_singular_values_that_are_arithmetic_move_nothing_and_steps_are_no_longer_than_six_tenths() -> None:
    for size in (1.0, 5.0):
        numbers, _ = slides(size)
        longest = 0.6 * max(1.0, numbers.length)
        for g, step in ((0.5 * longest, 0.5), (3.0 * longest, 1.0)):
            found = assembly._better(
                numbers, np.zeros(2), np.array([g, 0.0]), np.eye(2), np.arange(2), lambda q: 0.0 * q, 1e-9
            )
            assert found is not None
            np.testing.assert_allclose(found[0], [-step * longest, 0.0], rtol=1e-12)
    numbers, _ = slides()
    for s, moves in ((1.01e-3, True), (0.99e-3, False)):
        found = assembly._better(
            numbers, np.zeros(2), np.array([1e-9, 1e-5]), np.diag([1.0, s]), np.arange(2), lambda q: 0.0 * q, 1e-3
        )
        assert found is not None and (found[0][1] != 0.0) == moves
    assert assembly._better(numbers, np.zeros(2), np.ones(2), np.zeros((2, 2)), np.arange(2), abs, 1e-9) is None


def test_what_is_open_is_told_in_lengths_and_angles() -> None:
    numbers, _ = slides()
    limit = CLOSED * max(1.0, numbers.length)
    assert assembly._open_by(numbers, np.array([0.3, 0.4])) == {"end": "0.5 m"}
    assert assembly._open_by(numbers, np.array([0.99 * limit, 0.0])) == {}
    assert assembly._open_by(numbers, np.array([0.0, 1.01 * limit])) != {}
    small = LoopNumbers(slides(0.1)[1])
    assert small.length < 1.0 and assembly._open_by(small, np.array([1.01 * CLOSED, 0.0])) != {}


# --- orders of elimination --------------------------------------------------------------------------------------------
def test_pivots_bring_few_terms_are_a_tenth_of_the_largest_and_the_larger_ones_among_equals() -> None:
    def best(left: Any) -> tuple[int, int]:
        A = np.array([left] if np.ndim(left) == 2 else left, dtype=float)
        return map_order._best(A, np.any(A != 0.0, axis=0), list(range(A.shape[1])), list(range(A.shape[2])))

    # the middle row has one other entry, the others two; column 2 has one entry less than the others
    rows = [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    assert best(rows) == (0, 2)
    assert best([[2.0, 3.0], [3.0, 2.5]]) == (0, 1)
    assert best([[2.0, 2.9], [3.0, 2.5]]) == (1, 0)
    for share, chosen in ((0.11, (1, 2)), (0.09, (0, 0))):
        assert best([[1.0, 1.0, 0.0], [1.0, 1.0, share]]) == chosen
    # small in one of two poses is small
    assert best([[[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 0.0], [1.0, 1.0, 0.01]]]) == (0, 0)
    # exactly a tenth is large enough; half of a relative size never outweighs a term
    assert best([[10.0, 10.0, 0.0], [10.0, 10.0, 1.0]]) == (1, 2)


def test_pivots_eliminate_the_velocities_that_are_not_chosen() -> None:
    rng = np.random.default_rng(3)
    for n, m in ((5, 3), (6, 2)):
        samples = list(rng.normal(size=(4, m, n)) * (rng.random((m, n)) < 0.7) + np.eye(m, n))
        chosen = list(range(m, n))
        pivots, typical = map_order.pivots_of(samples, chosen)
        assert sorted(i for i, _ in pivots) == list(range(m)) == sorted(k for _, k in pivots)
        # the product of all pivots is the determinant of the block that is eliminated
        block = np.array(samples)[:, :, :m]
        reached = np.array(block)
        for count, (i, k) in enumerate(pivots, start=1):
            done = pivots[: count - 1]
            rows, columns = [a for a, _ in done], [b for _, b in done]
            for A, whole in zip(reached, block, strict=True):
                before = np.linalg.det(whole[np.ix_(rows, columns)]) if done else 1.0
                A[i, k] = np.linalg.det(whole[np.ix_([*rows, i], [*columns, k])]) / before
            assert typical[count - 1] == pytest.approx(np.abs(reached[:, i, k]).min(), rel=1e-9)


def test_multipliers_go_early_with_more_than_their_share_in_every_pose() -> None:
    masses, jacobians = [np.eye(2), 4.0 * np.eye(2)], [np.array([[1.0, 1.0]])] * 2
    samples = Samples(masses, jacobians)
    assert samples.typical.tolist() == [0.5]
    assert samples.can_go(0) and samples.can_go(1) and not samples.can_go(2)
    samples.eliminate(0)
    samples.eliminate(1)
    assert samples.can_go(2)
    for K, whole in zip(samples.systems, samples.whole, strict=True):
        assert -K[2, 2] == pytest.approx(whole[0])
        kept = K[2, 2]
        for share, goes in ((1.01, True), (0.99, False)):
            K[2, 2] = -share * EARLY_PIVOT * whole[0]
            assert samples.can_go(2) == goes
        K[2, 2] = kept


def test_what_freeing_a_joint_couples_are_six_numbers_a_body_and_what_it_carries() -> None:
    search: Any = SimpleNamespace(general=SimpleNamespace(cross=[{1, 2}, {0}, set()], columns=[{0}, {3, 4, 5}, {1}]))
    assert [long_orders._Search.coupled(search, i) for i in range(3)] == [13, 9, 1]
    for count, crowded in ((8, False), (9, True)):
        search.general = SimpleNamespace(touched=[{0, 1}], columns=[{0}, set(range(count))])
        assert long_orders._Search._is_crowded(search, 0) == crowded
    search = SimpleNamespace(_pivots=lambda c: [1.0, 3.0, 0.5], typical=np.array([[2.0], [4.0], [0.0]]))
    assert long_orders._Search._share(search, 0) == 0.0
    search.typical[2] = 0.625
    assert long_orders._Search._share(search, 0) == 0.5


def test_conditions_that_wait_to_the_end_are_solved_for_the_largest_share_first(monkeypatch: Any) -> None:
    shares = {0: 0.5, 1: 0.9, 2: 0.9 * EARLY_PIVOT, 3: 0.7}
    tree = SimpleNamespace(bodies=[], nv=10)
    search: Any = object.__new__(long_orders._Search)
    solved: list[int] = []
    sweep = SimpleNamespace(solve_condition=solved.append)
    search.tree, search.sweeps, search.waiting = tree, [sweep], set(shares)
    search.general = SimpleNamespace(
        touched=[{0}, {0, 1}, {0}, set()], coupling=SimpleNamespace(count=lambda c: 2), columns=[]
    )
    search.work, search.typical, search.found = 0, np.array([[1.0, 2.0, 3.0, 4.0]]), long_orders.LongOrder()
    monkeypatch.setattr(search, "_share", shares.__getitem__)
    assert search.run(lambda search: [])
    assert (solved, search.found.order, search.found.cancelled) == ([1, 3, 0], [11, 13, 10], [2])
    assert search.found.typical.tolist() == [1.0, 2.0, 3.0, 4.0]
    # pairs of 12 + 2, of 2 and of 6 + 2 unknowns
    assert search.work == 105 + 3 + 36
    assert not search._try_to_solve(1) and solved == [1, 3, 0]


def test_large_mechanisms_are_not_searched_for_all_that_small_ones_are(monkeypatch: Any) -> None:
    def refuse(model: Any, pose: Any) -> Any:
        raise RedundantError("redundant")

    monkeypatch.setattr(stored, "study", lambda *given: "study")
    monkeypatch.setattr(stored, "make_plans", lambda model, found: "plans")
    for nv, long in ((60, False), (61, True), (300, True), (301, True)):
        model: Any = SimpleNamespace(nv=nv)
        monkeypatch.setattr(stored, "study_long", lambda model, pose: "long")
        assert stored._study_and_plans(model, None, False) == ("long" if long else ("study", "plans"))
        monkeypatch.setattr(stored, "study_long", refuse)
        if nv == 301:
            with pytest.raises(RedundantError):
                stored._study_and_plans(model, None, False)
        else:
            assert stored._study_and_plans(model, None, False) == ("study", "plans")


def test_candidates_are_those_that_a_mechanism_allows(monkeypatch: Any) -> None:
    asked: list[Any] = []

    def along(tree: Any, samples: Any, touched: Any, early: bool) -> Any:
        asked.append((touched, early))
        return None if early else (7,)

    monkeypatch.setattr(plans, "along_the_tree", along)
    monkeypatch.setattr(plans, "sparsest", lambda samples: (5,))
    loops = [SimpleNamespace(name="a", parent=-1, child=4), SimpleNamespace(name="b", parent=2, child=3)]
    last = Plan({"a": (0, 1), "b": (0, 1, 2)}, (9,), {"b": 1})
    for nv, mimics, names in (
        (60, False, ["aba late", "kkt late", "kkt sparse"]),
        (61, False, ["aba late"]),
        (61, True, ["kkt late", "kkt sparse"]),
    ):
        asked.clear()
        model: Any = SimpleNamespace(has_mimics=mimics, nv=nv, tree=SimpleNamespace(loops=loops))
        samples: Any = lambda: None  # noqa: E731
        found = plans._candidates(model, last, samples)
        assert sorted(found) == names
        assert asked == ([] if mimics else [([{4}, {4}, {2, 3}], True), ([{4}, {4}, {2, 3}], False)])
        orders = {"aba late": (7,), "kkt late": (9,), "kkt sparse": (5,)}
        assert all(plan.order == orders[name] and plan.rows == last.rows for name, plan in found.items())
