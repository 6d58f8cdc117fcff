# SPDX-License-Identifier: Apache-2.0
"""Ways that are seldom taken: folders that cannot be written, devices by number, pivots that vanish everywhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics import compiled_method, export, on_device
from ada_dynamics.dynamics.closed import ALL, LATE, ClosedDynamics
from ada_dynamics.dynamics.device_quantities import DeviceQuantities
from ada_dynamics.dynamics.loop_programs import articulated
from ada_dynamics.dynamics.quantities import base
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import CompileError, InputError, ModelError
from ada_dynamics.jit import gpu
from ada_dynamics.robots import mechanisms

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
