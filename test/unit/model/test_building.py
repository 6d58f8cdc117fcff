# SPDX-License-Identifier: Apache-2.0
"""What is built large leaves Python as it was."""

import gc

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import ModelError
from ada_dynamics.model import Builder, Limits
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.tree import Columns


@pytest.mark.parametrize("is_on", [True, False])
def test_the_search_for_garbage_is_as_before_after_success_and_failure(is_on):
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        ada.Dynamics(ada.chain_3d(70)).forward(*[[0.0] * 70] * 3)
        assert gc.isenabled() == is_on
        with pytest.raises(ModelError, match="no links"):
            Builder("empty").build()
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()


LARGE = 1.7e308  # the largest numbers are finite; the sum of two is not


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (lambda x: {"xyz": (LARGE, LARGE, x)}, "xyz of joint 'j'"),
        (lambda x: {"axis": (0.0, 1.0, x)}, "axis of joint 'j'"),
        (lambda x: {"rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, x], [0.0, 0.0, 1.0]]}, "rotation of joint 'j'"),
        (lambda x: {"damping": x}, "damping of joint 'j'"),
        (lambda x: {"stiffness": 1.0, "rest": x}, "rest of joint 'j'"),
        (lambda x: {"rest": x}, "rest of joint 'j'"),
    ],
)
def test_a_joint_with_a_number_that_is_none_is_refused_by_name(values, said, bad):
    with pytest.raises(ModelError, match=said):
        Builder("r").joint("j", "revolute", "a", "b", **values(bad))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"limits": Limits(effort=-5.0)}, "effort limit of joint 'j' is -5; it must not be negative"),
        ({"limits": Limits(velocity=-1.0)}, "velocity limit of joint 'j' is -1; it must not be negative"),
        ({"limits": Limits(upper=float("nan"))}, "upper limit of joint 'j' is nan; it must be a number, or inf"),
        ({"limits": Limits(1.0, -1.0)}, r"limits of joint 'j' are \[1, -1\]; the lower one comes first"),
        ({"limits": Limits("low")}, "lower limit of joint 'j' is 'low'; it must be a number, or inf"),
        ({"limits": (-1.0, 1.0)}, r"limits of joint 'j': \(-1.0, 1.0\) is no Limits, such as Limits\("),
        ({"mimic": "k"}, r"mimic of joint 'j': 'k' is no Mimic, such as Mimic\("),
        ({"turns": "zyx"}, r"turns of joint 'j': 'zyx' is no Turns, such as Turns\('zyx'\)"),
        ({"damping": "much"}, "damping of joint 'j' is much; it must be a finite number"),
    ],
)
def test_bounds_followed_joints_and_losses_that_cannot_be_meant_are_refused_by_name(values, said):
    with pytest.raises(ModelError, match=said):
        Builder("r").joint("j", "revolute", "a", "b", **values)


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
    elif kind not in ("spherical", "fixed"):
        with pytest.raises(ModelError, match=rf"joint 'j' is {kind} and has the limits \[-0.2, 0.3\]; posit"):
            built(-0.2, 0.3)


def test_finite_numbers_are_taken_even_where_their_sum_is_not_finite():
    link = Builder("r").link("a", com=(LARGE, LARGE, 0.0)).build().links["a"]
    assert link.com.tolist() == [LARGE, LARGE, 0.0]


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


def test_values_that_cannot_change_are_shared_by_the_parts_that_are_given_them():
    com = np.array([0.1, 0.2, 0.3])
    com.setflags(write=False)
    robot = Builder("r").link("a").link("b", 1.0, com).link("c", 1.0, com)
    model = robot.joint("j", "fixed", "a", "b").joint("k", "fixed", "a", "c").build()
    assert model.links["b"].com is model.links["c"].com
    assert model.links["b"].com.tolist() == [0.1, 0.2, 0.3]


def test_an_array_that_is_changed_and_sealed_again_while_a_robot_is_built_counts_as_it_is_now():
    com = np.array([0.1, 0.2, 0.3])
    com.setflags(write=False)
    robot = Builder("r").link("a", 1.0, com)
    com.setflags(write=True)
    com[:] = 7.0
    com.setflags(write=False)
    model = robot.link("b", 1.0, com).joint("j", "fixed", "a", "b").build()
    assert [link.com.tolist() for link in model.links.values()] == [[0.1, 0.2, 0.3], [7.0, 7.0, 7.0]]


