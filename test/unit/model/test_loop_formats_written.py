# SPDX-License-Identifier: Apache-2.0
"""A model that is written reads back as it was, to rounding; what a spelling cannot say is refused."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loop_robots import (
    ROUNDING,
    SDF_TREE,
    TREE_KINDS,
    assert_same_description,
    assert_same_loop,
    assert_same_tree,
    random_robot,
    rotation,
    without_armature,
)

import ada_dynamics as ada
from ada_dynamics import InputError, ModelError
from ada_dynamics.model import Builder, Limits
from ada_dynamics.robots.readers.loops.xml_parts import KINDS
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, render, write
from ada_dynamics.robots.writers.numbers import number
from ada_dynamics.robots.writers.sidecar import to_data, to_json, to_yaml
from ada_dynamics.spatial.orientation import to_quaternion, to_rpy
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy

seeds = st.integers(0, 2**32 - 1)
quickly = settings(max_examples=8, deadline=None)


# --- round trips ------------------------------------------------------------------------------------------------
URDF_TREE = ("revolute", "continuous", "prismatic", "fixed")
SDF_LOOPS = ("revolute", "prismatic", "helical", "spherical", "universal", "fixed")
PLUS_LOOPS = ("revolute", "prismatic", "planar", "fixed")
# Kinds of loops and of joints, and bases, that a spelling has; how far a reading may be off, None: as the description.
SAID = {
    "constraint": (KINDS, TREE_KINDS, ("fixed", "floating", "floating_euler"), None),
    "loop_joint": (KINDS, TREE_KINDS, ("fixed", "floating", "floating_euler"), None),
    "urdf_plus": (PLUS_LOOPS, TREE_KINDS, ("fixed",), None),
    # poses go through one fixed joint more, and inertias through the massless links it adds
    "gepetto": (("spherical", "fixed"), (*URDF_TREE, "planar", "spherical"), ("fixed",), 4 * ROUNDING),
    # an axis goes through two points 0.1 m apart, which costs a digit
    "mjcf": (("revolute", "spherical", "fixed"), (*URDF_TREE, "spherical"), ("fixed", "floating"), 10 * ROUNDING),
    "sdf": (SDF_LOOPS, (*SDF_TREE, "helical"), ("fixed",), ROUNDING),
    "gazebo": (SDF_LOOPS, SDF_TREE, ("fixed",), ROUNDING),
}


@pytest.mark.parametrize("spelling", SAID)
@given(seed=seeds)
@quickly
def test_a_model_that_is_written_reads_back_as_it_was(spelling, seed):
    loops, joints, bases, tolerance = SAID[spelling]
    base, of_sdf = bases[seed % len(bases)], spelling in ("sdf", "gazebo")
    model = random_robot(seed, loops, joints, base, closed=of_sdf)
    model = without_armature(model) if of_sdf else model
    text, *beside = render(model, spelling).texts.values()
    options = {"loops": pytest.importorskip("yaml").safe_load(beside[0])} if beside else {}
    back = ada.load(text, "fixed" if spelling == "mjcf" else base, **options)
    if tolerance is None:
        assert_same_description(model, back)
    else:
        assert_same_tree(model, back, tolerance, loops=not of_sdf)
        assert back.actuated == model.actuated
    if of_sdf:
        for name, loop in model.loops.items():
            # the frame in the parent comes from a walk through the robot at zero: a few roundings for each link
            assert_same_loop(loop, back.loops[name], 20 * ROUNDING)


@pytest.mark.parametrize("ending", [".urdf", ".loops.yaml", ".yml", ".json"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_sidecar_reads_back_as_it_was_under_any_name(seed, ending, tmp_path):
    model = random_robot(seed)
    tree = write(model, tmp_path / "tree.urdf", "sidecar")[0]
    files = write(model, tmp_path / f"own{ending}", "sidecar")
    assert [file.name for file in files] == (["own.urdf", "own.loops.yaml"] if ending == ".urdf" else [f"own{ending}"])
    assert_same_description(model, ada.load(tree, loops=files[-1]))


def test_gepettos_files_have_universal_joints_about_their_own_axes(tmp_path):
    robot = Builder("r").link("a", 1).link("b", 1, inertia=(1, 1, 1))
    robot.joint("u", "universal", "a", "b", axis=(0, 0, 1), axis2=(1, 0, 0))
    files = write(robot.build(), tmp_path / "robot.urdf", "gepetto")
    assert [file.name for file in files] == ["robot.urdf", "robot.yaml"]
    joint = ada.load(files[0], loops=files[1]).joints["u"]
    assert joint.kind == "universal"
    np.testing.assert_array_equal(joint.axis2, [1, 0, 0])


def test_all_spellings_of_a_four_bar_move_alike(tmp_path):
    """One mechanism through every format: the same mass matrix and the same closed poses."""
    robot = Builder("four_bar").link("base")
    for name in ("a", "b", "c"):
        robot.link(name, 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
    for name, parent, child, x, z in (("ja", "base", "a", 0, 0), ("jb", "a", "b", 0, 1), ("jc", "base", "c", 1, 0)):
        robot.joint(name, "continuous", parent, child, (x, 0, z), axis=(0, 1, 0))
    robot.loop("closing", "spherical", "b", "c", (1, 0, 0), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    model = robot.actuated(["ja"]).build()
    q = np.array([0.3, 0.4, 0.5])
    M = ada.Dynamics(model, algorithm="crba").mass_matrix(q)
    for spelling in SPELLINGS:
        if spelling == "urdf_plus":  # has no spherical loops
            continue
        files = write(model, tmp_path / f"robot_{spelling}.{'xml' if spelling == 'mjcf' else 'urdf'}", spelling)
        back = ada.load(files[0], loops=files[1] if len(files) > 1 else None)
        assert (back.joint_names, back.actuated, back.loop_names) == (["ja", "jb", "jc"], ("ja",), ["closing"]), (
            spelling
        )
        np.testing.assert_allclose(ada.Dynamics(back, algorithm="crba").mass_matrix(q), M, rtol=1e-14)


# --- other parsers ----------------------------------------------------------------------------------------------
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


@pytest.mark.parametrize("seed", range(5))
def test_other_parsers_read_the_sidecar_as_the_same_data(seed):
    yaml = pytest.importorskip("yaml")
    model = random_robot(seed)
    assert yaml.safe_load(to_yaml(model)) == to_data(model) == json.loads(to_json(model))


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


def test_a_name_that_xml_cannot_hold_is_refused():
    with pytest.raises(ModelError, match="a character that XML cannot hold"):
        render(Builder("r").link("a\x00b").build(), "constraint")


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


def test_missing_limits_are_the_largest_numbers_where_a_format_has_no_infinity():
    robot = Builder("r").link("a").link("b", 1.0)
    robot.joint("j", "revolute", "a", "b", limits=Limits(-np.inf, 2.0, np.inf, 3.0))
    text = render(robot.build(), "constraint").texts[".urdf"]
    assert "inf" not in text
    assert ada.load(text).joints["j"].limits == Limits(-np.inf, 2.0, np.inf, 3.0)
    pin = pytest.importorskip("pinocchio")
    assert pin.buildModelFromXML(text).upperPositionLimit[0] == 2.0


# --- what a URDF has besides ------------------------------------------------------------------------------------
RICH = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><visual><geometry><mesh filename="package://p/a.stl"/></geometry></visual></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 2 3"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
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
    assert [root.find(f".//{tag}") for tag in ("loop_joint", "gazebo/joint", "drake_rotor_inertia")] == [None] * 3
    again = ada.load(text)
    assert_same_description(model, again)
    assert again.joints["j"].armature == 0.5


# --- refusals ---------------------------------------------------------------------------------------------------
LACKS = {
    "constraint": ("helical",),
    "loop_joint": ("helical",),
    "urdf_plus": ("spherical", "universal", "cylindrical", "helical"),
    "gepetto": ("revolute", "prismatic", "universal", "cylindrical", "planar", "helical"),
    "gazebo": ("cylindrical", "planar"),
    "sdf": ("cylindrical", "planar"),
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
    return Builder("r").link(names[0]).link(names[1], 1.0).joint(joint, kind, *names, **constants)


NO_SCREW = r"Joint 'j' is helical: .*write the model as SDFormat"
NOT_THE_WORLD = "Link 'world' is not the world"
UNSAYABLE = [
    ("constraint", pair("screw", pitch=0.01), NO_SCREW),
    ("gepetto", pair("screw", pitch=0.01), NO_SCREW),
    ("mjcf", pair("screw", pitch=0.01), NO_SCREW),
    ("constraint", pair("spherical_euler"), "Joint 'j' is spherical_euler: make it spherical"),
    ("gepetto", pair("continuous", "l_A").loop("l", "fixed", "a", "b"), "Loop 'l' needs links of its own, whose names"),
    ("mjcf", pair("floating_euler"), "Joint 'j' is floating_euler: make it floating"),
    ("mjcf", pair("continuous", names=("a", "world")), NOT_THE_WORLD),
    ("sdf", pair("continuous", names=("a", "world")), NOT_THE_WORLD),
    ("sdf", pair("continuous", names=("a", "j")), "Link 'j' has the name of a joint"),
]


@pytest.mark.parametrize(("spelling", "builder", "message"), UNSAYABLE)
def test_joints_and_names_that_a_spelling_lacks_are_refused_by_name(spelling, builder, message):
    with pytest.raises(Inexpressible, match=message):
        render(builder.build(), spelling)


def test_a_base_in_euler_angles_is_refused_where_the_base_is_written_and_noted_elsewhere():
    model = pair("continuous").build(base="floating_euler")
    with pytest.raises(Inexpressible, match="Joint 'root_joint' is floating_euler: make it floating"):
        render(model, "mjcf")
    for spelling in ("sidecar", "constraint", "sdf"):
        assert any("floating base is no part of a" in note for note in render(model, spelling).notes)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_gravity_is_written_or_noted(spelling, base, tmp_path, caplog):
    caplog.set_level("INFO", "ada_dynamics")
    for gravity in ((0.0, 0.0, -9.81), (0.0, 0.5, -1.62)):
        caplog.clear()
        model = pair("continuous").build(base, gravity)
        path, *_ = write(model, tmp_path / f"robot{next(iter(render(model, spelling).texts))}", spelling)
        again = ada.load(path, None if spelling == "mjcf" else base)
        is_noted = f"load it with gravity={gravity} again" in caplog.text
        assert (again.gravity == gravity) != is_noted
        assert is_noted == (path.suffix == ".urdf" and gravity[2] == -1.62)


def test_the_pages_count_the_spellings_that_there_are():
    root = Path(ada.__file__).resolve().parents[1]
    count = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][len(SPELLINGS)]
    named = re.findall(r"(\w+) spellings", (root / "docs" / "features.md").read_text(encoding="utf-8"))
    assert set(named) == {count}
    page = (root / "docs" / "loops.md").read_text(encoding="utf-8")
    table = page.split("| spelling |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(SPELLINGS)


def test_unknown_spellings_and_paths_that_cannot_be_written_are_refused(tmp_path):
    model = random_robot(0, KINDS)
    with pytest.raises(InputError, match="Did you mean 'loop_joint'"):
        render(model, "loopjoint")
    with pytest.raises(InputError, match="cannot be written"):
        write(model, tmp_path / "nowhere" / "robot.urdf", "constraint")
