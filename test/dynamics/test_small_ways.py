# SPDX-License-Identifier: Apache-2.0
"""Ways that are seldom taken: folders that cannot be written, devices by number, pivots that vanish everywhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics import (
    along_loops,
    closed_derivatives,
    closed_efforts,
    compiled_method,
    derivatives,
    export,
    on_device,
    preflight,
)
from ada_dynamics.dynamics.closed import ALL, LATE, ClosedDynamics
from ada_dynamics.dynamics.device_quantities import DeviceQuantities
from ada_dynamics.dynamics.loop_programs import articulated
from ada_dynamics.dynamics.quantities import base
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import CompileError, InputError, ModelError, SingularPoseError
from ada_dynamics.jit import GuardError, gpu
from ada_dynamics.loops.singular import Solution
from ada_dynamics.model.joints import JOINT_TYPES, Revolute
from ada_dynamics.model.tree import WORLD
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.vec3 import ZERO3, symmetric_of

Array = Any


def chain(mass: float = 1.0) -> ada.Model:
    builder = ada.Builder("chain").link("base")
    builder.link("a", 1.0, inertia=(1, 1, 1)).link("b", mass, inertia=mass * np.eye(3))
    return builder.joint("one", "revolute", "base", "a").joint("two", "spherical", "a", "b", (0, 0, 1)).build()


def test_c_goes_to_a_folder_that_can_be_written_and_names_a_link_where_it_needs_one(tmp_path: Path) -> None:
    dynamics = ada.Dynamics(chain())
    written = export.export_c(dynamics, "bias", tmp_path / "new" / "folder")
    assert (written.source, written.header) == tuple(tmp_path / "new" / "folder" / f"bias.{end}" for end in "ch")
    assert "bias(" in written.source.read_text() and "bias(" in written.header.read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"the C files cannot be written to .*file"):
        export.export_c(dynamics, "bias", tmp_path / "file")
    with pytest.raises(InputError, match="pose needs a link; this model has base, a, b"):
        export.export_c(dynamics, "pose", tmp_path)
    with pytest.raises(InputError, match="nothing"):
        export.export_c(dynamics, "pose", tmp_path, link="nothing")
    assert export.export_c(dynamics, "pose", tmp_path, link="b").source.exists()
    for name in ("2x", "a b", "int", "größe"):
        with pytest.raises(InputError, match="must be an identifier of C"):
            export.export_c(dynamics, "bias", tmp_path, name=name)


def test_devices_are_told_by_number(monkeypatch: Any) -> None:
    monkeypatch.setattr(gpu, "Gpu", lambda number: ("device", number))
    find: Any = on_device.machine_of.__wrapped__
    for name, number in (("cuda", 0), ("cuda:0", 0), ("cuda:1", 1), ("cuda:12", 12)):
        assert find(name) == ("device", number)
    for name in ("cuda:", "cuda:x", "gpu", "cuda:-1", "cuda:1 "):
        with pytest.raises(InputError, match="must be 'cpu', 'cuda', 'cuda:N'"):
            find(name)


def test_wrenches_of_joints_are_stacked_in_their_order_and_few_rows_named() -> None:
    wrenches = {"b": np.arange(12.0).reshape(2, 6), "a": np.ones((2, 6))}
    found = on_device._stacked(wrenches)  # type: ignore[arg-type]
    assert found.shape == (2, 2, 6)
    np.testing.assert_array_equal(found[:, 0], wrenches["b"])
    np.testing.assert_array_equal(found[:, 1], wrenches["a"])
    one = on_device._stacked({name: w[0] for name, w in wrenches.items()})  # type: ignore[arg-type]
    np.testing.assert_array_equal(one, found[0])
    assert on_device._few(range(5)) == "0, 1, 2, 3, 4" and on_device._few(range(6)) == "0, 1, 2, 3, 4, ..."
    more = {"external": {"a": np.arange(18.0).reshape(3, 6), "b": np.arange(6.0)}}
    some = on_device._rows_of_wrenches(more, [2, 0])["external"]
    assert some["a"].tolist() == [more["external"]["a"][2].tolist(), more["external"]["a"][0].tolist()]
    assert some["b"] is more["external"]["b"]


def test_a_pivot_that_vanishes_everywhere_names_its_joint() -> None:
    tree = chain(0.0).tree

    def body(**given: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ModelError, match="nothing resists joint 'two' in any position"):
        base.quantity("f", tree, ("q",), {"y": (1,)}, body).trace()
    assert base.quantity("f", tree, ("q",), {"y": (1,)}, lambda q: {"y": [q[0]]}).trace().shapes == {"y": (1,)}


def test_combined_conditions_are_sums_by_their_weights() -> None:
    assert closed_quantities._weighted_sum([2.0, -1.0, 0.5], [3.0, 4.0, 8.0]) == 6.0
    assert closed_quantities._weighted_sum([], []) == 0.0


def test_calls_are_plain_methods_where_no_builtin_can_be_made(monkeypatch: Any) -> None:
    said: list[str] = []

    def refuse(*given: Any) -> Any:
        raise CompileError("none here")

    monkeypatch.setattr(compiled_method, "make_builtin", refuse)
    monkeypatch.setattr(compiled_method, "announce", said.append)
    model = chain()
    dynamics = ada.Dynamics(model)
    plain = type(dynamics).forward
    call = dynamics.forward
    assert said == ["none here"] and "forward" not in dynamics.entries
    assert call.__func__ is plain  # type: ignore[attr-defined]
    assert dynamics.forward is call and said == ["none here"]


def test_a_batch_of_states_asks_the_robust_order_for_what_the_fast_one_refuses(monkeypatch: Any) -> None:
    """Rows that both refuse are computed one by one; without another order there is one to ask."""
    for robust, asked, alone in ((None, ["fast"], [1, 3]), ("late", ["fast", "late"], [3])):
        closed: Any = object.__new__(ClosedDynamics)
        closed.model = SimpleNamespace(nv=2)
        closed.__dict__["_chosen"] = (None, SimpleNamespace(is_dense_only=False), "")
        orders: list[str] = []
        single: list[int] = []

        def by_order(name: str, a: Array, rows: Array, inputs: Any, orders: list[str] = orders) -> Array:
            orders.append(name)
            held = rows % 2 == 0 if name == "fast" else rows == 1
            a[rows[held]] = 1.0 if name == "fast" else 2.0
            return rows[~held]

        def motions(name: str, inputs: Any, is_batch: bool, single: list[int] = single) -> list[Any]:
            single.append(int(inputs[0][0]))
            return [SimpleNamespace(accelerations=np.full(2, 3.0))]

        monkeypatch.setattr(closed, "robust", lambda name, robust=robust: robust, raising=False)
        monkeypatch.setattr(closed, "_by_order", by_order, raising=False)
        monkeypatch.setattr(closed, "motions", motions, raising=False)
        found = closed.rescue("fast", [np.arange(4.0)[:, None]] * 3, True)
        assert (orders, single) == (asked, alone)
        assert found[:, 0].tolist() == [1.0, 3.0 if robust is None else 2.0, 1.0, 3.0]
        one = closed.rescue("fast", [np.array([7.0])] * 3, False)
        assert one.tolist() == [3.0, 3.0] and single[-1] == 7


def test_efforts_are_shared_by_all_conditions_where_that_order_is_asked_for(monkeypatch: Any) -> None:
    kernels: Any = SimpleNamespace(closed="closed")
    model: Any = None
    at, asked = DeviceQuantities(model, kernels, "auto"), []
    monkeypatch.setattr(at, "shared_inverse", lambda *given: (asked.append(given), "made")[1])
    for order, by_all in (("", False), (LATE, False), (ALL, True), ("zzz", False)):
        assert at._inverse(True, 32, order) == "made"
        assert asked.pop() == (True, 32, by_all)


def test_rows_of_constants_have_springs_and_then_the_numbers_of_a_joint_s_own() -> None:
    for stiffness in (0.0, 3.0):
        builder = ada.Builder("screw").link("base").link("a", 2.0, inertia=(1, 1, 1)).link("b", 1.0, inertia=(1, 1, 1))
        builder.joint("one", "helical", "base", "a", pitch=0.25, armature=0.5)
        tree = builder.joint("two", "revolute", "a", "b", stiffness=stiffness, rest=0.75).build().uniform_tree
        kinds = articulated.kinds_of(tree)
        rows = articulated.constants_table(tree, kinds)
        springs = 2 if stiffness else 0
        assert rows.shape == (2, 26 + springs) == (2, articulated.constants_size(kinds))
        assert rows[:, 12].tolist() == [2.0, 1.0] and rows[:, 22].tolist() == [0.5, 0.0]
        assert rows[0, -1] == pytest.approx(tree.bodies[0].joint.pitch) and rows[1, -1] == 0.0
        if springs:
            assert rows[:, 25:27].tolist() == [[0.0, 0.0], [3.0, 0.75]]


def test_calls_go_straight_to_kernels_that_are_the_robot_s_own() -> None:
    for kernel, own in (("generic", False), ("specialised", True)):
        dynamics = ada.Dynamics(chain(), kernel=kernel)
        found = {
            name: dynamics.runs_compiled(name) for name in ("forward", "inverse", "bias", "gravity", "mass_matrix")
        }
        assert found == {**dict.fromkeys(("forward", "inverse", "bias", "gravity"), own), "mass_matrix": True}
    model, start = mechanisms.four_bar()
    closed = ada.Dynamics(model, pose=start)
    assert closed.runs_compiled("forward") and not closed.runs_compiled("inverse")


def test_gaps_are_closed_by_the_algorithm_of_the_plan(monkeypatch: Any) -> None:
    """Lagrange's equations have none of their own."""
    model, start = mechanisms.four_bar()
    closed = ada.Dynamics(model, pose=start).kernels.closed
    used: list[str] = []

    def recorded(name: str, solve: Any) -> Any:
        return lambda *given, **more: (used.append(name), solve(*given, **more))[1]

    solvers = {name: recorded(name, solve) for name, solve in closed_quantities.SOLVERS.items()}
    monkeypatch.setattr(closed_quantities, "SOLVERS", solvers)
    q, found = np.asarray(start).tolist(), []
    for name, algorithm in (("kkt late", "kkt"), ("aba late", "aba"), ("lagrange", "kkt"), ("late", "kkt")):
        solver = closed_quantities.elimination(closed.tree, closed.plans, name)
        used.clear()
        assert solver.correct is not None
        found.append(solver.correct(q, [1e-3] * len(closed.plans.used)).accelerations)
        assert used == [algorithm]
    for other in found[1:]:
        np.testing.assert_allclose(np.array(other, dtype=float), np.array(found[0], dtype=float), rtol=1e-8)