def test_a_read_only_view_of_what_can_change_is_not_shared():
    below = np.array([0.1, 0.2, 0.3])
    view = below[:]
    view.setflags(write=False)
    robot = Builder("r").link("a", 1.0, view)
    below[:] = 7.0
    model = robot.link("b", 1.0, view).joint("j", "fixed", "a", "b").build()
    assert [link.com.tolist() for link in model.links.values()] == [[0.1, 0.2, 0.3], [7.0, 7.0, 7.0]]


def test_a_shared_value_is_refused_for_every_part_that_it_is_wrong_for():
    three = (0.0, 0.0, 1.0)
    robot = Builder("r").link("a", 1.0, three, three)  # as a vector, and as the diagonal of an inertia
    assert robot.build().links["a"].inertia.tolist() == np.diag(three).tolist()
    short, none = (0.0, 1.0), (0.0, 0.0, float("nan"))
    for name in ("b", "c"):
        with pytest.raises(ModelError, match=f"com of link '{name}'"):
            robot.link(name, 1.0, short)
        with pytest.raises(ModelError, match=f"com of link '{name}'"):
            robot.link(name, 1.0, none)


@pytest.mark.parametrize("name", ["pa10", "stewart", "hoap2_standing", "five_bar"])
def test_bodies_and_columns_say_the_same(name):
    model = ada.load(name, base="floating" if name.startswith("hoap2") else "fixed")
    for tree in (model.tree, model.full_tree, model.uniform_tree):
        own, again = tree.columns, Columns.of(tuple(tree.bodies))
        for what in ("rotations", "positions", "loads", "springs"):
            np.testing.assert_array_equal(getattr(own, what), getattr(again, what))
        for one, other in zip(own.inertias, again.inertias, strict=True):
            np.testing.assert_array_equal(one, other)
        assert [*own.parents] == [*again.parents]
        assert [*own.kinds] == [*again.kinds]
        assert ([*own.q], [*own.v]) == ([*again.q], [*again.v])
        assert tree.bodies[0] is next(iter(tree.bodies))


def test_no_body_of_a_long_chain_becomes_an_object_before_it_is_asked_for():
    model = ada.chain_3d(70)
    ada.Dynamics(model).forward(*[[0.0] * 70] * 3)
    assert "_made" not in vars(model.uniform_tree.bodies)
    assert "_made" not in vars(model.uniform_tree.frames)
    assert model.uniform_tree.bodies[-1].name == "joint_70"
    assert model.uniform_tree.frames["link_70"].body == 69


def test_a_motor_of_an_unknown_name_is_told_of_joints_that_move_alone():
    builder = ada.Builder("r").link("base").link("arm", 1.0, inertia=(1, 1, 1)).link("tool", 1.0, inertia=(1, 1, 1))
    builder.joint("elbow", "revolute", "base", "arm", axis=(0, 1, 0)).joint("weld", "fixed", "arm", "tool")
    with pytest.raises(ada.ModelError, match="'welt'") as caught:
        builder.actuated(["welt"]).build()
    assert "elbow" in str(caught.value) and "weld" not in str(caught.value)


def test_the_second_axis_of_a_universal_joint_is_y_where_none_is_given():
    for axis in ((1, 0, 0), (0, 0, 1)):
        builder = ada.Builder("r").link("base").link("arm", 1.0, inertia=(1, 1, 1))
        model = builder.joint("cross", "universal", "base", "arm", axis=axis).build()
        assert model.joints["cross"].axis2.tolist() == [0.0, 1.0, 0.0]


def test_a_chain_in_space_has_its_masses_where_its_description_says():
    """Base and rods weigh the same; the base's centre is its origin, that of a rod a tenth, a fifth, a half along."""
    model, m, length = ada.chain_3d(2, length=0.5, mass=3.0, base="floating"), 3.0, 0.5
    q = model.neutral()
    expected = (2.0 * length * np.array([0.1, 0.2, 0.5]) + [0.0, 0.0, length]) / 3.0
    np.testing.assert_allclose(ada.Dynamics(model).com(q), expected, atol=1e-15)
    base = model.links["base"]
    assert (base.mass, base.com.tolist()) == (m, [0.0] * 3)
    np.testing.assert_allclose(base.inertia, m * length**2 * np.eye(3))


def test_a_link_of_negative_mass_is_refused_where_it_is_added():
    with pytest.raises(ModelError, match="the mass of link 'arm' is -2 kg; it must not be negative: mend its sign"):
        ada.Builder("wrong").link("base").link("arm", -2.0)
