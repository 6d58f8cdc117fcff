# SPDX-License-Identifier: Apache-2.0
"""Orders of elimination by their rules, on mechanisms small enough to order by hand, and what elimination leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.loops import long, long_orders, stored
from ada_dynamics.loops.numbers import LoopNumbers, typical_length
from ada_dynamics.loops.orders import EARLY_PIVOT, Samples, along_the_tree, late, sparsest
from ada_dynamics.loops.plans import _is_regular, make_plans
from ada_dynamics.loops.study import Study, acting_somewhere, study
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms.random_mechanism import random_mechanism

Array = Any
Y = (0, 1, 0)


def random_samples(rng: np.random.Generator, n: int = 5, m: int = 2, poses: int = 3) -> tuple[Samples, list[Array]]:
    masses = [A @ A.T + np.eye(n) for A in rng.normal(size=(poses, n, n))]
    jacobians = list(rng.normal(size=(poses, m, n)))
    whole = [np.block([[M, J.T], [J, np.zeros((m, m))]]) for M, J in zip(masses, jacobians, strict=True)]
    return Samples(masses, jacobians), whole


# --- samples ----------------------------------------------------------------------------------------------------------
def test_what_elimination_leaves_is_the_schur_complement() -> None:
    samples, whole = random_samples(np.random.default_rng(1))
    gone: list[int] = []
    for unknown in (4, 2, 6, 0):
        samples.eliminate(unknown)
        gone.append(unknown)
        left = [k for k in range(7) if k not in gone]
        for K, A in zip(samples.systems, whole, strict=True):
            expected = A[np.ix_(left, left)] - A[np.ix_(left, gone)] @ np.linalg.solve(
                A[np.ix_(gone, gone)], A[np.ix_(gone, left)]
            )
            np.testing.assert_allclose(K[np.ix_(left, left)], expected, atol=1e-10)
        assert not samples.pattern[gone].any() and not samples.pattern[:, gone].any()
        assert samples.pattern[np.ix_(left, left)].sum() >= 4


def test_a_copy_is_reduced_by_itself() -> None:
    samples, whole = random_samples(np.random.default_rng(1))
    samples.copy().eliminate(4)
    assert all(np.array_equal(K, A) for K, A in zip(samples.systems, whole, strict=True))
    assert samples.pattern[4, :5].all()


def test_couplings_are_those_of_any_pose_and_spread_to_what_was_coupled_to_the_eliminated() -> None:
    M = np.eye(4)
    one, other = np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 1.0, 0.0]])
    samples = Samples([M, M], [one, other])
    assert samples.pattern[4].tolist() == [True, True, True, False, False]
    samples.eliminate(0)
    assert samples.pattern[4].tolist() == [False, True, True, False, True]
    samples.eliminate(4)
    assert samples.pattern[1].tolist() == [False, True, True, False, False]
    assert samples.pattern[3].tolist() == [False, False, False, True, False]


def test_pivots_are_judged_by_what_they_would_be_at_last_in_the_worst_pose() -> None:
    M = np.eye(3)
    # eliminating velocity 0 leaves the first condition its share of 1, the second one of ε²
    for eps, may_go in ((1.1, True), (0.9, False)):
        e = np.sqrt(eps * EARLY_PIVOT)
        good, bad = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0], [e, 0.0, 1.0]])
        samples = Samples([M, M], [good, bad])
        np.testing.assert_allclose(samples.typical, [1.0, 1.0 + e * e])
        assert [samples.can_go(k) for k in range(5)] == [True, True, True, False, False]
        samples.eliminate(0)
        assert [samples.can_go(3), samples.can_go(4)] == [True, may_go]
        assert samples.best([3, 4]) == samples.best([4, 3]) == 3
        samples.eliminate(2)
        assert samples.can_go(4)


def test_the_usual_determinant_is_the_median_one_in_units_of_its_scales() -> None:
    samples, whole = random_samples(np.random.default_rng(2))
    scales = np.random.default_rng(3).uniform(0.5, 2.0, 7)
    expected = np.median([abs(np.linalg.det(A)) / np.prod(scales) for A in whole])
    assert samples.usual_determinant(scales) == pytest.approx(expected, rel=1e-9)


def test_the_last_order_has_leaves_first_and_conditions_at_last() -> None:
    assert late(3, 2) == (2, 1, 0, 3, 4)


def test_what_couples_fewest_goes_first_then_conditions_then_later_velocities() -> None:
    M = np.eye(4)
    M[0, 1:] = M[1:, 0] = 0.1  # velocity 0 is coupled to all others
    # 3 and 1 have one other each; then so has 0, while 2 has it and the condition, which has no pivot yet
    assert sparsest(Samples([M], [np.array([[0.0, 0.0, 1.0, 0.0]])])) == (3, 1, 0, 2, 4)
    # once 2 is gone, the condition and 1 have each other
    assert sparsest(Samples([np.eye(3)], [np.array([[0.0, 1.0, 1.0]])])) == (0, 2, 3, 1)
    assert sparsest(Samples([np.eye(3)], [np.zeros((0, 3))])) == (2, 1, 0)


# --- along the tree ---------------------------------------------------------------------------------------------------
def tree_of(parents: dict[str, str], base: str = "fixed", **loop: str) -> ada.Model:
    """Links in a plane, each on another one; a loop joint between two of them."""
    builder = ada.Builder("by_hand").link("base", 1.0, inertia=(1, 1, 1))
    for i, (link, parent) in enumerate(parents.items()):
        builder.link(link, 1.0, (0, 0, 0.25), (0.1, 0.1, 0.01))
        builder.joint(f"to_{link}", "revolute", parent, link, (0.3 * (parent == "base") * i, 0, 0.5), axis=Y)
    for k, (one, other) in enumerate(loop.items()):
        builder.loop(f"loop_{k}", "revolute", one, other, (0, 0, 0.5), child_xyz=(0, 0, 0.5), axis=Y)
    return builder.build(base=base)


def order_of(model: ada.Model, early: bool) -> list[str]:
    """Names of joints, and `*` for a condition; with the couplings of a general pose."""
    tree, nv = model.tree, model.nv
    ends = [{loop.parent, loop.child} - {-1} for loop in tree.loops for _ in range(2)]
    rng = np.random.default_rng(0)
    paths = [[b in {a for end in one for a in tree.ancestry(end)} for b in range(len(tree.bodies))] for one in ends]
    spread = np.zeros((len(ends), nv))
    for c, path in enumerate(paths):
        for b, is_on in enumerate(path):
            spread[c, tree.bodies[b].v] = rng.normal(size=tree.bodies[b].joint.nv) if is_on else 0.0
    masses = np.eye(nv)
    for body in tree.bodies:
        for other in tree.ancestry(body.index):
            masses[body.v, tree.bodies[other].v] += 0.01
            masses[tree.bodies[other].v, body.v] += 0.01
    order = along_the_tree(tree, Samples([masses], [spread]), ends, early)
    assert order is not None and sorted(order) == list(range(nv + len(ends)))
    names = {k: body.name.removeprefix("to_") for body in tree.bodies for k in range(nv)[body.v]}
    return [names.get(k, "*") for k in order]


SIDES = {"a1": "base", "a2": "a1", "b1": "base", "b2": "b1", "b3": "b2", "c1": "base", "d1": "base", "d2": "d1"}


def test_leaves_that_carry_fewest_conditions_go_first_then_on_along_their_branch_then_the_deepest() -> None:
    model = tree_of(SIDES, a2="b3")
    free = ["d2", "d1", "c1", "b3", "b2", "b1"]
    assert order_of(model, early=True) == [*free, "*", "*", "a2", "a1"]
    assert order_of(model, early=False) == [*free, "a2", "a1", "*", "*"]


def test_loops_that_share_nothing_do_not_wait_for_each_other() -> None:
    parents = {"c1": "base", "a1": "base", "b1": "base", "d1": "base", "d2": "d1"}
    found = order_of(tree_of(parents, a1="b1", d2="c1"), early=True)
    # two hinges give both conditions of a loop a pivot, one hinge the first
    assert found == ["d2", "d1", "*", "*", "c1", "b1", "*", "a1", "*"]


def test_a_base_that_floats_goes_after_all_that_it_carries_and_conditions_before_it() -> None:
    found = order_of(tree_of({"a1": "base", "b1": "base"}, base="floating", a1="b1"), early=True)
    assert found == ["b1", "a1", "*", "*", *6 * [ROOT_JOINT]]


def test_bodies_that_follow_others_are_eliminated_in_joint_space_alone() -> None:
    """A mimic's body moves with two velocities' worth of tree, which no sweep along it can leave."""
    plain = tree_of({"a1": "base", "a2": "a1", "b1": "base"}, a2="b1")
    assert {"kkt late", "kkt sparse", "aba late"} <= set(make_plans(plain, study(plain, closed(plain))).candidates)
    other = ada.Builder("geared").link("base")
    for i, (link, parent) in enumerate({"a1": "base", "a2": "a1", "b1": "base", "b2": "b1"}.items()):
        other.link(link, 1.0, (0, 0, 0.25), (0.1, 0.1, 0.01))
        mimic = {"mimic": ada.model.Mimic("to_a1", 0.5)} if link == "b2" else {}
        other.joint(f"to_{link}", "revolute", parent, link, (0.3 * i, 0, 0.0), axis=Y, **mimic)
    other.loop("loop", "revolute", "a2", "b1", (0, 0, 0.5), child_xyz=(0, 0, 0.5), axis=Y)
    geared = other.build()
    assert set(make_plans(geared, study(geared, closed(geared))).candidates) == {"kkt late", "kkt sparse"}


def closed(model: ada.Model) -> Array:
    return np.asarray(ada.assemble(model, model.neutral()))


# --- long mechanisms --------------------------------------------------------------------------------------------------
def search_of(model: ada.Model, q: Array) -> long_orders._Search:
    numbers = LoopNumbers(model)
    acting = acting_somewhere(numbers, q)
    found = Study(numbers, (q,), len(acting), tuple(acting), (), ())
    wrenches = [[row.wrenches for row in numbers.rows(q)]]
    return long_orders._Search(
        numbers, [q], Plan(found.rows(found.used), ()), [[w[c] for c in acting] for w in wrenches]
    )


def test_work_counts_the_pairs_of_what_joints_and_conditions_couple() -> None:
    """By hand: n unknowns have n (n + 1) / 2 pairs; a joint feels its body's 6 accelerations and what waits there."""
    rods = tree_of({"a1": "base", "a2": "a1", "a3": "a2"}, a3="base")
    q = closed(rods)
    search = search_of(rods, q)
    assert search.run(long_orders._last_first)
    # joint 3 with both conditions; the one across the upright rod, with a body; joint 2 with the other one, and that
    # one with a body; joint 1 alone
    assert search.work == 36 + 28 + 28 + 28 + 21
    assert [k if k < 3 else "*" for k in search.found.order] == [2, "*", 1, "*", 0]
    assert search.found.cancelled == []
    for stop, goes_on in ((141, True), (140, False)):
        assert search_of(rods, q).run(long_orders._last_first, stop=stop) == goes_on