def test_all_conditions_together_are_refused_by_the_product_of_their_pivots() -> None:
    model, start = mechanisms.bennett()
    closed = ada.Dynamics(model, pose=start).kernels.closed
    softness, usual = closed._softness
    rest, q = [0.0] * model.nv, np.asarray(start).tolist()
    scaled = [1.5 * x for x in usual]
    solver = closed_quantities.all_conditions(closed.tree, closed.plans, softness, scaled)
    found = solver.run(q, rest, rest)
    share = np.prod(np.array(found.pivots, dtype=float) / scaled)
    assert float(solver.guards(found)[0]) == pytest.approx(share - closed_quantities.FIXED_THRESHOLD, rel=1e-9)


# --- orders and branches that are chosen ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("nv", "candidates", "counted"),
    [
        (9, ["kkt late", "kkt sparse"], {"kkt late", "kkt sparse"}),
        (10, ["kkt late", "kkt sparse", "late aba"], {"kkt sparse", "late aba"}),
        # where there is no other one, the first of them
        (10, ["kkt late", "aba late"], {"kkt late"}),
    ],
)
def test_orders_with_all_conditions_at_the_end_are_counted_up_to_nine_velocities(
    nv: int, candidates: list[str], counted: set[str], monkeypatch: Any
) -> None:
    """Orders are compared without wrenches on links."""
    closed: Any = object.__new__(ClosedDynamics)
    plain, turned, same = (
        SimpleNamespace(nv=nv, loops=[SimpleNamespace(is_turned=is_turned)]) for is_turned in (False, True, False)
    )
    plans = SimpleNamespace(candidates=dict.fromkeys(candidates))
    closed.model = SimpleNamespace(tree=plain)
    closed._studied = {way: (SimpleNamespace(numbers=SimpleNamespace(tree=plain)), plans) for way in (False, True)}
    closed.kernels = SimpleNamespace(costs=lambda functions: functions)

    def forward(tree: Any, plans: Any, solver: str, external: bool) -> Any:
        return SimpleNamespace(trace=lambda: (solver, external))

    monkeypatch.setattr(closed_quantities, "elimination", lambda tree, plans, name: name)
    monkeypatch.setattr(closed_quantities, "forward", forward)
    for seen, way in ((plain, False), (turned, True)):
        plain.with_turned_loops = lambda seen=seen: seen
        assert closed._costs(way) == {name: (name, False) for name in counted}
    # a loop joint that looks the same from both sides
    plain.with_turned_loops = lambda: same
    assert closed._costs(True) == {}


