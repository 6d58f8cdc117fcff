# SPDX-License-Identifier: Apache-2.0
"""A model cannot be changed under the code that is compiled for it; lookups by name answer with the nearest ones."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model import edit

COPIES: list[Callable[[ada.Model], ada.Model]] = [
    lambda model: model,
    copy.copy,
    copy.deepcopy,
    lambda model: pickle.loads(pickle.dumps(model)),
]


@pytest.fixture(params=COPIES, ids=["itself", "copy", "deep copy", "pickle"])
def model(request: pytest.FixtureRequest) -> ada.Model:
    made: ada.Model = request.param(ada.load("four_bar"))
    return made


@pytest.mark.parametrize(
    ("change", "way"),
    [
        (lambda m: setattr(m, "gravity", (0.0, 0.0, 0.0)), "with_gravity"),
        (lambda m: setattr(m, "links", {}), "with_parts"),
        (lambda m: setattr(m, "joints", {}), "with_parts"),
        (lambda m: setattr(m, "loops", {}), "remove_loop"),
        (lambda m: setattr(m, "name", "other"), "model.edit"),
        (lambda m: setattr(m, "damping", np.ones(3)), "model.edit"),
        (lambda m: delattr(m, "gravity"), "with_gravity"),
        (lambda m: m.links.__setitem__("base", m.links["base"]), "with_parts"),
        (lambda m: m.joints.update({}), "with_parts"),
        (lambda m: m.joints.pop("joint_1"), "with_parts"),
        (lambda m: m.loops.__delitem__("closing"), "remove_loop"),
        (lambda m: m.loops.__ior__({}), "remove_loop"),
        (lambda m: m.loops.clear(), "remove_loop"),
    ],
)
def test_a_model_is_read_only_and_says_how_to_make_a_changed_copy(
    model: ada.Model, change: Callable[[ada.Model], Any], way: str
) -> None:
    with pytest.raises(
        ada.ReadOnlyError, match=f"read-only.*ada_dynamics.model.edit.*{way}" if way != "model.edit" else way
    ):
        change(model)
    assert model.gravity[2] < 0.0
    assert model.loop_names == ["closing"]


def test_arrays_of_a_model_are_read_only(model: ada.Model) -> None:
    link, joint, loop = model.links["link_1"], model.joints["joint_2"], model.loops["closing"]
    arrays = [link.com, link.inertia, joint.xyz, joint.rotation, joint.axis, loop.parent_xyz, loop.child_rotation]
    arrays += [loop.axis, model.lower, model.upper, model.effort_limit, model.damping]
    arrays += [x for shape in (*link.visuals, *link.collisions) for x in (shape.xyz, shape.rotation)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        link.mass = 2.0


def test_a_model_does_not_share_arrays_with_whoever_made_it() -> None:
    com, inertia = np.array([0.0, 0.0, -0.5]), np.diag([0.1, 0.1, 0.1])
    link = ada.Builder("rod").link("rod", 1.0, com, inertia).build().links["rod"]
    com[2], inertia[0, 0] = 7.0, 7.0
    assert link.com[2] == -0.5
    assert link.inertia[0, 0] == 0.1


def test_edits_obey_what_assignments_refuse() -> None:
    # a pendulum of mass m at length l with its inertia about the pivot I: a = -m g l sin(q) / I
    builder = ada.Builder("pendulum").link("base").link("rod", 1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 0))
    model = builder.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build()
    q, rest = np.array([0.3]), np.zeros(1)

    def acceleration(of: ada.Model) -> float:
        return float(ada.Dynamics(of).forward(q, rest, rest)[0])

    expected = -1.0 * 9.81 * 0.5 * np.sin(0.3) / (1 / 12 + 0.25)
    assert acceleration(model) == pytest.approx(expected, rel=1e-12)
    assert acceleration(edit.with_gravity(model, (0, 0, -1.62))) == pytest.approx(expected * 1.62 / 9.81, rel=1e-12)
    # twice the mass with the same inertia about the centre
    heavier = edit.with_parts(model, dataclasses.replace(model.links["rod"], mass=2.0))
    assert acceleration(heavier) == pytest.approx(-2.0 * 9.81 * 0.5 * np.sin(0.3) / (1 / 12 + 0.5), rel=1e-12)
    slowed = edit.with_parts(model, dataclasses.replace(model.joints["pivot"], damping=0.7))
    moving = float(ada.Dynamics(slowed).forward(q, [2.0], rest)[0])
    assert moving == pytest.approx(expected - 0.7 * 2.0 / (1 / 12 + 0.25), rel=1e-12)
    assert acceleration(model) == pytest.approx(expected, rel=1e-12), "the model itself is as it was"


def test_a_loop_joint_is_replaced_by_one_of_the_same_name() -> None:
    model = ada.load("four_bar")
    longer = edit.with_parts(model, dataclasses.replace(model.loops["closing"], child_xyz=np.array([1.5, 0.0, 0.0])))
    pose = ada.assemble(longer)
    # the tip of the third link is at the new ground pivot
    tip = ada.Dynamics(longer).pose("link_3", pose) @ np.array([*longer.loops["closing"].parent_xyz, 1.0])
    assert tip[:3] == pytest.approx([1.5, 0.0, 0.0], abs=1e-9)


def test_parts_that_a_model_does_not_have_are_refused() -> None:
    model = ada.load("four_bar")
    with pytest.raises(ada.InputError, match=r"no link is named 'link_9'\. Did you mean"):
        edit.with_parts(model, dataclasses.replace(model.links["link_1"], name="link_9"))
    with pytest.raises(ada.InputError, match="part is 'link_1'; it must be a Link, Joint or LoopJoint"):
        edit.with_parts(model, "link_1")  # type: ignore[arg-type]


# --- by name --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("look", "message"),
    [
        (lambda m, d: m.joints["joint1"], "no joint is named 'joint1'. Did you mean 'joint_1'"),
        (lambda m, d: m.links["bas"], "no link is named 'bas'. Did you mean 'base'"),
        (lambda m, d: m.loops["x"], "no loop is named 'x'. Known: closing"),
        (lambda m, d: m.q_index("joint_7"), "no joint is named 'joint_7'"),
        (lambda m, d: d.poses(m.neutral())["bas"], "no link is named 'bas'"),
        (lambda m, d: d.joint_wrenches(ada.assemble(m), [0] * 3, [0] * 3)["close"], "no joint is named 'close'"),
        (lambda m, d: d.joint_wrenches(ada.assemble(m), [0] * 3, [0] * 3).unique["x"], "no joint is named 'x'"),
        (lambda m, d: d.joint_wrenches(ada.assemble(m), [0] * 3, [0] * 3).multipliers["x"], "no joint is named 'x'"),
    ],
)
def test_unknown_names_are_errors_of_the_library_and_key_errors(look: Callable[..., Any], message: str) -> None:
    model = ada.load("four_bar")
    with pytest.raises(ada.UnknownNameError, match=message) as caught:
        look(model, ada.Dynamics(model))
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, ada.InputError)
    assert not str(caught.value).startswith(("'", '"')), "the text is no quoted key"


def test_names_are_asked_for_as_in_any_dictionary(model: ada.Model) -> None:
    assert "joint_1" in model.joints
    assert "S1" not in model.joints
    assert model.joints.get("S1") is None
    assert isinstance(model.joints, dict)
    try:
        model.joints["S1"]
    except KeyError:
        found = "answered"
    assert found == "answered"
    wrenches = ada.Dynamics(model).joint_wrenches(ada.assemble(model), [0] * 3, [0] * 3)
    assert wrenches.get("S1") is None
    theirs = model.joints | {}
    theirs.pop("joint_1")  # a copy is an ordinary dictionary
    assert "joint_1" in model.joints


def test_public_objects_say_in_a_line_what_they_are() -> None:
    model = ada.load("four_bar")
    simulation, dynamics = ada.Simulation(model), ada.Dynamics(model)
    pose = ada.assemble(model)
    shown = [
        (simulation, "<Simulation of 'four_bar' at t = 0 s: rkf45, step 0.001 s>"),
        (dynamics.joint_wrenches(pose, [0] * 3, [0] * 3), "<JointWrenches of 4 joints: 0 of them unique, tier 'fast'>"),
        (ada.Builder("x").link("base"), "<Builder of 'x': 1 links, 0 joints, 0 loops>"),
    ]
    for thing, expected in shown:
        assert repr(thing) == expected
    for thing in (model, dynamics, simulation.run(0.002), dynamics.kernel("forward")):
        assert " at 0x" not in repr(thing)
        assert len(repr(thing)) < 120
