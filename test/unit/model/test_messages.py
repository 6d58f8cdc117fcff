# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Refusals of models, edits, mechanisms and files name the joint, link, loop or argument, and what is allowed."""

import math
from importlib.util import find_spec

import numpy as np
import pytest
from loop_robots import mechanism

import ada_dynamics as ada
from ada_dynamics.model import Builder, Limits, Shape, edit, planar_chain
from ada_dynamics.model.edit.adjustable import adjustable
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.catalogue import entry
from ada_dynamics.robots.load import with_loops
from ada_dynamics.robots.writers import render, write

NAN = math.nan
XACRO = pytest.mark.skipif(find_spec("xacro") is None, reason="needs xacro")


def joint(kind="revolute", **values):
    return Builder("r").joint("j", kind, "a", "b", **values)


def pair(kind, names=("a", "b"), name="j", **values):
    return Builder("r").link(names[0]).link(names[1], 1.0, inertia=(1, 1, 1)).joint(name, kind, *names, **values)


def floating_in_mujoco(parent="base", **values):
    robot = Builder("r").link("base", 1.0).link("arm", 1.0, inertia=(1, 1, 1)).link("plate", 2.0, inertia=(1, 2, 3))
    robot.joint("j", "continuous", "base", "arm").joint("free", "floating", parent, "plate", **values)
    return render(robot.build(), "mjcf")


def motor(name):
    builder = pair("revolute", name="elbow").link("tool", 1.0).joint("weld", "fixed", "b", "tool")
    return builder.actuated([name]).build()