def test_efforts_in_singular_poses_are_those_of_the_branch_of_the_motion(monkeypatch: Any) -> None:
    """J tells it down to the root of the gap; at rest all motions are tried, then one that begins or can begin."""
    closed: Any = object.__new__(ClosedDynamics)
    closed.model = None
    closed.__dict__["_chosen"] = (SimpleNamespace(rank=5), None, "")
    monkeypatch.setattr("ada_dynamics.dynamics.closed.directions", lambda J, rank: f"{J} of rank {rank}")
    monkeypatch.setattr("ada_dynamics.dynamics.closed.motor_efforts", lambda model, N, wanted: [N])
    monkeypatch.setattr(
        "ada_dynamics.dynamics.closed.along_branch",
        lambda J, rank, solution, w, rates: f"along {w[0]}" if w[0] > 0.0 else None,
    )
    for name, what in (
        ("_first_possible", lambda bases, wanted: bases),
        ("_warn", lambda solution, at, what: None),
        ("tangents", lambda q: [np.array([8.0]), np.array([-1.0]), np.array([9.0])]),
        ("gap", lambda q: np.array([0.0, -q[0]])),
    ):
        monkeypatch.setattr(closed, name, what, raising=False)

    def found(sigma: float, v: float, a: float, gap: float = 1e-10, is_singular: bool = True) -> Any:
        nothing = np.zeros(0)
        solution = Solution(nothing, nothing, sigma, is_singular, v == 0.0, nothing, 2)
        monkeypatch.setattr(closed, "_solution", lambda q, v: (SimpleNamespace(J="J"), solution), raising=False)
        return closed.efforts(*(np.array([x]) for x in (gap, v, 0.0, a)))

    assert found(1.0, 2.0, 3.0, is_singular=False) == found(0.0, 0.0, 3.0, is_singular=False) == ["J of rank 5"]
    assert found(1.01e-5, 2.0, 3.0) == found(1.01e-8, 2.0, 3.0, gap=0.0) == ["J of rank 5"]
    assert found(0.99e-5, 2.0, 3.0) == found(0.99e-8, 2.0, 3.0, gap=0.0) == ["along 2.0"]
    for sigma in (1.0, 0.0):
        assert found(sigma, 0.0, 3.0) == ["J of rank 3", "along 3.0"]
        assert found(sigma, 0.0, 0.0) == ["J of rank 3", "along 8.0", "along 9.0"]
    # a velocity that is along no branch
    assert found(0.0, -1.0, 0.0) == ["J of rank 3"]
    assert found(0.0, -1.0, 4.0) == ["J of rank 3", "along 4.0"]


