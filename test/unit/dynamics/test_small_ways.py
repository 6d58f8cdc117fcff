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
    compiled_method,
    derivatives,
    export,
    on_device,
    preflight,
)
from ada_dynamics.dynamics.loop_programs import articulated
from ada_dynamics.dynamics.quantities import base
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.errors import CompileError, InputError, ModelError
from ada_dynamics.jit import gpu
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


def test_calls_go_straight_to_the_kernel_that_answers_them() -> None:
    for kernel, own in (("generic", False), ("specialised", True)):
        dynamics = ada.Dynamics(chain(), kernel=kernel)
        found = {
            name: dynamics.runs_compiled(name) for name in ("forward", "inverse", "bias", "gravity", "mass_matrix")
        }
        always = dict.fromkeys(("forward", "inverse", "mass_matrix"), True)
        assert found == {**always, **dict.fromkeys(("bias", "gravity"), own)}
    model, start = mechanisms.four_bar()
    closed = ada.Dynamics(model, pose=start)
    assert closed.runs_compiled("forward") and closed.runs_compiled("inverse")


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
