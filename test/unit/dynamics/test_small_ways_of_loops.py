# SPDX-License-Identifier: Apache-2.0
"""Ways of mechanisms with loops that are seldom taken: orders that refuse, singular branches, locked loops."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics import (
    closed_derivatives,
    closed_efforts,
)
from ada_dynamics.dynamics.closed import ALL, LATE, ClosedDynamics
from ada_dynamics.dynamics.device_quantities import DeviceQuantities
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import InputError, ModelError, SingularPoseError
from ada_dynamics.jit import GuardError
from ada_dynamics.loops import singular
from ada_dynamics.loops.singular import Solution
from ada_dynamics.robots import mechanisms

Array = Any


def chain(mass: float = 1.0) -> ada.Model:
    builder = ada.Builder("chain").link("base")
    builder.link("a", 1.0, inertia=(1, 1, 1)).link("b", mass, inertia=mass * np.eye(3))
    return builder.joint("one", "revolute", "base", "a").joint("two", "spherical", "a", "b", (0, 0, 1)).build()


def test_combined_conditions_are_sums_by_their_weights() -> None:
    assert closed_quantities._weighted_sum([2.0, -1.0, 0.5], [3.0, 4.0, 8.0]) == 6.0
    assert closed_quantities._weighted_sum([], []) == 0.0


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
        system = SimpleNamespace(M=np.diag(masses)[None], J=across[None])
        monkeypatch.setattr(closed, "system", lambda q, v, tau, system=system: system, raising=False)
        if is_refused:
            with pytest.raises(GuardError, match="model 'm': nothing resists some motion that its loops allow"):
                closed._metric(np.zeros((1, 2)))
        else:
            assert closed._metric(np.zeros((1, 2))).s.shape == (1, 1)


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
    monkeypatch.setattr(closed, "system", lambda q, v, tau: q, raising=False)
    monkeypatch.setattr(singular, "suspects", lambda q, rank: np.flatnonzero(q[:, 0] < 4.0))
    for mobility, rank in ((1, 3), (0, 0), (0, 3)):
        closed.__dict__["_chosen"] = (SimpleNamespace(mobility=mobility, rank=rank), None, "")
        if mobility == 0 and rank:
            with pytest.raises(ModelError, match=r"is locked: its loops \('a', 'b'\) hold all of its 3 velocities"):
                closed.refuse_locked()
        else:
            closed.refuse_locked()
        rows = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
        closed.warn_if_singular(rows, np.array([[1.0], [0.0], [3.0], [4.0]]))
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