def test_no_state_is_the_nearest_where_nothing_resists_what_the_loops_allow(monkeypatch: Any) -> None:
    closed: Any = object.__new__(ClosedDynamics)
    closed.model = SimpleNamespace(name="m", nv=2)
    closed.__dict__["_chosen"] = (SimpleNamespace(rank=1), None, "")
    across = np.array([[0.0, 1.0]])
    for masses, is_refused in (((1.0, 0.0), False), ((0.0, 1.0), True)):
        system = SimpleNamespace(M=np.diag(masses), J=across)
        monkeypatch.setattr(closed, "system", lambda q, v, tau, system=system: system, raising=False)
        if is_refused:
            with pytest.raises(GuardError, match="model 'm': nothing resists some motion that its loops allow"):
                closed._metric(np.zeros(2), np.zeros(2))
        else:
            assert closed._metric(np.zeros(2), np.zeros(2)).s.shape == (1,)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("share", "is_refused"), [(0.99e-14, True), (1.01e-14, False)])
def test_a_body_resists_by_its_share_of_all_that_it_has_of_mass_and_inertia(
    axis: int, share: float, is_refused: bool
) -> None:
    """Mass and moments about all three axes count; what is about the joint's axis is next to nothing beside them."""
    mass, moments = 2.0, [3.0, 5.0, 7.0]
    moments[axis] = share * (mass + sum(moments) - moments[axis])
    inertia = RigidInertia(mass, ZERO3, symmetric_of([moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]]))
    columns = SimpleNamespace(
        inertias=(np.array([mass]), np.zeros((1, 3)), np.diag(moments)[None]),
        loads=np.array([[0.0, 4.0, 5.0]]),  # damping and friction resist no acceleration
        parents=[WORLD],
        kinds=[Revolute(axis)],
        inertia=lambda i: inertia,
    )
    tree: Any = SimpleNamespace(columns=columns, frames={}, bodies=[SimpleNamespace(name="pin")])
    model: Any = SimpleNamespace(name="m")
    if is_refused:
        with pytest.raises(ModelError, match="joint 'pin' carries no mass or inertia that resists it"):
            preflight.refuse_unusable(model, tree)
    else:
        preflight.refuse_unusable(model, tree)


