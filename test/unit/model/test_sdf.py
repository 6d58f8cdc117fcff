# SPDX-License-Identifier: Apache-2.0
"""SDFormat is read as its specification says: poses relative to frames, joints as a graph, loops closed at zero."""

import numpy as np
import pytest
from loop_robots import rotation
from refused import damaged, refusal
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.robots.writers.draft import numbers
from ada_dynamics.spatial.orientation import to_rpy


def sdf(content, version="1.9", model='name="m"'):
    return f'<sdf version="{version}"><model {model}>{content}</model></sdf>'


def link(name, pose="", extra=""):
    return f'<link name="{name}"><pose {extra}>{pose}</pose></link>'


def joint(name, kind, parent, child, inner="<axis><xyz>0 1 0</xyz></axis>", pose=""):
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}<pose>{pose}</pose>{inner}</joint>'


# --- poses ------------------------------------------------------------------------------------------------------
def rigid(R, p):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def text_of(X):
    return numbers([*X[:3, 3], *to_rpy(X[:3, :3])])


@pytest.mark.parametrize("seed", range(3))
def test_links_and_joints_anywhere_move_as_the_specification_says(seed):
    """All poses are in the model's frame, and joints off their links, as in files before SDFormat 1.7.

    A link moves with its joint: X = X_parent (X_parent0⁻¹ X_joint0) motion(q) (X_joint0⁻¹ X_0).
    """
    rng = np.random.default_rng(seed)
    X0 = {name: rigid(rotation(rng), rng.normal(size=3)) for name in "abcd"}
    parents = {"a": "world", "b": "a", "c": "b", "d": "a"}
    kinds = {"a": "revolute", "b": "prismatic", "c": "continuous", "d": "revolute"}
    in_child = {name: rigid(rotation(rng), rng.normal(size=3)) for name in "abcd"}
    axes = {name: rng.normal(size=3) for name in "abcd"}
    masses = {name: (rng.uniform(1, 2), rigid(rotation(rng), rng.normal(size=3))) for name in "abcd"}
    content = ""
    for name in "abcd":
        m, C = masses[name]
        inertial = f"<inertial><pose>{text_of(C)}</pose><mass>{m!r}</mass></inertial>"
        content += f'<link name="{name}"><pose>{text_of(X0[name])}</pose>{inertial}</link>'
        axis = f"<axis><xyz>{numbers(axes[name])}</xyz></axis>"
        content += joint(f"j{name}", kinds[name], parents[name], name, axis, text_of(in_child[name]))
    model = ada.load(sdf(content))
    dynamics = ada.Dynamics(model, algorithm="crba")
    q = rng.normal(size=4)
    X = {"world": np.eye(4)}
    for name in "abcd":
        J0 = X0[name] @ in_child[name]
        angle, a = q[model.q_index(f"j{name}")][0], axes[name] / np.linalg.norm(axes[name])
        motion = (
            rigid(np.eye(3), angle * a)
            if kinds[name] == "prismatic"
            else rigid(Rotation.from_rotvec(angle * a).as_matrix(), np.zeros(3))
        )
        base = X[parents[name]] @ np.linalg.inv(X0.get(parents[name], np.eye(4)))
        X[name] = base @ J0 @ motion @ np.linalg.inv(J0) @ X0[name]
        np.testing.assert_allclose(dynamics.pose(name, q), X[name], atol=1e-13)
    centre = sum(m * (X[name] @ C[:, 3])[:3] for name, (m, C) in masses.items()) / sum(m for m, _ in masses.values())
    np.testing.assert_allclose(dynamics.com(q), centre, atol=1e-13)


def test_angles_may_be_degrees_or_a_quaternion():
    for extra, values in (
        ('degrees="true"', "0 0 0 0 0 90"),
        ('rotation_format="quat_xyzw"', "0 0 0 0 0 0.7071067811865476 0.7071067811865476"),
    ):
        content = (
            link("a")
            + link("b", values, extra)
            + joint("w", "fixed", "world", "a", "")
            + joint("j", "revolute", "a", "b")
        )
        np.testing.assert_allclose(ada.load(sdf(content)).joints["j"].rotation[0], [0, -1, 0], atol=1e-15)


def test_axes_may_be_expressed_in_another_frame():
    turn = "0 0 0 0 0 1.5707963267948966"
    axis = '<axis><xyz expressed_in="{}">1 0 0</xyz></axis>'
    base = link("a") + link("b", turn)
    for frame, expected in (("__model__", [0, -1, 0]), ("a", [0, -1, 0]), ("b", [1, 0, 0]), ("j", [1, 0, 0])):
        model = ada.load(sdf(base + joint("j", "revolute", "a", "b", axis.format(frame))))
        np.testing.assert_allclose(model.joints["j"].axis, expected, atol=1e-15)
    old = base + joint("j", "revolute", "a", "b", "<axis><xyz>1 0 0</xyz></axis>")
    flag = old.replace("<xyz>", "<use_parent_model_frame>1</use_parent_model_frame><xyz>")
    for text, version in ((flag, "1.5"), (old, "1.4")):  # the frame of the model is the default of version 1.4
        np.testing.assert_allclose(ada.load(sdf(text, version)).joints["j"].axis, [0, -1, 0], atol=1e-15)