def test_a_rough_pose_is_closed_where_the_mechanism_is_small_enough_to_search(monkeypatch: Any) -> None:
    rods = tree_of({"a1": "base", "a2": "a1", "a3": "a2"}, a3="base")
    rough = closed(rods) + 0.01
    found, _ = long.study_long(rods, rough)
    assert found.numbers.gap(found.poses[0]) == pytest.approx(0.0, abs=1e-9)
    assert np.abs(found.poses[0] - rough).max() < 0.1
    monkeypatch.setattr(long, "SEARCHED", rods.nv)
    long.study_long(rods, rough)
    monkeypatch.setattr(long, "SEARCHED", rods.nv - 1)
    with pytest.raises(ada.ModelError, match="3 velocities, too many to search"):
        long.study_long(rods, rough)
    found, _ = long.study_long(rods, closed(rods))
    assert np.array_equal(found.poses[0], closed(rods))


def test_a_typical_length_is_the_mean_of_those_that_are_there() -> None:
    builder = ada.Builder("lengths").link("base").link("a", 1.0).link("b", 1.0).link("c", 1.0)
    builder.joint("at_base", "revolute", "base", "a", axis=Y).joint("one", "revolute", "a", "b", (0, 3, 4), axis=Y)
    builder.joint("two", "revolute", "b", "c", (2, 0, 0), axis=Y)
    assert typical_length(builder.build()) == pytest.approx(3.5)
    builder.loop("closing", "spherical", "c", "base", (1, 0, 0), child_xyz=(0, 0, 6))
    assert typical_length(builder.build()) == pytest.approx(3.5)
    nothing = ada.Builder("point").link("base").link("a", 1.0).joint("turn", "revolute", "base", "a", axis=Y)
    assert typical_length(nothing.build()) == 1.0


