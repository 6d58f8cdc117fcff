# SPDX-License-Identifier: Apache-2.0
"""A model that is written reads back as it was, to rounding; what a spelling cannot say is refused."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loop_robots import ROUNDING, TREE_KINDS, assert_same_description, assert_same_tree, random_robot, rotation

import ada_dynamics as ada
from ada_dynamics.model import Builder
from ada_dynamics.model.edit import split_universals
from ada_dynamics.robots.readers.urdf_loops import KINDS
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, render, write
from ada_dynamics.robots.writers.draft import number
from ada_dynamics.robots.writers.urdf import to_data, to_yaml
from ada_dynamics.simulation.record.recorder import description
from ada_dynamics.spatial.orientation import to_quaternion, to_rpy
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy

seeds = st.integers(0, 2**32 - 1)
quickly = settings(max_examples=8, deadline=None)


# --- round trips ------------------------------------------------------------------------------------------------
URDF_TREE = ("revolute", "continuous", "prismatic", "fixed")
PLUS_LOOPS = ("revolute", "prismatic", "planar", "fixed")
# Kinds of loops and of joints, and bases, that a spelling has; how far a reading may be off, None: as the description.
SAID = {
    "constraint": (KINDS, TREE_KINDS, ("fixed", "floating", "floating_euler"), None),
    "loop_joint": (KINDS, TREE_KINDS, ("fixed", "floating", "floating_euler"), None),
    "urdf_plus": (PLUS_LOOPS, TREE_KINDS, ("fixed",), None),
    # an axis goes through two points 0.1 m apart, which costs a digit
    "mjcf": (("revolute", "spherical", "fixed"), (*URDF_TREE, "spherical"), ("fixed", "floating"), 10 * ROUNDING),
}


@pytest.mark.parametrize("spelling", SAID)
@given(seed=seeds)
@quickly
def test_a_model_that_is_written_reads_back_as_it_was(spelling, seed):
    loops, joints, bases, tolerance = SAID[spelling]
    base = bases[seed % len(bases)]
    model = random_robot(seed, loops, joints, base)
    text, *beside = render(model, spelling).texts.values()
    options = {"loops": pytest.importorskip("yaml").safe_load(beside[0])} if beside else {}
    back = ada.load(text, "fixed" if spelling == "mjcf" else base, **options)
    if tolerance is None:
        assert_same_description(model, back)
    else:
        assert_same_tree(model, back, tolerance)
        assert back.actuated == model.actuated


@pytest.mark.parametrize("ending", [".urdf", ".loops.yaml", ".yml", ".json"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_sidecar_reads_back_as_it_was_under_any_name(seed, ending, tmp_path):
    model = random_robot(seed)
    tree = write(model, tmp_path / "tree.urdf", "sidecar")[0]
    files = write(model, tmp_path / f"own{ending}", "sidecar")
    assert [file.name for file in files] == (["own.urdf", "own.loops.yaml"] if ending == ".urdf" else [f"own{ending}"])
    assert_same_description(model, ada.load(tree, loops=files[-1]))


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_reads_the_same_robot_from_the_urdf(seed):
    pin = pytest.importorskip("pinocchio")
    model = random_robot(seed, KINDS, tree_kinds=("revolute", "continuous", "prismatic", "fixed"), extras=False)
    theirs = pin.buildModelFromXML(render(model, "loop_joint").texts[".urdf"])
    assert list(theirs.names)[1:] == model.joint_names
    q = np.random.default_rng(seed).normal(size=model.nq)
    full = []
    for name, value in zip(model.joint_names, q, strict=True):  # a continuous joint is cos and sin there
        full += [np.cos(value), np.sin(value)] if model.joints[name].kind == "continuous" else [value]
    M = pin.crba(theirs, theirs.createData(), np.array(full))
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(ada.Dynamics(model, algorithm="crba").mass_matrix(q), M, atol=1e-12 * np.abs(M).max())


NAMES = ["on", "1.5", "a: b", "- x", "é°", "'\"\\", "tab\there", " lead", "null", "#c", "日本", "{a}", "line\nend"]
NAMES.append("x" * 300)


def test_names_with_any_character_survive():
    robot = Builder('<&>"').link("base")
    for i, name in enumerate(NAMES):
        robot.link(name, 1.0, inertia=(1, 1, 1)).joint(
            f"j {name}", "continuous", "base" if i == 0 else NAMES[i - 1], name
        )
    for name in NAMES[1:]:
        robot.loop(f"l {name}", "spherical", NAMES[0], name)
    model = robot.actuated([f"j {NAMES[0]}"]).build()
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(to_yaml(model)) == to_data(model)
    assert_same_description(model, ada.load(render(model, "constraint").texts[".urdf"]))
    assert ada.load(render(model, "mjcf").texts[".xml"]).loop_names == model.loop_names


# --- numbers ----------------------------------------------------------------------------------------------------
@given(seed=seeds, pitch=st.sampled_from([None, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, np.pi / 2 - 1e-5]))
@quickly
def test_orientations_keep_their_digits_at_gimbal_lock_too(seed, pitch):
    transforms3d = pytest.importorskip("transforms3d")
    rng = np.random.default_rng(seed)
    R = rotation(rng)
    if pitch is not None:
        R = np.array(from_rpy(rng.uniform(-3, 3), pitch, rng.uniform(-3, 3)))
    np.testing.assert_allclose(np.array(from_rpy(*to_rpy(R))), R, atol=ROUNDING)
    np.testing.assert_allclose(transforms3d.euler.euler2mat(*to_rpy(R), axes="sxyz"), R, atol=ROUNDING)
    w, x, y, z = to_quaternion(R)
    np.testing.assert_allclose(np.array(from_quaternion(x, y, z, w)), R, atol=ROUNDING)
    np.testing.assert_allclose(transforms3d.quaternions.quat2mat((w, x, y, z)), R, atol=ROUNDING)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e22)  # `repr` gives it no point
@example(-0.0)
def test_numbers_read_back_as_the_same_float_everywhere(value):
    yaml = pytest.importorskip("yaml")
    assert float(number(value)) == value
    assert float(yaml.safe_load(number(value))) == value


# --- what a URDF has besides ------------------------------------------------------------------------------------
RICH = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><visual><geometry><mesh filename="package://p/a.stl"/></geometry></visual></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 2 3"/></geometry></collision></link>
<joint name="j" type="continuous" tag="x"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit effort="5" velocity="2" acceleration="7"/><dynamics damping="0.1" backlash="0.2"/><calibration rising="0.5"/>
<safety_controller k_velocity="2"/></joint>
<transmission name="t"><type>x/Simple</type><joint name="j"/><actuator name="m">
<drake:rotor_inertia value="0.5"/><mechanicalReduction>3</mechanicalReduction></actuator></transmission>
<gazebo><plugin filename="p.so"/><joint name="l" type="ball"><parent>a</parent><child>b</child></joint></gazebo>
<loop_joint name="k" type="spherical"><link1 link="a"/><link2 link="b"/></loop_joint></robot>"""