def test_inertias_are_turned_with_their_pose_and_a_link_that_says_nothing_has_unit_mass():
    moments = "<ixx>3</ixx><iyy>4</iyy><izz>5</izz><ixy>0.1</ixy>"
    inertial = f"<pose>1 2 3 0.1 0.2 0.3</pose><mass>2</mass><inertia>{moments}</inertia>"
    said = ada.load(sdf(f'<link name="a"><inertial>{inertial}</inertial></link>')).links["a"]
    I = np.array([[3, 0.1, 0], [0.1, 4, 0], [0, 0, 5.0]])
    R = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
    np.testing.assert_allclose(said.inertia, R @ I @ R.T, atol=1e-14)
    np.testing.assert_array_equal(said.com, [1, 2, 3])
    unsaid = ada.load(sdf(link("a"))).links["a"]
    assert unsaid.mass == 1.0
    np.testing.assert_array_equal(unsaid.inertia, np.eye(3))


def test_limits_dissipation_and_mimics_are_read():
    limits = "<limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort><velocity>3</velocity></limit>"
    spring = "<spring_reference>0.3</spring_reference><spring_stiffness>7</spring_stiffness>"
    more = f"<dynamics><damping>0.5</damping><friction>0.25</friction>{spring}</dynamics>"
    mimic = '<mimic joint="j"><multiplier>2</multiplier><offset>3</offset><reference>0.5</reference></mimic>'
    content = link("a") + link("b") + link("c")
    content += joint("j", "revolute", "a", "b", f"<axis><xyz>0 0 1</xyz>{limits}{more}</axis>")
    content += joint("k", "revolute", "b", "c", f"<axis><xyz>0 0 1</xyz>{mimic}</axis>")
    model = ada.load(sdf(content, "1.11"))
    j = model.joints["j"]
    assert (j.limits.lower, j.limits.upper, j.limits.effort, j.limits.velocity) == (-1, np.inf, np.inf, 3)
    assert (j.damping, j.friction) == (0.5, 0.25)
    assert (j.stiffness, j.rest) == (7.0, 0.3)
    # follower = 2 (leader - 0.5) + 3
    assert (model.joints["k"].mimic.multiplier, model.joints["k"].mimic.offset) == (2.0, 2.0)


AXIS = "<axis><xyz>0 0 1</xyz></axis>"


@pytest.mark.parametrize("turn", [0.5, -0.25])
def test_a_screw_has_its_pitch_in_metres_per_turn(turn):
    inner, pitch = f"<screw_thread_pitch>{turn}</screw_thread_pitch>", turn / (2 * np.pi)
    model = ada.load(sdf(link("a") + link("b") + joint("j", "screw", "a", "b", AXIS + inner), "1.10"), base="fixed")
    assert model.joints["j"].kind == "helical"
    assert model.joints["j"].constants["pitch"] == pytest.approx(pitch, rel=1e-15)
    pose = ada.Dynamics(model).pose("b", [2.0])
    np.testing.assert_allclose(pose[:3, 3], [0.0, 0.0, 2.0 * pitch], atol=1e-16)
    np.testing.assert_allclose(pose[:2, :2], [[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]], atol=1e-15)


# --- graphs -----------------------------------------------------------------------------------------------------
FOUR_BAR = (
    link("left")
    + link("top", "0 0 1 0 1.5707963267948966 0")
    + link("right", "1 0 0 0 0 0")
    + joint("base_left", "revolute", "world", "left")
    + joint("left_top", "revolute", "left", "top")
    + joint("base_right", "revolute", "world", "right")
    + joint("top_right", "revolute", "top", "right", pose="0 0 1 0 0 0")
)


