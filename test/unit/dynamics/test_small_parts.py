# SPDX-License-Identifier: Apache-2.0
"""Arguments, guards and searches of the front door, each by itself: figures by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics import (
    arguments,
    closed_efforts,
    derivatives,
    device_quantities,
    joint_wrenches,
    loop_wrenches,
)
from ada_dynamics.dynamics.arguments import as_array, common_batch, explain, flat_wrenches
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.loop_programs.rows import own_constants
from ada_dynamics.dynamics.quantities import along_loops
from ada_dynamics.dynamics.quantities import closed as quantities
from ada_dynamics.loops import projection
from ada_dynamics.loops.singular import Solution
from ada_dynamics.robots import mechanisms

Array = Any
Z = (0, 0, 1)


@pytest.fixture(scope="module")
def model() -> ada.Model:
    """A ball joint and a hinge; a link fixed to the world and one fixed askew to the last link."""
    builder = ada.Builder("ball").link("base").link("arm", 1.0, inertia=(1, 1, 1)).link("hand", 1.0, inertia=(1, 1, 1))
    builder.link("wall").link("tip")
    builder.joint("shoulder", "spherical", "base", "arm").joint("wrist", "revolute", "arm", "hand", axis=Z)
    builder.joint("at_wall", "fixed", "base", "wall")
    return builder.joint("at_tip", "fixed", "hand", "tip", (1, 2, 3), rpy=(0, 0, np.pi / 2)).build()


# --- arguments --------------------------------------------------------------------------------------------------------
def test_single_states_are_repeated_for_a_batch_in_its_order_of_memory() -> None:
    single, rows = np.arange(3.0), np.arange(8.0).reshape(4, 2)
    assert common_batch({"a": single, "b": np.ones(2)})[1] is False
    for batch in (rows, np.asfortranarray(rows)):
        (first, second), is_batch = common_batch({"a": single, "b": batch})
        assert is_batch and second is batch and first.tolist() == [[0.0, 1.0, 2.0]] * 4
        assert first.flags.f_contiguous == batch.flags.f_contiguous
        assert first.flags.c_contiguous == batch.flags.c_contiguous
    with pytest.raises(ada.InputError, match=r"different numbers of states \(a: 4, c: 3\)"):
        common_batch({"a": rows, "b": single, "c": rows[:3]})


def test_vectors_have_one_dimension_or_two_and_hold_real_numbers(model: ada.Model) -> None:
    for value in ([1, 2], [True, False], np.array([1, 2], dtype=np.uint8), np.array([1.0, 2.0], dtype=np.float32)):
        found = as_array("v", value, 2, model)
        assert found.dtype == np.float64 and found.tolist() == [float(x) for x in value]
    given = np.zeros((3, 2))
    assert as_array("v", given, 2, model) is given
    for wrong, words in (
        (np.zeros((1, 1, 2)), r"has shape \(1, 1, 2\)"),
        (np.zeros(3), r"needs \(2,\)"),
        (np.array(1.0), r"has shape \(\)"),
        ([[1.0], [1.0, 2.0]], "is ragged"),
        (["a", "b"], "needs 2 real numbers"),
        ([1j, 2j], "complex128"),
    ):
        with pytest.raises(ada.InputError, match=words):
            as_array("v", wrong, 2, model)


def test_the_first_value_that_is_not_finite_is_named_with_its_joint_and_their_number(model: ada.Model) -> None:
    q, v = np.array([0.0, 0.0, 0.0, 1.0, 0.5]), np.array([0.0, np.nan, 0.0, np.inf])
    assert explain(model, {"q": q, "v": v}).startswith("v[1] is nan (joint 'shoulder'); ")
    assert explain(model, {"q": q, "v": v}).endswith("needed. (2 such values)")
    v[1] = 0.0
    assert explain(model, {"q": q, "v": v}).startswith("v[3] is inf (joint 'wrist'); ")
    assert explain(model, {"q": q, "v": v}).endswith("needed.")
    rows = np.array([q, q])
    rows[1, 4] = -np.inf
    assert explain(model, {"q": rows}).startswith("q[4] of state 1 is -inf (joint 'wrist')")
    wrenches = np.zeros(12)
    for column, body in ((5, 0), (6, 1), (11, 1)):
        wrenches[:] = 0.0
        wrenches[column] = np.nan
        said = explain(model, {"q": q, "wrenches": wrenches})
        assert said.startswith(f"wrenches[{column}] is nan (external wrench on body {body})")


def test_positions_without_digits_or_off_unit_length_are_told_with_their_state(model: ada.Model) -> None:
    q = np.array([0.0, 0.0, 0.0, 1.0, 1.5e9])
    assert "the numbers overflow" in explain(model, {"q": q})
    q[4] = -1.7e9
    assert explain(model, {"q": q}).startswith("q[4] is -1.7e+09 (joint 'wrist'); angles beyond 1.6e+09 rad")
    two = explain(ada.planar_chain(3), {"q": np.array([0.0, 2e9, -3e9])})
    assert two.startswith("q[1] is 2e+09 (joint 'joint_2'); angles beyond")
    q[4], q[3] = 0.0, 2.0
    assert "shoulder" in explain(model, {"q": q}) and not explain(model, {"q": q}).startswith("state")
    assert explain(model, {"q": np.array([[0.0, 0.0, 0.0, 1.0, 0.0], q])}).startswith("state 1: ")


def test_wrenches_go_to_bodies_whose_frames_they_are_turned_into(model: ada.Model) -> None:
    f, m = np.array([2.0, 3.0, 5.0]), np.array([7.0, 11.0, 13.0])
    tip = np.array([*f, *m])
    # by hand: a quarter turn about z, then the moment of the force at (1, 2, 3)
    force = np.array([-3.0, 2.0, 5.0])
    moment = np.array([-11.0, 7.0, 13.0]) + np.cross([1.0, 2.0, 3.0], force)
    found = flat_wrenches(model, model.tree, {"wall": np.ones(6), "tip": tip, "hand": np.arange(6.0)})
    np.testing.assert_allclose(found[6:], np.concatenate([force, moment]) + np.arange(6.0), atol=1e-14)
    assert found.shape == (12,) and not found[:6].any()
    rows = flat_wrenches(model, model.tree, {"arm": np.arange(6.0), "tip": np.array([tip, 2.0 * tip, 0.0 * tip])})
    np.testing.assert_allclose(rows[:, :6], [np.arange(6.0)] * 3)
    np.testing.assert_allclose(rows[:, 6:], np.outer([1, 2, 0], np.concatenate([force, moment])), atol=1e-13)
    with pytest.raises(ada.InputError, match=r"external\['tip'\] is .*inf"):
        flat_wrenches(model, model.tree, {"tip": np.full(6, np.inf)})
    assert arguments.choice("kernel", "b", ("a", "b")) == "b"


def test_options_of_one_algorithm_are_refused_for_others(model: ada.Model) -> None:
    for options, words in (
        ({"order": "chain"}, "order is for the algorithms 'ada' and 'dca', not for 'auto'"),
        ({"order": "chain", "algorithm": "aba"}, "not for 'aba'"),
        ({"hybrid": ["wrist"]}, "is for the algorithm 'hybrid', not for 'auto'"),
        ({"hybrid": ["wrist"], "algorithm": "crba"}, "not for 'crba'"),
        ({"hybrid": ["nothing"], "algorithm": "hybrid"}, "nothing"),
        ({"order": [["nothing"], "arm"], "algorithm": "ada"}, "nothing"),
    ):
        with pytest.raises(ada.InputError, match=words):
            ada.Dynamics(model, **options)
    for name in ("ada", "dca"):
        assert ada.Dynamics(model, name, order="chain").options["order"] == "chain"
    cut = ada.Dynamics(model, "hybrid", hybrid=["wrist"])
    assert (cut.options["hybrid"], cut.options["order"], cut.kernels.order) == (["wrist"], None, ("wrist",))


# --- efforts that motors share ----------------------------------------------------------------------------------------
def test_guards_of_efforts_are_limits_of_pivots_and_of_the_product_where_conditions_depend() -> None:
    found: Any = SimpleNamespace(inverse_inertias=[0.5, 4.0], pivots=[6.0, 8.0])
    typical = [2.0, 0.5, 3.0, 16.0]
    own = [0.5, 1.0 / (0.1 * 2.0) - 0.5, 4.0, 1.0 / (0.1 * 0.5) - 4.0]
    assert closed_efforts._guards(found, typical, 0.1, False) == pytest.approx([*own, 2.0 - 0.1, 0.5 - 0.1])
    several = closed_efforts._guards(found, typical, 0.1, True)
    assert several == pytest.approx([*own, 1.0 - quantities.FIXED_THRESHOLD], abs=1e-15)
    found.pivots = [6.0, 16.0]
    assert closed_efforts._guards(found, typical, 0.1, True)[-1] == pytest.approx(2.0 - quantities.FIXED_THRESHOLD)


def test_usual_pivots_are_those_of_the_pose_in_the_middle_by_their_product() -> None:
    samples = [[8.0, 1.0], [1.0, 2.0], [3.0, 1.0], [100.0, 0.0], [2.0, 3.0]]
    assert quantities.usual_pivots(samples) == [3.0, 1.0]
    assert quantities.usual_pivots(samples[:4]) == [3.0, 1.0]
    assert quantities.usual_pivots([[2.0, 5.0]]) == [2.0, 5.0]


# --- projection -------------------------------------------------------------------------------------------------------
def closing_by(monkeypatch: Any, gaps: list[float]) -> tuple[ClosedDynamics, list[list[float]]]:
    """Closed dynamics of one angle whose gap is one of these after so many steps of 1; tells which angles are asked."""
    closed, asked = object.__new__(ClosedDynamics), []
    closed.model = SimpleNamespace(integrate=lambda q, v: q + v)  # type: ignore[assignment]
    closed.__dict__["_chosen"] = (SimpleNamespace(numbers=SimpleNamespace(length=2.0)), None, "")

    def gap(q: Array) -> Array:
        asked.append(q[:, 0].tolist())
        return np.array([[-gaps[int(x)], 0.0] for x in q[:, 0]])

    monkeypatch.setattr(closed, "gap", gap, raising=False)
    monkeypatch.setattr(closed, "_metric", lambda q: None, raising=False)
    monkeypatch.setattr(projection, "correction", lambda at, gap: np.ones((len(gap), 1)))
    monkeypatch.setattr(projection, "allowed", lambda at, v: 0.5 * v)
    return closed, asked


def test_a_state_is_projected_by_eight_steps_at_most_until_its_gap_is_arithmetic(monkeypatch: Any) -> None:
    closed, asked = closing_by(monkeypatch, [1.0] * 20)
    q, v = closed.project(np.zeros(1), np.array([3.0]))
    assert (q.tolist(), v.tolist(), asked) == ([8.0], [1.5], [[float(i)] for i in range(8)])
    limit = projection.CLOSED * 2.0
    closed, asked = closing_by(monkeypatch, [1.0, 1e-8, 1.01 * limit, 0.99 * limit, 0.0])
    q, _ = closed.project(np.zeros(1), np.zeros(1))
    assert (q.tolist(), asked) == ([3.0], [[0.0], [1.0], [2.0], [3.0]])
    asked.clear()
    given = np.array([[0.0], [4.0], [2.0]])
    Q, V = closed.project(given, np.array([[1.0], [2.0], [3.0]]), 2)
    assert (Q.tolist(), V.tolist()) == ([[2.0], [4.0], [3.0]], [[0.5], [1.0], [1.5]])
    assert asked == [[0.0, 4.0, 2.0], [1.0, 3.0]] and given.tolist() == [[0.0], [4.0], [2.0]]
    assert closed.project(np.zeros((0, 1)), np.zeros((0, 1)))[1].shape == (0, 1)


def test_the_first_motions_that_motors_can_drive_are_driven(monkeypatch: Any) -> None:
    closed, tried = object.__new__(ClosedDynamics), []
    closed.model = SimpleNamespace()  # type: ignore[assignment]

    def efforts(model: Any, N: str, wanted: str) -> str:
        tried.append(N)
        if N.startswith("no"):
            raise ada.InputError(N)
        return N + wanted

    monkeypatch.setattr("ada_dynamics.dynamics.closed.motor_efforts", efforts)
    first: Any = closed._first_possible
    for bases, called in ((["a", "b"], ["a"]), (["no 1", "b", "c"], ["no 1", "b"]), (["no 1", "c"], ["no 1", "c"])):
        tried.clear()
        assert first(bases, "!") == called[-1] + "!" and tried == called
    with pytest.raises(ada.InputError, match="no 2"):
        first(["no 1", "no 2"], "!")


def test_loops_that_take_a_tenth_of_what_is_lost_are_named() -> None:
    closed = object.__new__(ClosedDynamics)
    conditions = [("one", 0, ""), ("two", 0, ""), ("three", 0, ""), ("idle", 0, "")]
    study, plans = (
        SimpleNamespace(numbers=SimpleNamespace(conditions=conditions)),
        SimpleNamespace(conditions=(0, 1, 2)),
    )
    closed.__dict__["_chosen"] = (study, plans, "")

    def lost(*rows: list[float]) -> set[str]:
        nothing = np.zeros(0)
        return closed.lost_names(Solution(nothing, nothing, 0.0, True, False, np.array(rows).reshape(-1, 3)))

    assert lost([0.11, -0.9, 0.09], [0.0, 0.0, -0.1]) == {"one", "two"}
    assert lost([0.0, 0.0, -0.2]) == {"three"}
    assert lost() == set()


# --- joint wrenches ---------------------------------------------------------------------------------------------------
def test_multipliers_of_least_norm_press_nothing_against_each_other() -> None:
    rng = np.random.default_rng(1)
    J = rng.normal(size=(3, 2, 5))
    J = np.concatenate([J, J[:, :1] + 2.0 * J[:, 1:]], axis=1)  # the third condition follows from the others
    weights, given = np.array([1.0, 2.0, 4.0]), rng.normal(size=(3, 3))
    found = joint_wrenches.least_norm(J, given, weights, 2)
    for row, own, start in zip(found, J, given, strict=True):
        forces, before = row * weights, start * weights
        np.testing.assert_allclose(own.T @ forces, own.T @ before, atol=1e-12)
        np.testing.assert_allclose(forces, np.linalg.pinv(own.T) @ own.T @ before, atol=1e-12)
    np.testing.assert_allclose(joint_wrenches.least_norm(J[0], given[0], weights, 2), found[0], atol=1e-14)


def test_multipliers_are_handed_to_their_loops_with_the_sides_as_the_model_has_them(monkeypatch: Any) -> None:
    conditions = [("a", 0, ""), ("a", 1, ""), ("b", 0, ""), ("b", 1, "")]
    closed: Any = SimpleNamespace(
        model=SimpleNamespace(nv=4, loop_names=["a", "b"]),
        study=SimpleNamespace(numbers=SimpleNamespace(conditions=conditions), is_redundant=False),
        plans=SimpleNamespace(conditions=(3, 0), is_dense_only=False),
        tree=SimpleNamespace(
            loops=[SimpleNamespace(name="a", is_turned=False), SimpleNamespace(name="b", is_turned=True)]
        ),
    )
    at = loop_wrenches.LoopWrenches(closed)
    assert {k: x.tolist() for k, x in at.by_loop(np.array([2.0, 3.0])).items()} == {"a": [3.0, 0.0], "b": [0.0, -2.0]}
    rows = at.by_loop(np.array([[2.0, 3.0], [5.0, 7.0]]))
    assert (rows["a"].tolist(), rows["b"].tolist()) == ([[3.0, 0.0], [7.0, 0.0]], [[0.0, -2.0], [0.0, -5.0]])
    # a mechanism that is too large to be searched
    monkeypatch.setattr(loop_wrenches, "names_of_joints", lambda model: ["j"])
    monkeypatch.setattr(loop_wrenches, "in_general", lambda study: "searched")
    for limit, known in ((4, True), (3, False)):
        monkeypatch.setattr(loop_wrenches, "SEARCHED", limit)
        unique: Any = loop_wrenches.LoopWrenches(closed).unique
        assert (unique == "searched") if known else (unique["j"].tolist() == [False] * 6)


def test_the_fast_kernel_answers_unless_it_stops_and_the_slowest_tier_is_told(monkeypatch: Any) -> None:
    stops, asked = [0], []
    results = np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(2, 2)

    def run(*given: Array) -> Any:
        asked.append(len(given))
        return (results if plans.conditions else results[0]), stops[0]

    kernel = SimpleNamespace(batch_status=run, single_status=run)
    plans = SimpleNamespace(conditions=(0, 1), is_dense_only=False)
    motion = SimpleNamespace(accelerations=np.ones(3), multipliers=np.full(2, 5.0), solution=None)
    tiers = iter(("fast", "rank-revealing", "robust"))
    closed: Any = SimpleNamespace(
        plans=plans,
        study=SimpleNamespace(is_redundant=False),
        kernel=lambda name, external, multipliers: kernel if (name, multipliers) == ("sparse", True) else None,
        of_all=lambda x: 2.0 * x,
        motions=lambda name, inputs, is_batch: [
            SimpleNamespace(**vars(motion), tier=next(tiers)) for _ in range(len(inputs[0]) if is_batch else 1)
        ],
    )
    at = loop_wrenches.LoopWrenches(closed)
    at.__dict__["unique"] = {"j": np.ones(6, dtype=bool)}
    states = [np.zeros((2, 3))] * 3
    a, multipliers, _, tier = at.held("sparse", states, True)
    assert a is results[0] and np.array_equal(multipliers, 2.0 * results[1]) and tier == loop_wrenches.FAST
    plans.conditions = ()
    a, multipliers, _, _ = at.held("sparse", states, True)
    assert a is results[0] and multipliers.shape == (2, 0)
    plans.conditions, stops[0] = (0, 1), 1
    monkeypatch.setattr(loop_wrenches, "TIERS", ("fast", "robust", "rank-revealing"))
    a, multipliers, _, tier = at.held("sparse", states, True)
    assert (a.tolist(), multipliers.tolist(), tier) == ([[1.0] * 3] * 2, [[5.0] * 2] * 2, "rank-revealing")
    a, multipliers, _, tier = at.held("sparse", [x[0] for x in states], False)
    assert (a.tolist(), multipliers.tolist(), tier) == ([1.0] * 3, [5.0] * 2, "robust")
    assert asked == [3] * 4


# --- kernels ----------------------------------------------------------------------------------------------------------
def test_a_map_of_velocities_is_refused_by_its_pivots_and_by_its_size() -> None:
    model, start = mechanisms.slider_crank()
    dynamics = ada.Dynamics(model, pose=start)
    choices = dynamics.choices
    order = choices.map_order(choices.of("independent"))
    assert order is not None
    tree, units = dynamics.kernels.closed.tree, [1.5 + 0.25 * k for k in range(model.nv)]
    q = np.asarray(model.integrate(start, 1e-3 * np.ones(model.nv)))
    found = along_loops.velocity_map(tree, order, units).body(q=q.tolist())
    T = np.array(found.outputs["T"], dtype=float)
    size = sum(
        (T[k, c] * units[column] / units[k]) ** 2 for k in range(model.nv) for c, column in enumerate(order.chosen)
    )
    assert float(found.guards[-1]) == pytest.approx(1.0 / (2e-4) ** 2 - size, rel=1e-12)
    assert 2.5e7 - float(found.guards[-1]) == pytest.approx(size, rel=1e-5)
    # of its usual size a pivot has one, and one hundredth of it is the least
    assert len(found.guards) == len(order.pivots) + 1
    for guard in found.guards[:-1]:
        assert 0.1 < float(guard) + 1e-4 < 20.0
    # which changes with the pose
    moved = along_loops.velocity_map(tree, order, units).body(q=model.integrate(q, 0.3 * np.ones(model.nv)).tolist())
    assert max(abs(float(a) - float(b)) for a, b in zip(moved.guards, found.guards[:-1], strict=False)) > 1e-2
    tenfold = replace(order, typical=tuple(10.0 * x for x in order.typical))
    others = along_loops.velocity_map(tree, tenfold, units).body(q=q.tolist()).guards
    for one, other in zip(found.guards[:-1], others[:-1], strict=True):
        assert float(other) + 1e-4 == pytest.approx((float(one) + 1e-4) / 100.0, rel=1e-9)


def test_single_precision_stops_at_larger_pivots(monkeypatch: Any) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(device_quantities.closed_efforts, "inverse", lambda *given: asked.append(given[1:]))
    kernels: Any = SimpleNamespace(closed="closed")
    at = device_quantities.DeviceQuantities(None, kernels, "auto")  # type: ignore[arg-type]
    for bits, smallest in ((64, closed_efforts.SMALLEST), (32, device_quantities.SINGLE_THRESHOLD)):
        for external, by_all in ((False, True), (True, False)):
            for _ in range(2):
                assert at.shared_inverse(external, bits, by_all) is None
            assert asked == [(external, by_all, smallest)]
            asked.clear()
    assert closed_efforts.SMALLEST < device_quantities.SINGLE_THRESHOLD


@pytest.mark.parametrize(("last", "is_made"), [(0.0, False), (-1e-3, False), (1e-9, True)])
def test_efforts_are_no_kernel_where_a_usual_pivot_vanishes(monkeypatch: Any, last: float, is_made: bool) -> None:
    model, start = mechanisms.four_bar()
    closed = ada.Dynamics(model, pose=start).kernels.closed
    solve, wanted = closed_efforts.shared_efforts.solve, []

    def solved(*given: Any) -> Any:
        wanted.append(given[2])
        tau, found = solve(*given)
        return tau, found._replace(pivots=[*found.pivots[:-1], last])

    monkeypatch.setattr(closed_efforts.shared_efforts, "solve", solved)
    assert (closed_efforts.inverse(closed, False) is not None) == is_made
    assert wanted == [[0.0] * model.nv] * len(closed.study.poses)


@pytest.mark.parametrize("count", [0, 2, 3])
def test_numbers_of_a_joint_s_own_are_the_last_ones_of_its_row(count: int) -> None:
    joints: Any = [SimpleNamespace(constants=("a", "b"), a=1.0, b=2.0), SimpleNamespace(constants=())]
    joints.append(SimpleNamespace(constants=("b",), b=5.0))
    rows = own_constants(joints, count)
    assert rows.shape == (3, count)
    if count:
        assert rows[:, -2:].tolist() == [[1.0, 2.0], [0.0, 0.0], [0.0, 5.0]] and not rows[:, :-2].any()


def test_derivatives_along_loops_are_the_same_however_long_the_mechanism_is(monkeypatch: Any) -> None:
    model, start = mechanisms.four_bar()
    state = [np.asarray(start), np.array([1.0, -1.0, 1.0]), np.array([0.5, -0.25, 2.0])]
    expected = ada.Dynamics(model, pose=start).forward_derivatives(*state)
    monkeypatch.setattr(derivatives, "WRITTEN_OUT_UP_TO", 0)
    long = ada.Dynamics(model, pose=start)
    assert not long._is_written_out
    for one, other in zip(long.forward_derivatives(*state), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