def test_looks_and_the_like_of_the_urdf_it_was_read_from_are_kept():
    model = ada.load(RICH)
    text = render(model, "constraint").texts[".urdf"]
    root = ElementTree.fromstring(text.replace("drake:", "drake_"))
    assert root.find("link[@name='a']/visual/geometry/mesh").get("filename") == "package://p/a.stl"
    assert root.find("link[@name='b']/collision/geometry/box") is not None
    assert root.find("material/color").get("rgba") == "1 0 0 1"
    assert root.find("transmission/actuator/mechanicalReduction").text == "3"
    assert root.find("gazebo/plugin") is not None
    assert root.find("joint/calibration").get("rising") == "0.5"
    assert root.find("joint/safety_controller").get("k_velocity") == "2"
    assert root.find("joint").get("tag") == "x"
    assert root.find("joint/limit").attrib == {"effort": "5", "velocity": "2", "acceleration": "7"}
    assert root.find("joint/dynamics").attrib == {"damping": "0.1", "armature": "0.5", "backlash": "0.2"}
    assert [root.find(f".//{tag}") for tag in ("loop_joint", "gazebo/joint", "drake_rotor_inertia")] == [None] * 3
    again = ada.load(text)
    assert_same_description(model, again)
    assert again.joints["j"].armature == 0.5
    (note,) = (note for note in render(ada.load(RICH), "mjcf").notes if "no part of a model" in note)
    for part in ("<transmission>", "<gazebo>", "<calibration>", "acceleration of <limit>", "backlash of <dynamics>"):
        assert part in note


def test_what_a_spelling_has_no_place_for_is_noted():
    text = """<mujoco><worldbody><body name="a"><freejoint name="f"/><geom name="g" size="1" friction="2" margin="0.1"/>
    <body name="b"><joint name="h" type="ball"/><geom size="0.1"/></body></body></worldbody>
    <keyframe><key qpos="0 0 1 1 0 0 0 1 0 0 0"/></keyframe></mujoco>"""
    model = ada.load(text)
    assert model.has_home
    notes = " ".join(render(model, "constraint").notes)
    assert all(word in notes for word in ("initial configuration", "friction and margin"))
    read = ada.load(render(model, "mjcf").texts[".xml"])
    np.testing.assert_array_equal(read.home(), model.home())
    shape = read.links["a"].collisions[0]
    assert (shape.friction, shape.margin) == (2.0, 0.1)


# --- refusals ---------------------------------------------------------------------------------------------------
LACKS = {
    "constraint": ("helical",),
    "loop_joint": ("helical",),
    "urdf_plus": ("spherical", "universal", "cylindrical", "helical"),
    "mjcf": ("prismatic", "universal", "cylindrical", "planar", "helical"),
}