def test_a_condition_goes_early_only_where_it_is_left_on_one_branch() -> None:
    """What waits is coupled to velocities of a body and those below it, by the pattern of the eliminated system."""
    tried = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model, q = random_mechanism(rng, int(rng.integers(2, 6)), floating=bool(seed % 2))
        found = study(model, q)
        plan = make_plans(model, found).candidates.get("aba early")
        if plan is None:  # no early order is safe
            continue
        tried += 1
        numbers, poses = found.numbers, found.poses
        J = [numbers.jacobian(pose)[sorted(found.used)] for pose in poses]
        samples = Samples([numbers.mass_matrix(pose) for pose in poses], J)
        assert sorted(plan.order) == list(range(samples.size))
        owner = {k: body.index for body in model.tree.bodies for k in range(model.nv)[body.v]}
        for unknown in plan.order:
            if unknown >= model.nv:
                assert samples.can_go(unknown)
                bodies = {owner[k] for k in np.flatnonzero(samples.pattern[unknown, : model.nv])}
                deepest = max(bodies, key=lambda b: len(model.tree.ancestry(b)), default=None)
                assert deepest is None or bodies <= set(model.tree.ancestry(deepest))
            samples.eliminate(unknown)
    assert tried > 1


def test_the_sparse_order_takes_the_leaf_that_is_coupled_to_least_then_the_deepest_then_the_last() -> None:
    steps = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model, q = random_mechanism(rng, int(rng.integers(2, 7)), floating=bool(seed % 2))
        tree = model.tree
        depth = {b.index: len(tree.ancestry(b.index)) for b in tree.bodies}
        freed: set[int] = set()

        def checked(search: Any, tree: Any = tree, depth: Any = depth, freed: Any = freed) -> Any:
            for body in long_orders._least_coupled(search):
                waiting = {b.parent for b in tree.bodies if b.index not in freed}
                leaves = {b.index for b in tree.bodies} - freed - waiting
                assert body.index == min(leaves, key=lambda i: (search.coupled(i), -depth[i], -i))
                freed.add(body.index)
                yield body

        search = search_of(model, q)
        assert search.run(checked) and len(freed) == len(tree.bodies)
        joints = [k for k in search.found.order if k < model.nv]
        assert joints == [k for b in tree_order(tree, joints) for k in range(b.v.stop - 1, b.v.start - 1, -1)]
        everything = sorted([*search.found.order, *(model.nv + c for c in search.found.cancelled)])
        assert everything == list(range(model.nv + len(search.typical[0])))
        steps += len(freed)
    assert steps > 40


