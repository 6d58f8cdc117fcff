# SPDX-License-Identifier: Apache-2.0
"""Loops, ties, springs and loads in the spellings of Drake, Gazebo and Onshape are read, or left out with a warning."""

import pytest

import ada_dynamics as ada
from ada_dynamics.robots.check import check
from ada_dynamics.robots.writers import render

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name):
    return f'<link name="{name}">{INERTIAL}</link>'


def joint(name, kind, parent, child):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'


def urdf(more):
    tree = "".join(map(link, "abc")) + joint("j", "continuous", "a", "b") + joint("k", "continuous", "a", "c")
    return f'<robot name="r" xmlns:drake="d">{tree}\n{more}</robot>'


def sdf(more, inside=""):
    axis = f"<axis><xyz>0 0 1</xyz></axis>{inside}</joint>"
    tree = f'<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}'
    return f'<sdf version="1.9"><model name="m">{tree}{more}</model></sdf>'


@pytest.mark.parametrize("tag", ["joint", "ball_constraint", "mimic"])
def test_joints_and_loops_of_drake_are_refused_with_their_line(tag):
    for text in (urdf(f"<drake:{tag}/>"), sdf(f"<drake:{tag}/>"), sdf("", f"<drake:{tag}/>")):
        with pytest.raises(ada.ModelError) as refused:
            ada.load(text)
        assert refused.value.line == (2 if text.startswith("<robot") else 1)


SPRING = '<gazebo reference="j"><springStiffness>7</springStiffness></gazebo>'
PLUGIN = "<gazebo><plugin><joint>j</joint><mimicJoint>k</mimicJoint><multiplier>-2</multiplier></plugin></gazebo>"


def test_mimic_plugins_of_gazebo_are_read_and_written_once():
    model = ada.load(urdf(PLUGIN))
    for one in (model, ada.load(render(model, "loop_joint").texts[".urdf"])):
        assert (one.joints["k"].mimic.joint, one.joints["k"].mimic.multiplier) == ("j", -2.0)


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
    "rotor in sdf": (sdf("", "\n<drake:rotor_inertia>0.5</drake:rotor_inertia>"), "not-modelled"),
    "spring": (urdf(SPRING), "spring"),
    "gravity": (urdf('<gazebo reference="b"><turnGravityOff>true</turnGravityOff></gazebo>'), "no-gravity"),
    "decay": (urdf('<gazebo reference="b"><dampingFactor>0.2</dampingFactor></gazebo>'), "decay"),
    "plugin": (urdf(PLUGIN.replace(">k<", ">x<")), "unknown-joint"),
    "onshape": (urdf(CLOSING), "loop-not-closed"),
    "newer mjcf": ("<mujoco>\n<worldbody><body><joint newthing='1'/><geom size='1'/></body></worldbody></mujoco>",
                   "unknown-attribute"),
    "free friction": ("<mujoco><worldbody><body>\n<joint type='free' frictionloss='0.3'/><geom size='1'/></body>"
                      "</worldbody></mujoco>", "free-friction"),
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
