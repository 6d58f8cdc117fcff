# SPDX-License-Identifier: Apache-2.0
"""Searches for closed poses and ranks, told what they find at each step: what they try next, how far and how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.loops import assembly, long_orders, orders, rank, study
from ada_dynamics.loops.assembly import CLOSED, Closing
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.rank import CERTAIN, ROUNDED_GAP, STEP, Spectrum
from ada_dynamics.loops.study import IDLE

Array = Any
Y = (0, 1, 0)


class Ones:
    """In place of random numbers."""

    def normal(self, size: int) -> Array:
        return np.ones(size)

    def integers(self, stop: int) -> int:
        return stop - 1


class Line:
    """A model whose positions are numbers."""

    nv = 2

    def integrate(self, q: Array, v: Array) -> Array:
        return q + v

    def difference(self, q: Array, other: Array) -> Array:
        return other - q


# --- assembly ---------------------------------------------------------------------------------------------------------
def linkage() -> ada.Model:
    builder = ada.Builder("rods").link("base")
    for name, parent, z in (("a", "base", 0), ("b", "a", 1)):
        builder.link(name, 1.0, (0, 0, 0.5), (0.1, 0.1, 0.1))
        builder.joint(f"at_{name}", "revolute", parent, name, (0, 0, z), axis=Y)
    return builder.loop("pin", "spherical", "b", "base", (0, 0, 1), child_xyz=(3, 0, 0)).build()


def starts(monkeypatch: Any, gaps: list[float], free: Array | None = None) -> tuple[list[Array], str]:
    """Where a search begins that comes to these gaps and no nearer, and what it says."""
    model, tried = linkage(), []

    def close(numbers: Any, q: Array, free: Any, **more: Any) -> Closing:
        tried.append(q)
        # the pose in which it ends is told apart by the first joint
        return Closing(np.array([0.01 * len(tried), 0.0]), gaps[min(len(tried), len(gaps)) - 1], 1)

    monkeypatch.setattr(assembly, "close", close)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Ones())
    monkeypatch.setattr(assembly, "_open_by", lambda numbers, q: {"pin": f"{q[0]:.2f}"})
    with pytest.raises(ada.ModelError) as said:
        assembly.assembled(model, LoopNumbers(model), np.zeros(2), free)
    return tried, str(said.value)


def test_starts_are_pushed_a_tenth_further_each_time_up_to_one_and_a_half(monkeypatch: Any) -> None:
    tried, said = starts(monkeypatch, [1.0])
    assert len(tried) == 25 and "(25 starts tried)" in said
    for i, q in enumerate(tried):
        np.testing.assert_allclose(q, np.full(2, min(0.1 * i, 1.5)), atol=1e-15)
    tried, _ = starts(monkeypatch, [1.0], np.array([1]))
    assert len(tried) == 25
    np.testing.assert_allclose(tried[3], [0.0, 0.3], atol=1e-15)


@pytest.mark.parametrize(
    ("gaps", "best"),
    [([0.5, 0.7, 0.3, 0.3, 0.4], "0.03"), ([0.5, 0.7, 0.6], "0.01"), ([3.0, 2.0, 1.0, 0.9, 2.0], "0.04")],
)
def test_the_first_pose_that_is_nearest_to_closed_is_told(monkeypatch: Any, gaps: list[float], best: str) -> None:
    assert f"'pin' by {best}." in starts(monkeypatch, gaps)[1]


def test_a_small_gap_is_asked_for_rounding_and_a_turned_loop_is_no_open_one(monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr(assembly, "_closed_but_for_rounding", lambda numbers, start, free: asked.append(start))
    starts(monkeypatch, [1.0, 0.99 * ROUNDED_GAP, 1.01 * ROUNDED_GAP])
    assert [q[0] for q in asked] == pytest.approx([0.1])
    monkeypatch.setattr(assembly, "flipped", lambda tree, q: ["pin"])
    asked.clear()
    tried, said = starts(monkeypatch, [0.5 * CLOSED])
    assert (len(tried), asked) == (25, []) and "'pin' only closes with its axes in opposite directions" in said


# --- rank -------------------------------------------------------------------------------------------------------------
class Steps(rank.Rows):
    """Steps of these sizes, one after the other."""

    def __init__(self, sizes: list[float]) -> None:
        self.sizes, self.taken = sizes, 0
        self.numbers: Any = SimpleNamespace(model=Line())

    def step_by(self, q: Array, rank: int) -> Array:
        self.taken += 1
        return np.array([self.sizes[self.taken - 1], 0.0])


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        ([0.1, 9e-10, 5e-10, 1.0], 3),  # a step under 1e-9 that is no longer half of the one before is the last one
        ([0.1, 9e-10, 4e-10, 1e-10, 6e-11, 1.0], 5),
        ([0.1, 1e-8, 9e-9, 8e-9, 1e-10, 9e-16, 1.0], 6),
        ([0.39, 0.0, 1.0], 2),
    ],
)
def test_a_pose_is_settled_once_rounding_stops_it(sizes: list[float], taken: int) -> None:
    rows = Steps(sizes)
    found = rows.settled(np.zeros(2), 1)
    assert rows.taken == taken
    np.testing.assert_allclose(found, [sum(sizes[:taken]), 0.0], rtol=1e-15)


def test_a_pose_that_keeps_moving_is_settled_if_it_moves_by_rounding_alone() -> None:
    assert Steps([0.1, 1e-5, 0.9e-9]).settled(np.zeros(2), 1, steps=3) is not None
    assert Steps([0.1, 1e-5, 1.1e-9]).settled(np.zeros(2), 1, steps=3) is None
    assert Steps([0.1, 0.41]).settled(np.zeros(2), 1) is None, "more than two steps away"
    assert Steps([np.nan]).settled(np.zeros(2), 1) is None
    rows = Steps([1e-8] * 20)
    assert rows.settled(np.zeros(2), 1) is None and rows.taken == 12


class Spectra:
    """Rows with these singular values, everywhere."""

    def __init__(self, s: list[float], rounding: float = 0.0, size: float = 0.0) -> None:
        self.s, self.rounding, self._size, self.numbers = np.array(s), rounding, size, SimpleNamespace(model=Line())

    def spectrum(self, q: Array) -> Spectrum:
        return Spectrum(np.eye(len(self.s)), self.s, np.eye(len(self.s)))

    def size(self, q: Array) -> float:
        return self._size


def ranks_tried(monkeypatch: Any, rows: Spectra, true: int | None = None) -> tuple[list[int], int]:
    tried: list[int] = []

    def moves(rows: Any, q: Array, at: int) -> bool:
        tried.append(at)
        return at == true

    monkeypatch.setattr(rank, "moves", moves)
    found: Any = rows
    return tried, rank.rank_at(found, np.zeros(2))


def test_a_spectrum_is_split_where_it_falls_by_five_between_what_is_certain_and_arithmetic(monkeypatch: Any) -> None:
    s = [1.0, 4e-3, 1e-3, 1e-4, 0.9e-10]
    # the last decimal by ten is more than what is certain; 4e-3 and 1e-3 are neighbours
    assert ranks_tried(monkeypatch, Spectra(s, rounding=1e-3)) == ([1, 3], 4)
    assert ranks_tried(monkeypatch, Spectra(s, rounding=1e-3), true=1) == ([1], 1)
    assert ranks_tried(monkeypatch, Spectra(s, rounding=1e-3), true=3) == ([1, 3], 3)
    assert ranks_tried(monkeypatch, Spectra(s, rounding=0.9e-4)) == ([3], 4)
    assert ranks_tried(monkeypatch, Spectra(s, rounding=1.1e-5)) == ([3], 4)
    assert ranks_tried(monkeypatch, Spectra(s, rounding=0.9e-5)) == ([], 4)
    assert ranks_tried(monkeypatch, Spectra(s, size=3.35e-6)) == ([3], 4)  # thirty times the gap
    assert ranks_tried(monkeypatch, Spectra(s, size=3.31e-6)) == ([], 4)
    # nothing before the first one
    assert ranks_tried(monkeypatch, Spectra([4e-3, 1e-4, 9e-5], rounding=1e-3)) == ([0, 1], 3)
    assert ranks_tried(monkeypatch, Spectra([CERTAIN * 1.01, CERTAIN * 1.01], rounding=1.0)) == ([], 2)
    assert ranks_tried(monkeypatch, Spectra([0.0, 0.0])) == ([], 0)


@pytest.mark.parametrize(("ahead", "behind"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_motion_may_lead_on_to_one_side_alone(monkeypatch: Any, ahead: bool, behind: bool) -> None:
    tried = []

    def stepped(rows: Any, q: Array, at: int, step: Array) -> Array | None:
        tried.append(step)
        return q if (ahead if step[1] > 0.0 else behind) else None

    monkeypatch.setattr(rank, "stepped", stepped)
    rows: Any = Spectra([1.0, 1e-9])
    assert rank.moves(rows, np.zeros(2), 1) == (ahead or behind)
    assert all(np.array_equal(np.abs(step), [0.0, STEP]) for step in tried)
    if ahead and behind:
        assert len(tried) == 3


def test_a_gap_grows_with_a_step_as_far_as_its_singular_value_explains(monkeypatch: Any) -> None:
    """Four times σ h and the gap before; ten last decimals count as σ; never more than a file leaves."""

    def allows(gap: float, sigma: float, rounding: float = 0.0, before: float = 0.0) -> bool:
        rows: Any = Spectra([1.0, sigma], rounding)
        rows.size = lambda q: gap if q.any() else before
        monkeypatch.setattr(rank, "stepped", lambda rows, q, at, step: q + step)
        return rank.moves(rows, np.zeros(2), 1)

    for limit, more in (
        (4.0 * 1e-5 * 0.2, {"sigma": 1e-5}),
        (4.0 * 10.0 * 2e-6 * 0.2, {"sigma": 1e-5, "rounding": 2e-6}),
        (4.0 * (1e-5 * 0.2 + 3e-6), {"sigma": 1e-5, "before": 3e-6}),
        (1e-3, {"sigma": 1e-2}),
        (1e-12, {"sigma": 0.0}),
    ):
        assert allows(0.99 * limit, **more) and not allows(1.01 * limit, **more)


# --- sample poses -----------------------------------------------------------------------------------------------------
def test_conditions_act_whose_largest_entry_anywhere_is_a_ten_millionth_of_the_largest(monkeypatch: Any) -> None:
    asked: list[Array] = []
    for unit in (1.0, 1e-3, 1e3):

        def rows(q: Array, unit: float = unit) -> list[Any]:
            asked.append(q)
            sizes = [[1.0, -2.0], [1.01 * 2.0 * IDLE], [0.99 * 2.0 * IDLE], [], [float(q[0] != 0.0), 0.0]]
            return [SimpleNamespace(columns={i: unit * x for i, x in enumerate(own)}) for own in sizes]

        numbers: Any = SimpleNamespace(model=Line(), conditions=[None] * 5, rows=rows)
        asked.clear()
        monkeypatch.setattr(np.random, "default_rng", lambda seed: Ones())
        assert study.acting_somewhere(numbers, np.zeros(2)) == [0, 1, 4]
        assert [q.tolist() for q in asked] == [[0.0, 0.0], [0.3, 0.3], [0.3, 0.3]]


def test_six_steps_of_each_length_are_tried_for_each_pose_wanted(monkeypatch: Any) -> None:
    """With six poses wanted, six steps of 0.6, then six of each length that is 0.6 of the one before."""
    steps: list[float] = []

    def moved(rows: Any, q: Array, at: int, step: Array) -> None:
        steps.append(float(np.max(np.abs(step))))

    monkeypatch.setattr(study, "acting_somewhere", lambda numbers, q: [0])
    monkeypatch.setattr(study, "Rows", lambda numbers, acting: Spectra([1.0, 0.0]))
    monkeypatch.setattr(study, "rank_at", lambda rows, q: 1)
    monkeypatch.setattr(study, "_moved", moved)
    numbers: Any = None
    for count in (6, 2):
        steps.clear()
        assert len(study.sample_poses(numbers, np.zeros(2), count)) == 1
        np.testing.assert_allclose(steps, [0.6 * 0.6**i for i in range(6) for _ in range(count)], rtol=1e-12)


# --- orders -----------------------------------------------------------------------------------------------------------
def test_a_multiplier_hands_its_bodies_to_the_conditions_that_it_is_coupled_to() -> None:
    pattern = np.zeros((6, 6), dtype=bool)
    gone: list[int] = []
    pattern[3, [2, 3, 5]] = pattern[4, [2, 4]] = True  # two velocities; four conditions, of which 1 has 0, 1 and 3
    samples: Any = SimpleNamespace(nv=2, pattern=pattern, eliminate=gone.append)
    touches, waiting = [{7}, {8, 9}, {5}, {8}], {0, 1, 2, 3}
    orders._spread(1, touches, waiting, samples)
    assert touches == [{7, 8, 9}, {8, 9}, {5}, {8, 9}]
    assert (gone, waiting) == ([3], {0, 2, 3})
    orders._spread(2, touches, waiting, samples)
    assert touches == [{5, 7, 8, 9}, {8, 9}, {5}, {8, 9}]
    assert (gone, waiting) == ([3, 4], {0, 3})


def test_long_orders_are_judged_by_what_is_coupled_in_general_position() -> None:
    model = linkage()
    numbers = LoopNumbers(model)
    wrenches = [row.wrenches for row in numbers.rows(np.zeros(2))][:2]
    plan = Plan({"pin": (0, 1)}, ())
    nothing: list[Any] = [{}, {}]
    for own, coupled in (([nothing, wrenches], 2), ([wrenches, nothing], 0)):
        search = long_orders._Search(numbers, [np.zeros(2)] * 2, plan, own)
        assert search.coupled(model.tree.bodies[-1].index) == coupled


def test_usual_work_is_that_of_one_loop_twice_over() -> None:
    """A body's 6 accelerations and 8 conditions are 14 unknowns, with 1 + 2 + ... + 14 pairs."""
    assert 2 * sum(range(1, 15)) == long_orders._USUAL_WORK