def test_pivots_of_velocities_are_watched_where_some_body_resists_not_every_motion() -> None:
    closed: Any = SimpleNamespace(inverse_inertias=[0.5, 4.0])
    plans: Any = SimpleNamespace(inertias=(2.0, 0.25))
    found = closed_quantities._inertia_guards(chain(0.0).tree, plans, closed)
    assert found == pytest.approx([0.5, 1e12 / 2.0 - 0.5, 4.0, 1e12 / 0.25 - 4.0], rel=1e-15)
    assert closed_quantities._inertia_guards(chain(1.0).tree, plans, closed) == []
    plans.inertias = ()  # of a very long mechanism
    assert closed_quantities._inertia_guards(chain(0.0).tree, plans, closed) == []


@pytest.mark.parametrize(("limit", "is_written_out"), [(4, False), (5, True), (6, True)])
def test_derivatives_are_written_out_up_to_a_number_of_bodies_times_what_moves_them(
    limit: int, is_written_out: bool, monkeypatch: Any
) -> None:
    """One hinge moves the first body; it and a ball the second one."""
    monkeypatch.setattr(derivatives, "WRITTEN_OUT_UP_TO", limit)
    assert ada.Dynamics(chain())._is_written_out == is_written_out


def test_a_state_is_moved_by_the_first_order_that_can(monkeypatch: Any) -> None:
    closed: Any = object.__new__(ClosedDynamics)
    plans = SimpleNamespace(is_dense_only=False)
    closed.__dict__["_chosen"] = (None, plans, "")
    asked: list[Any] = []

    def kernel(order: str, external: bool, multipliers: bool) -> Any:
        asked.append((order, external, multipliers))
        found = (order, "λ") if order != "no conditions" else order
        return SimpleNamespace(single_status=lambda *given: (found, int(order in refusing)))

    for name, what in (
        ("kernel", kernel),
        ("robust", lambda name: robust),
        ("of_all", lambda multipliers: f"all {multipliers}"),
        ("_rank_revealing", lambda *given: "numbers"),
    ):
        monkeypatch.setattr(closed, name, what, raising=False)
    state = [np.zeros(2)] * 3
    for robust, refusing, found in (
        (LATE, (), ("fast", "all λ", "fast")),
        (LATE, ("fast",), (LATE, "all λ", "robust")),
        (ALL, ("fast",), (ALL, "λ", "robust")),
        (LATE, ("fast", LATE), None),
        (None, ("fast",), None),
    ):
        for wrenches in (None, np.zeros(6)):
            asked.clear()
            moved = closed.motion("fast", *state, wrenches)
            told = moved if found is None else (moved.accelerations, moved.multipliers, moved.tier)
            assert told == (found or "numbers")
            orders = ["fast"] if not refusing or robust is None else ["fast", robust]
            assert asked == [(order, wrenches is not None, True) for order in orders]
    robust, refusing = None, ()
    assert closed.motion("no conditions", *state, None).multipliers == "all []"
    plans.is_dense_only = True
    assert closed.motion("fast", *state, None) == "numbers"