@pytest.mark.parametrize("spelling", LACKS)
def test_loops_that_a_spelling_lacks_are_refused_by_name_and_nothing_is_written(spelling, tmp_path):
    model = random_robot(7, tree_kinds=("revolute",), extras=False, closed=True)
    with pytest.raises(Inexpressible) as caught:
        write(model, tmp_path / "robot.urdf", spelling)
    for kind in LACKS[spelling]:
        assert any(f"Loop 'loop_{kind}' is {kind}" in reason and "sidecar" in reason for reason in caught.value.refused)
    assert len(caught.value.refused) == len(LACKS[spelling])
    assert list(tmp_path.iterdir()) == []


def pair(kind, joint="j", names=("a", "b"), **constants):
    """Two links and the joint between them."""
    return Builder("r").link(names[0], 1.0).link(names[1], 1.0).joint(joint, kind, *names, **constants)


def test_a_base_in_euler_angles_is_noted_where_the_base_is_not_written():
    model = pair("continuous").build(base="floating_euler")
    for spelling in ("sidecar", "constraint"):
        assert any("no floating base" in note for note in render(model, spelling).notes)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_gravity_is_written_or_noted(spelling, base, tmp_path, caplog):
    caplog.set_level("INFO", "ada_dynamics")
    for gravity in ((0.0, 0.0, -9.81), (0.0, 0.5, -1.62)):
        caplog.clear()
        model = pair("continuous").build(base, gravity)
        path, *_ = write(model, tmp_path / f"robot{next(iter(render(model, spelling).texts))}", spelling)
        again = ada.load(path, None if spelling == "mjcf" else base)
        is_noted = f"load the file with gravity={gravity}" in caplog.text
        assert (again.gravity == gravity) != is_noted
        assert is_noted == (path.suffix == ".urdf" and gravity[2] == -1.62)


# --- published description --------------------------------------------------------------------------------------------
URDF_1_0 = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}


def with_sidecar(name, tmp_path):
    """A robot of the catalogue, loaded from a plain URDF and a file of loops beside it."""
    texts = render(ada.load(name), "sidecar").texts
    files = {ending: tmp_path / f"{name}{ending}" for ending in texts}
    for ending, text in texts.items():
        files[ending].write_text(text, encoding="utf-8")
    (sidecar,) = (file for ending, file in files.items() if "yaml" in ending)
    return ada.load(files[".urdf"], loops=sidecar)


@pytest.mark.parametrize("name", ["delta", "five_bar", "stewart"])
def test_loops_and_motors_of_a_sidecar_are_in_the_published_description(name, tmp_path):
    model = with_sidecar(name, tmp_path)
    read = ada.load(description(model))
    assert read.loop_names == model.loop_names
    assert read.actuated == model.actuated
    assert read.joint_names == split_universals(model).joint_names
    text, loops = render(model, "sidecar").texts.values()
    motors = list(reversed(model.actuated))  # the order of a robot file is that of its joints
    reversed_motors = ada.load(text, loops={**pytest.importorskip("yaml").safe_load(loops), "actuated": motors})
    assert ada.load(description(reversed_motors)).actuated == tuple(motors)


@pytest.mark.parametrize(("name", "base"), [("five_bar", "fixed"), ("khr1", "fixed"), ("khr1", "floating")])
def test_a_file_that_says_all_is_published_as_it_is_whatever_its_base(name, base):
    model = ada.load(name, base=base)
    assert description(model) == model.source


@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "universal"])
def test_joints_that_urdf_lacks_are_published_in_types_that_every_reader_knows(kind):
    builder = ada.Builder("pair").link("base").link("arm", mass=1.0, inertia=np.eye(3))
    axes = {"spherical": {}, "cylindrical": {"axis": (0, 0, 1)}, "universal": {"axis": (0, 0, 1), "axis2": (0, 1, 0)}}
    model = builder.joint("joint", kind, "base", "arm", **axes[kind]).build()
    text = description(model)
    assert set(re.findall(r'<joint [^>]*\btype="(\w+)"', text)) <= URDF_1_0
    read = ada.load(text)
    assert (read.nq, read.nv) == (model.nq, model.nv)
    if kind != "universal":
        assert read.joints["joint"].kind == kind


@pytest.mark.parametrize("joints", [["universal"], ["revolute", "universal", "prismatic", "universal"]])
def test_universal_joints_move_as_two_revolute_joints_with_a_massless_cross(joints):
    rng = np.random.default_rng(3)
    builder, parent = ada.Builder("arm").link("base"), "base"
    for i, kind in enumerate(joints):
        builder.link(f"link_{i}", mass=1.0 + i, com=rng.normal(size=3), inertia=np.diag((1.0, 1.2, 0.9)))
        axes = {"axis": (0, 0.6, 0.8), "axis2": (1, 0, 0)} if kind == "universal" else {"axis": (0, 0, 1)}
        builder.joint(f"joint_{i}", kind, parent, f"link_{i}", xyz=rng.normal(size=3), **axes)
        parent = f"link_{i}"
    model = builder.build()
    plain = split_universals(model)
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    expected = ada.Dynamics(model).forward(q, v, tau)
    np.testing.assert_allclose(ada.Dynamics(plain).forward(q, v, tau), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ada.Dynamics(plain).pose(parent, q), ada.Dynamics(model).pose(parent, q), atol=1e-14)
