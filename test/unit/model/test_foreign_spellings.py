# SPDX-License-Identifier: Apache-2.0
"""Loops, ties, springs and loads in the spellings of Drake, Gazebo and Onshape are read, or left out with a warning."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots.check import check
from ada_dynamics.robots.writers import render
from ada_dynamics.simulation.record.recorder import description

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name):
    return f'<link name="{name}">{INERTIAL}</link>'


def joint(name, kind, parent, child, tag="joint"):
    return f'<{tag} name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></{tag}>'


def urdf(more):
    tree = "".join(map(link, "abc")) + joint("j", "continuous", "a", "b") + joint("k", "continuous", "a", "c")
    return f'<robot name="r" xmlns:drake="d">{tree}\n{more}</robot>'


def sdf(more, joint_content=""):
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    tree = f'<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}'
    return f'<sdf version="1.9"><model name="m">{tree}{joint_content}</joint>{more}</model></sdf>'


BALL = (
    '<drake:ball_constraint><drake:ball_constraint_body_A name="b"/><drake:ball_constraint_body_B name="c"/>'
    '<drake:ball_constraint_p_AP value="0 0 1"/><drake:ball_constraint_p_BQ value="0 2 1"/></drake:ball_constraint>'
)
BALL_SDF = (
    "<drake:ball_constraint><drake:ball_constraint_body_A>b</drake:ball_constraint_body_A>"
    "<drake:ball_constraint_body_B>world</drake:ball_constraint_body_B>"
    "<drake:ball_constraint_p_AP>0 0 1</drake:ball_constraint_p_AP>"
    "<drake:ball_constraint_p_BQ>0 2 1</drake:ball_constraint_p_BQ></drake:ball_constraint>"
)


@pytest.mark.parametrize("text, child", [(urdf(BALL), "c"), (sdf(BALL_SDF), "world")])
def test_a_ball_constraint_of_drake_is_a_spherical_loop(text, child):
    (loop,) = ada.load(text).loops.values()
    assert (loop.kind, loop.parent, loop.child) == ("spherical", "b", child)
    np.testing.assert_array_equal([loop.parent_xyz, loop.child_xyz], [[0, 0, 1], [0, 2, 1]])


@pytest.mark.parametrize(
    "written, kind, nv", [("ball", "spherical", 3), ("universal", "universal", 2), ("planar", "planar", 3)]
)
def test_joints_of_drake_are_joints(written, kind, nv):
    model = ada.load(urdf(link("d") + joint("m", written, "c", "d", "drake:joint")))
    assert (model.joints["m"].kind, model.nv) == (kind, 2 + nv)
    assert "drake:joint" not in description(model)  # which urdfdom skips


def test_the_rotor_the_tie_and_the_planar_joint_of_drake_are_read_from_sdf():
    rotor = "<drake:rotor_inertia>0.5</drake:rotor_inertia><drake:gear_ratio>3</drake:gear_ratio>"
    assert ada.load(sdf("", rotor)).joints["j"].armature == 0.5 * 3**2
    ends = "<drake:parent>b</drake:parent><drake:child>c</drake:child>"
    plane = f'<drake:joint name="p" type="planar">{ends}</drake:joint>'
    tie = '<drake:mimic joint="j" multiplier="2" offset="1"/><axis><xyz>0 0 1</xyz></axis>'
    follower = f'<joint name="k" type="revolute"><parent>c</parent><child>d</child>{tie}</joint>'
    model = ada.load(sdf(f'<link name="c"/><link name="d"/>{plane}{follower}'), base="fixed")
    assert (model.joints["p"].kind, model.nv) == ("planar", 1 + 3)
    assert (model.joints["k"].mimic.joint, model.joints["k"].mimic.multiplier) == ("j", 2.0)


SPRING = '<gazebo reference="j"><springStiffness>7</springStiffness><springReference>0.5</springReference></gazebo>'
PLUGIN = "<gazebo><plugin><joint>j</joint><mimicJoint>k</mimicJoint><multiplier>-2</multiplier></plugin></gazebo>"


def test_springs_and_mimic_plugins_of_gazebo_are_read_and_written_once():
    model = ada.load(urdf(SPRING + PLUGIN + BALL))
    for one in (model, ada.load(render(model, "loop_joint").texts[".urdf"])):
        assert (one.joints["j"].stiffness, one.joints["j"].rest) == (7.0, 0.5)
        assert (one.joints["k"].mimic.joint, one.joints["k"].mimic.multiplier) == ("j", -2.0)
        assert len(one.loops) == 1


def test_a_mimic_plugin_of_gazebo_in_sdf_leaves_its_follower_without_a_motor():
    links = '<link name="c"/><link name="d"/>'
    ends = "<parent>a</parent><child>{}</child><axis><xyz>0 0 1</xyz></axis></joint>"
    follower = '<joint name="k" type="revolute">' + ends.format("c")
    passive = '<joint name="p" type="revolute" ada:actuated="false">' + ends.format("d")
    plugin = PLUGIN.removeprefix("<gazebo>").removesuffix("</gazebo>")
    text = sdf(links + follower + passive + plugin).replace("<sdf", '<sdf xmlns:ada="ada_dynamics"')
    assert ada.load(text).actuated == ("j",)


CLOSING = "".join(
    link(f"closing_x_{i}") + joint(f"f{i}", "fixed", end, f"closing_x_{i}") for i, end in ((1, "b"), (2, "c"))
)
LOST = {
    "bushing": (urdf("<drake:linear_bushing_rpy/>"), "not-modelled"),
    "gravity": (urdf('<gazebo reference="b"><turnGravityOff>true</turnGravityOff></gazebo>'), "no-gravity"),
    "decay": (urdf('<gazebo reference="b"><dampingFactor>0.2</dampingFactor></gazebo>'), "decay"),
    "plugin": (urdf(PLUGIN.replace(">k<", ">x<")), "unknown-joint"),
    "onshape": (urdf(CLOSING), "loop-not-closed"),
    "newer mjcf": ("<mujoco>\n<worldbody><body><joint newthing='1'/><geom size='1'/></body></worldbody></mujoco>",
                   "unknown-attribute"),
}  # fmt: skip


@pytest.mark.parametrize("what", LOST)
def test_what_the_model_cannot_hold_is_a_warning_of_load_and_check_with_its_line(what, caplog):
    text, code = LOST[what]
    ada.load(text)
    assert [record.levelname for record in caplog.records if "line 2" in record.message] == ["WARNING"]
    assert [f.line for f in check(text).warnings if f.code == code] == [2]


def test_closing_frames_that_a_loop_joins_are_no_warning(caplog):
    ends = {"parent": {"link": "closing_x_1"}, "child": {"link": "closing_x_2"}}
    assert ada.load(urdf(CLOSING), loops=[{"name": "x", "type": "spherical", **ends}]).loop_names == ["x"]
    assert not caplog.records
