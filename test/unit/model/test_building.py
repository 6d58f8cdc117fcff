# SPDX-License-Identifier: Apache-2.0
"""What is built large leaves Python as it was."""

import copy
import dataclasses
import gc
import pickle

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import ModelError
from ada_dynamics.model import Builder, Limits, edit
from ada_dynamics.model.joints import JOINT_TYPES


@pytest.mark.parametrize("is_on", [True, False])
def test_the_search_for_garbage_is_as_before_after_success_and_failure(is_on):
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        ada.Dynamics(ada.chain_3d(70)).forward(*[[0.0] * 70] * 3)
        assert gc.isenabled() == is_on
        with pytest.raises(ModelError):
            Builder("empty").build()
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_positions_are_bounded_of_kinds_only_where_every_call_takes_the_bounds_alike(kind):
    def built(*ends):
        builder = Builder("r").link("a").link("b", 1.0, inertia=(1.0, 1.0, 1.0))
        constants = dict.fromkeys(JOINT_TYPES[kind].constants, 0.01)
        return builder.joint("j", kind, "a", "b", limits=Limits(*ends, 3.0, 4.0), **constants).build()

    free = built(-float("inf"), 1e16)
    assert np.isinf(free.lower).all() and np.isinf(free.upper).all() and (free.effort_limit == 4.0).all()
    if kind in ("revolute", "prismatic", "helical"):
        assert (built(-0.2, 0.3).lower.tolist(), built(-0.2, 0.3).upper.tolist()) == ([-0.2], [0.3])


def test_what_a_model_was_built_from_can_be_changed_afterwards():
    xyz, rotation, inertia = [0.0, 0.0, 1.0], [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 1.0, 1.0]
    given = [np.array(x) for x in (xyz, rotation, inertia)]
    robot = Builder("r").link("a").link("b", 1.0, inertia=given[2])
    robot.joint("j", "revolute", "a", "b", given[0], rotation=given[1])
    for array in given:
        array[:] = 7.0
    model = robot.build()
    joint, link = model.joints["j"], model.links["b"]
    assert (joint.xyz.tolist(), joint.rotation.tolist(), np.diag(link.inertia).tolist()) == (xyz, rotation, inertia)
    assert not any(x.flags.writeable for x in (joint.xyz, joint.rotation, joint.axis, link.com, link.inertia))


def test_an_array_that_is_changed_and_sealed_again_while_a_robot_is_built_counts_as_it_is_now():
    com = np.array([0.1, 0.2, 0.3])
    com.setflags(write=False)
    robot = Builder("r").link("a", 1.0, com)
    com.setflags(write=True)
    com[:] = 7.0
    com.setflags(write=False)
    model = robot.link("b", 1.0, com).joint("j", "fixed", "a", "b").build()
    assert [link.com.tolist() for link in model.links.values()] == [[0.1, 0.2, 0.3], [7.0, 7.0, 7.0]]


def test_a_thin_rod_is_given_by_its_end_and_density():
    built = ada.Builder("rods").link("a", 1.2, rod=0.5).link("b", rod=(0.3, 0, 0.4), density=2.0)
    links = built.joint("j", "fixed", "a", "b").build().links
    assert (links["a"].mass, links["b"].mass) == (1.2, 1.0)
    np.testing.assert_allclose(links["a"].inertia, np.diag([0.025, 0.025, 0.0]), atol=1e-15)
    np.testing.assert_allclose(links["b"].com, [0.15, 0, 0.2])
    about = np.eye(3) - np.outer([0.6, 0, 0.8], [0.6, 0, 0.8])
    np.testing.assert_allclose(links["b"].inertia, 0.25 / 12 * about, atol=1e-15)
    for wrong in ({"density": 1.0}, {"rod": 0.0}, {"rod": (1.0, 2.0)}):
        with pytest.raises(ada.InputError) as error:
            ada.Builder("r").link("a", **wrong)
        assert error.value.link == "a"


def test_the_second_axis_of_a_universal_joint_is_y_where_none_is_given():
    for axis in ((1, 0, 0), (0, 0, 1)):
        builder = ada.Builder("r").link("base").link("arm", 1.0, inertia=(1, 1, 1))
        model = builder.joint("cross", "universal", "base", "arm", axis=axis).build()
        assert model.joints["cross"].axis2.tolist() == [0.0, 1.0, 0.0]


COPIES = [lambda model: model, copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]