def test_efforts_of_loops_are_written_out_once_by_the_conditions_in_use(monkeypatch: Any) -> None:
    model, start = mechanisms.four_bar()
    there = ada.Dynamics(model, pose=start, device="host")
    made: list[Any] = []

    def inverse(closed: Any, external: bool, by_all: bool, smallest: float) -> Any:
        made.append((external, by_all))
        return "made"

    monkeypatch.setattr(closed_efforts, "inverse", inverse)
    monkeypatch.setattr(there, "_batch", lambda name, *given: there._quantities.fast(name, bool(given[2]), 64))
    state = [np.zeros((2, n)) for n in (model.nq, model.nv, model.nv)]
    for external in (None, {model.link_names[-1]: np.ones(6)}):
        assert there.inverse(*state, external) == there.inverse(*state, external) == "made"
        assert made == [(bool(external), False)]
        made.clear()


@pytest.mark.parametrize(
    ("count", "parts"), [(0, [(0, 0)]), (1, [(0, 1)]), (1024, [(0, 1024)]), (1025, [(0, 1024), (1024, 1)])]
)
def test_matrices_of_many_states_are_found_in_parts_of_1024(count: int, parts: list[tuple[int, int]]) -> None:
    found: list[tuple[int, int]] = []

    def compute(first: int, q: Array, v: Array) -> Array:
        assert q.flags.c_contiguous or q.ndim == 1
        found.append((first, len(q)))
        return q + v[:, :2]

    q, v = np.arange(2.0 * count).reshape(2, -1).T, np.ones((count, 3))
    np.testing.assert_array_equal(along_loops._in_parts([q, v], True, compute), q + 1.0)
    assert found == parts
    if count:
        np.testing.assert_array_equal(along_loops._in_parts([q[0], v[:1]], False, compute), [q[0] + 1.0])
        assert found[-1] == (0, 2)