STEWART = mechanisms.stewart()
NO_SCREW = "Joint 'j' is helical: .*keep its SDFormat file"
LARGE = 1.7e308  # the largest numbers are finite; the sum of two is not
ROWS = {
    "builder": [
        (lambda: Builder("r").link("a", com=(0, 1)), "com of link 'a'"),
        (lambda: joint(xyz=(LARGE, LARGE, NAN)), "xyz of joint 'j'"),
        *((lambda R=R: joint(rotation=R), "rotation of joint 'j'") for R in (NAN * np.eye(3), 2 * np.eye(3), -np.eye(3), np.eye(2))),
        (lambda: joint(damping="much"), "damping of joint 'j' is much; it must be a finite number"),
        (lambda: joint(limits=Limits(upper=NAN)), "upper limit of joint 'j' is nan; it must be a number, or inf"),
        (lambda: joint(limits=(-1.0, 1.0)), r"limits of joint 'j' is \(-1.0, 1.0\); use a Limits"),
        (lambda: joint(mimic="k"), "mimic of joint 'j' is 'k'; use a Mimic"),
        *((lambda k=k: pair(k, limits=Limits(-0.2, 0.3)), f"joint 'j' is {k} and has the limits") for k in ("continuous", "cylindrical", "universal", "planar", "spherical_euler", "floating")),
        *((lambda k=k, c=c: pair(k, **c), message) for k, c, message in [
            ("screw", {"pitch": 0.0}, "'j': its pitch is 0 m/rad; .* is revolute"),
            ("helical", {"pitch": math.inf}, "pitch of joint 'j' is inf"),
            ("helical", {"pitch": 0.1, "lead": 0.1}, "'j' is helical, which needs pitch; given: pitch, lead"),
            ("revolute", {"pitch": 0.1}, "'j' is revolute, which has no constants; given: pitch"),
        ]),
        (lambda: motor("welt"), "no joint is named 'welt'. Known: elbow. "),
        (lambda: Builder("m").link("a", visuals=["ball"]), "visuals of link 'a' have 'ball'"),
    ],
    "total rotation": [
        (lambda: pair("spherical", limits=Limits(0.5, 1.0)), r"spherical and has the limits \[0.5, 1\]"),
    ],
    "shapes": [
        *((lambda args=args: Shape(*args), message) for args, message in [
            (("cone", (1, 2)), "no kind of shape is named 'cone'"),
            (("box", (1, 2)), r"size=\(1, 2\); it must be 3 numbers \(x, y, z\)"),
            (("box", (1, 2, -3)), "none may be negative"),
            (("sphere", (NAN,)), "it must be 1 numbers"),
            (("mesh",), "only a mesh has a file, and it needs one"),
            (("sphere", (1,), (0, 0)), "xyz"),
            (("sphere", (1,), (0, 0, 0), np.ones((3, 3))), "rotation"),
            (("sphere", (1,), (0, 0, 0), np.eye(3), (1, 0, 0)), "rgba"),
        ]),
    ],
    "edit": [
        (lambda: adjustable(planar_chain(1), ["joint_1.w"]), "no geometric parameter is named 'joint_1.w'"),
        *((lambda at=at: edit.lock(STEWART.model, at), message) for at, message in [
            ({"leg_1_slid": 0.1}, "no joint is named 'leg_1_slid'.*Did you mean 'leg_1_slide'"),
            ({"leg_1_slide": [0.1, 0.2]}, "'leg_1_slide' is .* must be 1 finite number"),
            ({"leg_1_hip": 0.1}, "'leg_1_hip' is 0.1; it must be 2 finite number"),
            ({"platform": [0, 0, 0, 1, 1, 0, 0]}, "'platform': its quaternion .* has length"),
            (["leg_1_slide"], r"positions are \['leg_1_slide'\]; lock needs a mapping"),
        ]),
        (lambda: edit.lock(mechanism("parallel_gripper").model, {"right_drive": 0}), "mimics 'left_drive'"),
        (lambda: edit.reduce(STEWART.model, ["platform"], q=np.zeros(3)), r"q has shape \(3,\)"),
        (lambda: edit.open_loops(STEWART.model, ["leg_7_ball"]), "no loop is named 'leg_7_ball'"),
        (lambda: edit.merge(STEWART.model, STEWART.model, "platform"), "both models have a link named 'base'.*prefix='stewart_'"),
        (lambda: edit.merge(STEWART.model, planar_chain(1, gravity=(0, 0, 0)), "base"), "both must be equal.*with_gravity"),
        (lambda: edit.merge(STEWART.model, ada.load("two_feet"), "base", prefix="h_"), "'left_foot' joins 'two_feet'"),
        (lambda: edit.merge(STEWART.model, planar_chain(1), "base", prefix="c_", kind="hinge"), "joint type"),
        (lambda: with_loops(mechanisms.four_bar().model, [{"name": "closing", "type": "fixed", "parent": {"link": "base"}, "child": {"link": "link_1"}}]), "has a loop 'closing' already"),
        (lambda: with_loops(planar_chain(2), [{"name": "lost", "type": "spherical", "parent": {"link": "nowhere"}, "child": {"link": "base"}}]), "nowhere"),
    ],
    "mechanisms": [
        (lambda: mechanisms.four_bar((1.0, 1.0, 1.0, -1.0)), "lengths is .* positive"),
        (lambda: mechanisms.four_bar((1.0, 0.1, 0.1, 1.0)), "four-bar linkage cannot be closed"),
        (lambda: mechanisms.five_bar(tip=(3.0, 0.0)), "left arm of the five-bar linkage cannot be closed"),
        (lambda: mechanisms.hexa(position=(0, 0, -2)), "leg 'leg_1' cannot be closed"),
        (lambda: mechanisms.ladder(0), "a ladder needs at least one cell"),
    ],
    "catalogue": [
        (lambda: entry("pa11"), "pa10_7c"),
        (lambda: ada.load("four_bar", mappings={"length": 2}), "four_bar is not made from a xacro file"),
    ],
    "writers": [
        *((lambda spelling=spelling: render(pair("screw", pitch=0.01).build(), spelling), NO_SCREW) for spelling in ("constraint", "mjcf")),
        (lambda: render(pair("spherical_euler").build(), "constraint"), "Joint 'j' is spherical_euler: make it spherical"),
        (lambda: render(pair("floating_euler").build(), "mjcf"), "Joint 'j' is floating_euler: make it floating"),
        (lambda: render(pair("continuous").build(base="floating_euler"), "mjcf"), "Joint 'root_joint' is floating_euler: make it floating"),
        (lambda: render(pair("continuous", ("a", "world")).build(), "mjcf"), "Link 'world' is not the world"),
        (lambda: render(Builder("r").link("base", 1.0).link("tip").joint("j", "continuous", "base", "tip").build(), "mjcf"), "Link 'tip' moves"),
        *((lambda values=values: floating_in_mujoco(**values), f"Joint 'free' is floating .*{message}") for values, message in [
            ({"xyz": (0, 0, 1)}, "not at the origin"), ({"parent": "arm"}, "on a link that moves"),
        ]),
        (lambda: render(Builder("r").link("a\x00b").build(), "constraint"), "a character that XML does not allow"),
        (lambda: render(planar_chain(1), "loopjoint"), "Did you mean 'loop_joint'"),
        (lambda: write(planar_chain(1), "/nowhere/robot.urdf", "constraint"), "cannot be written"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"), [pytest.param(*row, id=f"{area}-{i}") for area, rows in ROWS.items() for i, row in enumerate(rows)]
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(call, message):
    with pytest.raises(ada.AdaError, match=message):
        call()


@XACRO
@pytest.mark.parametrize(
    ("name", "mappings", "message"),
    [
        ("pa10", {"lengths": "other"}, "argument lengths is 'other'; allowed"),
        ("pa10", {"inertia": "other"}, "argument inertia is 'other'; allowed"),
        ("branch_5r", {"links": 6}, "links is 6; allowed: 4 5"),
    ],
)
def test_an_unknown_choice_of_a_xacro_file_is_refused_with_the_known_ones(name, mappings, message):
    with pytest.raises(ada.ModelError, match=message):
        ada.load(name, mappings=mappings)