@pytest.fixture(params=COPIES, ids=["itself", "copy", "deep copy", "pickle"])
def model(request):
    return request.param(ada.load("four_bar"))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "gravity", (0.0, 0.0, 0.0)),
        lambda m: setattr(m, "joints", {}),
        lambda m: setattr(m, "damping", np.ones(3)),
        lambda m: delattr(m, "gravity"),
        lambda m: m.links.__setitem__("base", m.links["base"]),
        lambda m: m.joints.update({}),
        lambda m: m.joints.pop("joint_1"),
        lambda m: m.loops.__delitem__("closing"),
        lambda m: m.loops.__ior__({}),
        lambda m: m.loops.clear(),
    ],
)
def test_a_model_is_read_only(model, change):
    with pytest.raises(ada.ReadOnlyError):
        change(model)
    assert model.gravity[2] < 0.0 and model.loop_names == ["closing"] and "joint_1" in model.joints


def test_arrays_of_a_model_are_read_only(model):
    link, joint, loop = model.links["link_1"], model.joints["joint_2"], model.loops["closing"]
    arrays = [link.com, link.inertia, joint.xyz, joint.rotation, joint.axis, loop.parent_xyz, loop.child_rotation]
    arrays += [loop.axis, model.lower, model.upper, model.effort_limit, model.damping]
    arrays += [x for shape in (*link.visuals, *link.collisions) for x in (shape.xyz, shape.rotation)]
    assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(dataclasses.FrozenInstanceError):
        link.mass = 2.0


def test_edits_obey_what_assignments_refuse():
    # a pendulum of mass m at length l with its inertia about the pivot I: a = -m g l sin(q) / I
    builder = ada.Builder("pendulum").link("base").link("rod", 1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 0))
    model = builder.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build()
    q, rest = np.array([0.3]), np.zeros(1)

    def acceleration(of):
        return float(ada.Dynamics(of).forward(q, rest, rest)[0])

    expected = -1.0 * 9.81 * 0.5 * np.sin(0.3) / (1 / 12 + 0.25)
    assert acceleration(edit.with_gravity(model, (0, 0, -1.62))) == pytest.approx(expected * 1.62 / 9.81, rel=1e-12)
    # twice the mass with the same inertia about the centre
    heavier = edit.with_parts(model, dataclasses.replace(model.links["rod"], mass=2.0))
    assert acceleration(heavier) == pytest.approx(-2.0 * 9.81 * 0.5 * np.sin(0.3) / (1 / 12 + 0.5), rel=1e-12)
    slowed = edit.with_parts(model, dataclasses.replace(model.joints["pivot"], damping=0.7))
    moving = float(ada.Dynamics(slowed).forward(q, [2.0], rest)[0])
    assert moving == pytest.approx(expected - 0.7 * 2.0 / (1 / 12 + 0.25), rel=1e-12)
    assert acceleration(model) == pytest.approx(expected, rel=1e-12), "the model itself is as it was"


def test_a_loop_joint_is_replaced_by_one_of_the_same_name():
    model = ada.load("four_bar")
    longer = edit.with_parts(model, dataclasses.replace(model.loops["closing"], child_xyz=np.array([1.5, 0.0, 0.0])))
    pose = ada.close_loops(longer)
    # the tip of the third link is at the new ground pivot
    tip = ada.Dynamics(longer).pose("link_3", pose) @ np.array([*longer.loops["closing"].parent_xyz, 1.0])
    assert tip[:3] == pytest.approx([1.5, 0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("what", "name", "look"),
    [
        ("joint", "joint1", lambda m, d, w: m.joints["joint1"]),
        ("link", "bas", lambda m, d, w: m.links["bas"]),
        ("loop", "x", lambda m, d, w: m.loops["x"]),
        ("joint", "joint_7", lambda m, d, w: m.q_index("joint_7")),
        ("link", "bas", lambda m, d, w: d.forward_kinematics(m.neutral())["bas"]),
        ("joint", "close", lambda m, d, w: w["close"]),
        ("joint", "x", lambda m, d, w: w.unique["x"]),
        ("link", "link_9", lambda m, d, w: edit.with_parts(m, dataclasses.replace(m.links["link_1"], name="link_9"))),
    ],
)
def test_unknown_names_are_errors_of_the_library_and_key_errors(what, name, look):
    model = ada.load("four_bar")
    dynamics = ada.Dynamics(model)
    wrenches = dynamics.joint_wrenches(ada.close_loops(model), [0] * 3, [0] * 3)
    with refused(ada.UnknownNameError, **{"field": what, what: name}) as caught:
        look(model, dynamics, wrenches)
    assert isinstance(caught.value, KeyError) and not str(caught.value).startswith(("'", '"'))
    assert caught.value.allowed