def test_the_cheapest_order_from_either_side_is_counted_once_and_then_read_from_the_disk(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path))
    counted: list[bool] = []
    costs = {False: {"kkt late": 3.0, "kkt sparse": 2.0}, True: {"aba early": 1.0, "kkt sparse": 1.0}}

    def chosen(candidates: list[str], is_dense_only: bool = False, fingerprint: str = "one") -> Any:
        closed: Any = object.__new__(ClosedDynamics)
        plans = SimpleNamespace(is_dense_only=is_dense_only, candidates=dict.fromkeys(candidates))
        monkeypatch.setattr(closed, "_at", lambda turned: (turned, plans), raising=False)
        monkeypatch.setattr(closed, "_costs", lambda turned: (counted.append(turned), costs[turned])[1], raising=False)
        closed.kernels = SimpleNamespace(fingerprint=lambda: fingerprint)
        counted.clear()
        return closed._chosen[0], closed._chosen[2]

    # nothing to choose from
    assert chosen(["kkt sparse"]) == (False, "kkt sparse") and not counted
    assert chosen([], is_dense_only=True) == (False, "late") and not counted
    assert chosen(["kkt late", "aba late"], is_dense_only=True) == (False, "kkt late") and not counted
    # of two that cost as much the first by name, here and in the next process; another model is counted anew
    for fingerprint in ("one", "other"):
        assert chosen(["kkt late", "kkt sparse"], fingerprint=fingerprint) == (True, "aba early")
        assert counted == [False, True]
        assert chosen(["kkt late", "kkt sparse"], fingerprint=fingerprint) == (True, "aba early") and not counted
    costs[True] = {"kkt sparse": 2.0}
    assert chosen(["kkt late", "kkt sparse"], fingerprint="third") == (False, "kkt sparse")


def test_velocities_along_loops_are_a_function_where_a_kernel_can_tell_what_it_refuses(monkeypatch: Any) -> None:
    model, start = mechanisms.four_bar()
    found = ada.Dynamics(model, pose=start).velocity_map_quantity()
    assert found is not None and found.shapes == {"T": (3, 1)}
    assert ada.Dynamics(model, pose=start, checked=False).velocity_map_quantity() is None
    assert ada.Dynamics(chain()).velocity_map_quantity() is None
    monkeypatch.setattr("ada_dynamics.dynamics.kernels.SPECIALISE_UP_TO", 2)
    assert ada.Dynamics(model, pose=start).velocity_map_quantity() is None


def test_loops_that_leave_no_motion_are_locked_and_singular_states_told_one_by_one(monkeypatch: Any) -> None:
    closed: Any = object.__new__(ClosedDynamics)
    closed.model = SimpleNamespace(name="m", nv=3, loop_names=["a", "b"])
    told: list[Any] = []
    monkeypatch.setattr(closed, "_warn", lambda solution, q, what: told.append((*q, what)), raising=False)
    monkeypatch.setattr(
        closed, "_solution", lambda q, v: (None, SimpleNamespace(is_singular=q[0] == v[0])), raising=False
    )
    for mobility, rank in ((1, 3), (0, 0), (0, 3)):
        closed.__dict__["_chosen"] = (SimpleNamespace(mobility=mobility, rank=rank), None, "")
        if mobility == 0 and rank:
            with pytest.raises(ModelError, match=r"is locked: its loops \('a', 'b'\) hold all of its 3 velocities"):
                closed.refuse_locked()
        else:
            closed.refuse_locked()
        rows = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
        closed.warn_if_singular(rows, np.array([[1.0], [0.0], [3.0]]))
        closed.warn_if_singular(rows[1], rows[1])
        closed.warn_if_singular(rows[:0], rows[:0])
        assert told == ([(1.0, 5.0, "state"), (3.0, 7.0, "state"), (2.0, 6.0, "state")] if rank else [])
        told.clear()