def test_the_later_joint_of_a_link_with_two_parents_closes_a_loop():
    model = ada.load(sdf(FOUR_BAR))
    assert model.joint_names == ["base_left", "left_top", "base_right"]
    loop = model.loops["top_right"]
    assert (loop.kind, loop.parent, loop.child) == ("revolute", "top", "right")
    # One metre along z in the right link is the end of the top one, whose z axis lies along the model's x.
    np.testing.assert_allclose(loop.child_xyz, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(loop.parent_xyz, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(loop.parent_rotation @ loop.axis, [0, 1, 0], atol=1e-15)


def test_a_joint_that_asks_for_it_is_the_one_that_is_cut():
    cut = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics></joint>"
    head, tail = FOUR_BAR.split('<joint name="base_right"')
    model = ada.load(sdf(head + '<joint name="base_right"' + tail.replace("</joint>", cut, 1)))
    assert (model.joint_names, model.loop_names) == (["base_left", "left_top", "top_right"], ["base_right"])


@pytest.mark.parametrize(
    ("links", "joints", "model", "root", "cut"),
    [
        ("abc", ("bc", "cb", "ab"), 'name="m"', "a", "cb"),  # the first parents of b and c are each other
        ("ab", ("ab", "ba"), 'name="m"', "a", "ba"),
        ("ab", ("ab", "ba"), 'name="m" canonical_link="b"', "b", "ab"),
    ],
    ids=["joints in an odd order", "a ring", "a ring with a canonical link"],
)
def test_a_graph_is_not_torn_apart_and_starts_from_its_root(links, joints, model, root, cut):
    content = "".join(map(link, links)) + "".join(joint(name, "revolute", *name) for name in joints)
    found = ada.load(sdf(content, model=model), base="fixed")
    assert (found.root, found.loop_names) == (root, [cut])
    assert sorted(found.joint_names) == sorted(set(joints) - {cut})


def test_a_joint_whose_child_is_reached_first_is_reversed():
    content = "".join(map(link, "abc")) + joint("ab", "revolute", "a", "b")
    content += joint("cb", "revolute2", "c", "b", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>")
    model = ada.load(sdf(content), base="fixed")
    assert [(j.parent, j.child) for j in (model.joints["ab"], model.joints["cb"])] == [("a", "b"), ("b", "c")]
    b_in_c = np.linalg.inv(ada.Dynamics(model).pose("c", [0.0, 0.3, -0.4]))[:3, :3]
    np.testing.assert_allclose(b_in_c, Rotation.from_euler("XY", [-0.4, 0.3]).as_matrix(), atol=1e-15)


def test_a_model_without_a_joint_to_the_world_floats():
    content = link("a") + link("b") + joint("j", "revolute", "a", "b")
    assert [ada.load(sdf(content), base=base).nq for base in (None, "floating", "fixed")] == [8, 8, 1]
    assert ada.load(sdf("<static>true</static>" + content)).nq == 1
    refusal(sdf(FOUR_BAR), "defines the base itself", error=ada.InputError, base="floating")


def test_a_model_may_stand_in_a_world_with_gravity_and_a_pose():
    text = sdf("<pose>0 0 5 0 0 0</pose>" + link("a") + joint("j", "fixed", "world", "a", ""))
    text = text.replace("<model", '<world name="w"><gravity>0 0 -1.6</gravity><model').replace(
        "</model>", "</model></world>"
    )
    model = ada.load(text)
    assert model.gravity == (0, 0, -1.6)
    np.testing.assert_array_equal(model.joints["j"].xyz, [0, 0, 5])
    # SDFormat's own default
    assert ada.load(text.replace("<gravity>0 0 -1.6</gravity>", "")).gravity == (0, 0, -9.8)


# --- mistakes ---------------------------------------------------------------------------------------------------
GOOD = "\n".join([link("a"), link("b"), joint("j", "revolute", "a", "b"), ""])
MISTAKES = {
    "type": ('type="revolute"', 'type="revolt"', "joint 'j'", "Did you mean 'revolute'"),
    "screw": ('type="revolute"', 'type="screw"', "joint 'j'", "screw"),
    "gearbox": ('type="revolute"', 'type="gearbox"', "joint 'j'", "<mimic>"),
    "parent": ("<parent>a", "<parent>aa", "no link or frame is named 'aa'"),
    "no_child": ("<child>b</child>", "", "joint 'j'", "no <child>"),
    "child_world": ("<child>b", "<child>world", "joint 'j'", "Exchange parent and child"),
    "no_axis": ("<axis><xyz>0 1 0</xyz></axis>", "", "joint 'j'", "no <axis>"),
    "pose": ("<pose ></pose></link>", "<pose>0 0 1</pose></link>", "link 'a'", "3 numbers instead of 6"),
    "pose_circle": ("<pose ></pose></link>", '<pose relative_to="a">1 0 0 0 0 0</pose></link>', "cycle"),
    "spring": ("</xyz>", "</xyz><dynamics><spring_stiffness>-1</spring_stiffness></dynamics>", "joint 'j'", "-1"),
    "include": ('<link name="a">', '<include/><link name="a">', "model 'm'", "gz sdf -p"),
    "screw_zero": ('"revolute">', '"screw"><screw_thread_pitch>0</screw_thread_pitch>', "joint 'j'", "pitch is 0"),
    "two_roots": ('<link name="a">', '<link name="z"/><link name="a">', "2 links have no parent"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_with_line_and_name(mistake):
    old, new, *said = MISTAKES[mistake]
    refusal(sdf("\n" + damaged(GOOD, old, new)), "line ", *said)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<sdf version="1.9"/>', "without a <model>"),
        ('<sdf version="1.9"><model name="a"/><model name="b"/></sdf>', "2 models"),
        ('<sdf version="0.9"><model name="a"/></sdf>', "version='0.9'"),
    ],
)
def test_documents_without_exactly_one_model_of_a_known_version_are_refused(text, message):
    refusal(text, message)


def test_a_loop_joint_with_dissipation_is_refused():
    damped = FOUR_BAR[::-1].replace("</xyz>"[::-1], "</xyz><dynamics><damping>1</damping></dynamics>"[::-1], 1)[::-1]
    refusal(sdf(damped), "joint 'top_right'", "must_be_loop_joint")