def tree_order(tree: Any, velocities: list[int]) -> list[Any]:
    """Bodies in the order in which their velocities go."""
    owner = {k: body for body in tree.bodies for k in range(tree.nv)[body.v]}
    return list(dict.fromkeys(owner[k] for k in velocities))


def test_long_mechanisms_are_ordered_along_the_tree_unless_their_conditions_depend_on_each_other(
    monkeypatch: Any,
) -> None:
    rods = tree_of({"a1": "base", "a2": "a1", "a3": "a2"}, a3="base")
    bennett, start = mechanisms.bennett()
    assert "aba long" not in stored._study_and_plans(rods, None, False)[1].candidates
    monkeypatch.setattr(stored, "LONG", 2)
    assert list(stored._study_and_plans(rods, None, False)[1].candidates) == ["aba long"]
    found, plans = stored._study_and_plans(bennett, start, False)
    assert found.is_redundant and "aba long" not in plans.candidates and plans.following
    monkeypatch.setattr(stored, "SEARCHED", 2)
    with pytest.raises(long.RedundantError):
        stored._study_and_plans(bennett, start, False)


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.bennett])
def test_findings_that_come_from_the_disk_are_those_that_went_there(make: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path))
    model, start = make()
    first, again = (ada.Dynamics(model, pose=start)._kernels.closed for _ in range(2))
    # in the same order, too: what is taken where nothing is named is the first one
    assert first is not again and repr(first.plans) == repr(again.plans)
    for name in ("rank", "used", "idle", "spare"):
        assert getattr(first.study, name) == getattr(again.study, name)
    assert all(np.array_equal(a, b) for a, b in zip(first.study.poses, again.study.poses, strict=True))


def test_a_mass_matrix_is_regular_whatever_its_units() -> None:
    assert _is_regular(np.diag([1.0, 1e-14, 1e9]))
    assert not _is_regular(np.array([[1.0, 1.0], [1.0, 1.0]])) and not _is_regular(np.diag([1.0, -1.0]))
    assert not _is_regular(np.array([[1.0, 1e-7 * (1.0 - 1e-13)], [1e-7 * (1.0 - 1e-13), 1e-14]]))