def test_forward_dynamics_of_loops_is_made_by_the_solver_of_its_name(monkeypatch: Any) -> None:
    closed: Any = object.__new__(ClosedDynamics)
    closed.kernels = SimpleNamespace(order="order")
    closed.__dict__.update({"_chosen": (SimpleNamespace(numbers=SimpleNamespace(tree="tree")), "plans", "")})
    closed.__dict__["_softness"] = ("softness", "usual")
    monkeypatch.setattr(closed, "_assembly_pivots", lambda name: f"pivots of {name}", raising=False)
    for name in ("all_conditions", "assembly", "elimination", "forward"):
        monkeypatch.setattr(closed_quantities, name, lambda tree, plans, *given, name=name: (name, *given))
    for name, solver in (
        (ALL, ("all_conditions", "softness", "usual")),
        ("ada", ("assembly", "ada", "order", "pivots of ada")),
        ("dca", ("assembly", "dca", "order", "pivots of dca")),
        (LATE, ("elimination", LATE)),
        ("kkt sparse", ("elimination", "kkt sparse")),
    ):
        assert closed.quantity(name, True, False) == ("forward", solver, True, False, False)
        assert closed.quantity(name, False, True, True) == ("forward", solver, False, True, True)


def test_states_that_stopped_a_kernel_are_found_one_by_one_and_singular_ones_told_by_number() -> None:
    def of_state(x: Array, y: Array) -> Any:
        assert x.flags.c_contiguous and y.flags.c_contiguous
        if x[0] < 0.0:
            raise SingularPoseError("flat")
        return (x + y, y) if several else x + y

    x, y = np.arange(6.0).reshape(2, 3).T, np.ones((3, 2))
    for several in (False, True):
        one, many = (closed_derivatives.rescue(of_state, *given) for given in (([x[1], y[1]], False), ([x, y], True)))
        for single, rows, expected in zip(*((one, many) if several else ((one,), (many,))), (x + y, y), strict=False):
            np.testing.assert_array_equal(single, expected[1])
            np.testing.assert_array_equal(rows, expected)
        assert isinstance(many, tuple) == several
    x[2, 0] = -1.0
    with pytest.raises(SingularPoseError, match=r"^state 2: flat"):
        closed_derivatives.rescue(of_state, [x, y], True)
    with pytest.raises(SingularPoseError, match=r"^flat"):
        closed_derivatives.rescue(of_state, [x[2], y[2]], False)


@pytest.mark.parametrize("name", sorted(JOINT_TYPES.keys() - {"fixed"}))
def test_rows_of_articulated_bodies_are_filled_without_a_gap(name: str) -> None:
    for has_loads in (False, True):
        kind = articulated.Kind(name, has_loads, False)
        size, constants = articulated.row_size([kind]), articulated.constants_size([kind])
        filled: dict[int, int] = {}
        for _, step, stores in articulated._FORWARD:
            outputs = articulated._traced(kind, step, "tau", False, size, constants).outputs
            filled |= {offset: len(outputs[one]) for one, (region, offset) in stores.items() if region == "own"}
        places = sorted(filled)
        assert [offset + filled[offset] for offset in places] == [*places[1:], size] and places[0] == 0


def test_accelerations_of_loops_that_overflow_are_explained_unless_unchecked(monkeypatch: Any) -> None:
    model, start = mechanisms.four_bar()
    arrays = {"q": np.asarray(start), "v": np.zeros(3), "tau": np.zeros(3)}
    for checked in (True, False):
        dynamics = ada.Dynamics(model, pose=start, checked=checked)
        closed: Any = dynamics.kernels.closed
        for found in (np.ones(3), np.array([0.0, np.inf, 0.0])):
            monkeypatch.setattr(closed, "rescue", lambda *given, found=found: found)
            if checked and found[1] > 1.0:
                with pytest.raises(InputError, match="is not finite: the numbers overflow"):
                    dynamics._rescued(closed, arrays)
            else:
                assert dynamics._rescued(closed, arrays) is found
