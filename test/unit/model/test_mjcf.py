# SPDX-License-Identifier: Apache-2.0
"""MJCF means here what it means in MuJoCo: poses, masses, efforts and equalities are compared with MuJoCo's own."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from loop_robots import random_robot
from refused import damaged, refusal

import ada_dynamics as ada
from ada_dynamics.drawing.mesh_files import RobotMeshes, mesh_vertices
from ada_dynamics.model.description import Description
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots import writers
from ada_dynamics.robots.load import find_robot
from ada_dynamics.robots.readers.mjcf.document import check_spelling
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers import render
from ada_dynamics.simulation import scene_for
from benchmarks.mjcf_comparison import compare

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.usefixtures("elsewhere")


MASS = '<inertial pos="0.1 0.2 0.3" quat="1 2 3 4" mass="2" diaginertia="0.3 0.4 0.5"/>'
FULL = '<inertial pos="0 0 0.1" mass="1" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>'


def mjcf(bodies, before="", after=""):
    return f'<mujoco model="m">{before}<worldbody>{bodies}</worldbody>{after}</mujoco>'


def compiled(text):
    theirs = mujoco.MjModel.from_xml_string(text)
    return theirs, mujoco.MjData(theirs)


def positions(ours, theirs, data):
    """MuJoCo's qpos as our q: quaternions as x, y, z, w, joints in our order."""
    q = np.zeros(ours.nq)
    for name in ours.joint_names:
        start = theirs.joint(name).qposadr[0]
        part = data.qpos[start : start + ours.joints[name].nq].copy()
        if len(part) >= 4:
            part[-4:] = np.roll(part[-4:], -1)
        q[ours.q_index(name)] = part
    return q


def mass_matrix(theirs, data):
    """Of MuJoCo, where it is."""
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)
    return M


def random_state(theirs, data, rng):
    mujoco.mj_resetData(theirs, data)
    data.qpos[:] = rng.normal(size=theirs.nq)
    mujoco.mj_normalizeQuat(theirs, data.qpos)
    data.qvel[:] = rng.normal(size=theirs.nv)


def assert_same_motion(text):
    """Masses, efforts and accelerations, gravity and the poses of all bodies are those of MuJoCo."""
    Path("robot.xml").write_text(text, encoding="utf-8")
    found = compare("robot.xml")
    assert found.worst < 1e-11, found  # the same sums in another order
    ours = ada.load(text)
    theirs, data = compiled(text)
    assert ours.nv == theirs.nv
    np.testing.assert_allclose(ours.gravity, theirs.opt.gravity)
    random_state(theirs, data, np.random.default_rng(0))
    mujoco.mj_kinematics(theirs, data)
    poses = ada.Dynamics(ours, algorithm="crba").forward_kinematics(positions(ours, theirs, data))
    for i in range(1, theirs.nbody):
        pose = poses[theirs.body(i).name]
        # MuJoCo keeps frames as unit quaternions: a few roundings for each body on the way.
        np.testing.assert_allclose(pose[:3, 3], data.xpos[i], atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3], data.xmat[i].reshape(3, 3), atol=1e-12)
    return ours


# --- the tree ---------------------------------------------------------------------------------------------------
ORIENTATIONS = {
    "quat": 'quat="1 2 -3 4"',
    "axisangle": 'axisangle="1 2 3 40"',
    "euler": 'euler="10 20 30"',
    "xyaxes": 'xyaxes="1 2 3 0 1 1"',
    "zaxis": 'zaxis="1 -2 3"',
    "zaxis_down": 'zaxis="0 0 -1"',
    "nothing": "",
}


@pytest.mark.parametrize("notation", ORIENTATIONS)
def test_orientations_in_every_notation_are_those_of_mujoco(notation):
    body = f'<body name="a" pos="1 2 3" {ORIENTATIONS[notation]}>{MASS}<joint name="j" axis="1 2 3"/></body>'
    assert_same_motion(mjcf(body))


@pytest.mark.parametrize("sequence", ["xyz", "ZYX", "zxz", "XyZ"])
@pytest.mark.parametrize("angle", ["degree", "radian"])
def test_euler_angles_follow_the_compilers_sequence_and_unit(sequence, angle):
    body = f'<body name="a" euler="1 2 3">{MASS}<joint name="j" range="-1 2" ref="0.3"/></body>'
    text = mjcf(body, f'<compiler eulerseq="{sequence}" angle="{angle}"/>')
    ours = assert_same_motion(text)
    theirs, _ = compiled(text)
    np.testing.assert_allclose([ours.lower[0], ours.upper[0]], theirs.jnt_range[0])


@pytest.mark.parametrize("how", ['range="0 0"', 'range="0 1"', 'limited="false" range="0 1"', 'actuatorfrcrange="0 0"'])
@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_joints_are_limited_where_mujoco_limits_them(kind, how):
    text = mjcf(
        f'<body name="a"><joint name="j" type="{kind}" {how}/>{MASS}</body>', '<default><joint range="0 3"/></default>'
    )
    limits, theirs = ada.load(text).joints["j"].limits, compiled(text)[0]
    found = [np.isfinite(limits.upper), np.isfinite(limits.effort)]
    assert found == [theirs.jnt_limited[0], theirs.jnt_actfrclimited[0]]


SEVERAL_JOINTS = f"""
<body name="a" pos="0 1 0" euler="10 20 30">
  <joint name="slide" type="slide" axis="1 1 0" ref="0.5" pos="9 9 9"/>
  <joint name="first" axis="0 1 1" pos="0.1 0.2 0.3" ref="20"/>
  <joint name="second" axis="1 0 0" pos="-0.1 0.5 0" damping="0.3" frictionloss="0.1" armature="0.7"/>
  {MASS}
  <body name="b" pos="0 0 1" quat="1 1 0 0">
    <joint name="ball" type="ball" pos="0.3 0 0.1" armature="0.2"/> {FULL}
    <body name="c" pos="1 0 0"> {FULL} </body>
  </body>
  <body name="d" pos="0 0 -1"> <joint name="last" type="slide" axis="0 0 2"/> {FULL} </body>
</body>"""


def test_joints_anywhere_in_a_body_and_springs_with_rests_in_the_files_unit_move_it_as_in_mujoco():
    text = mjcf(SEVERAL_JOINTS)
    for name, spring in {
        "slide": 'stiffness="7" springref="0.2"',
        "first": 'stiffness="5" springref="30"',
        "ball": 'stiffness="3"',
    }.items():
        text = text.replace(f'name="{name}"', f'name="{name}" {spring}')
    ours = assert_same_motion(text)
    assert ours.joint_names == ["slide", "first", "second", "ball", "last"]
    second = ours.joints["second"]
    assert (second.damping, second.friction, second.armature) == (0.3, 0.1, 0.7)
    assert np.isinf(second.limits.upper)
    assert ours.joints["first"].rest == pytest.approx(np.radians(30.0), rel=1e-15)
    assert ours.stiffness.tolist() == [7.0, 5.0, 0.0, 3.0, 3.0, 3.0, 0.0]


DEFAULTS = """
<default>
  <joint axis="0 1 0" damping="0.5"/>
  <geom density="500" size="0.1"/>
  <default class="leg"> <joint armature="0.3"/> <geom type="capsule" size="0.05 0.2"/>
    <default class="shin"> <joint axis="1 0 0"/> </default>
  </default>
</default>"""


@pytest.mark.parametrize("turn", ['pos="1 2 3"', 'quat="1 2 3 4"'])
def test_a_free_body_has_the_coordinates_armature_and_damping_of_mujoco(turn):
    free = f'<body name="a" {turn}><joint name="f" type="free" armature="0.7" damping="0.2"/>{MASS}'
    model = assert_same_motion(mjcf(f'{free}<body name="b" pos="0 0 1"><joint name="j"/>{MASS}</body></body>'))
    assert model.joints["f"].kind == "floating"
    assert ada.load(render(model, "mjcf").texts[".xml"]).joints["f"].armature == 0.7
    rng = np.random.default_rng(2)
    (q, v), tau = model.random_state(rng), rng.normal(size=model.nv)
    for algorithm in ("aba", "ada", "dca", "lagrange", "order_n"):
        dynamics = ada.Dynamics(model, algorithm=algorithm)
        np.testing.assert_allclose(dynamics.inverse(q, v, dynamics.forward(q, v, tau)), tau, atol=1e-11)
        np.testing.assert_allclose(dynamics.forward(q, v, tau), ada.Dynamics(model).forward(q, v, tau), atol=1e-11)


def test_defaults_go_by_class_childclass_and_nesting():
    bodies = """
    <body name="a" childclass="leg"> <joint name="j1"/> <geom/>
      <body name="b" pos="0 0 1"> <joint name="j2" class="shin"/> <geom class="main"/>
        <frame pos="0 0 0.5" euler="0 30 0" childclass="shin">
          <body name="c"> <joint name="j3"/> <geom/> </body> <geom pos="1 0 0"/>
        </frame>
      </body>
    </body> <body name="d"> <joint name="j4"/> <geom/> </body>"""
    ours = assert_same_motion(mjcf(bodies, DEFAULTS))
    assert [ours.joints[f"j{i}"].armature for i in (1, 2, 3, 4)] == [0.3, 0.3, 0.3, 0.0]
    np.testing.assert_array_equal(ours.joints["j3"].axis, [1, 0, 0])
    np.testing.assert_array_equal(ours.joints["j4"].axis, [0, 1, 0])


JOINT = f'<body name="a"><joint name="j" axis="1 2 3" {{}}/>{MASS}</body>'
ACTUATORS = {
    "of general": ('<general armature="0.7"/>', '<motor joint="j" gear="3"/>'),
    "of another one": ('<motor armature="0.7"/><position gear="2"/>', '<general joint="j"/>'),
    "of a class": (
        '<pid armature="0.7"/><default class="c"><motor gear="2"/></default>',
        '<velocity class="c" joint="j"/>',
    ),
    "of two": ("", '<motor joint="j" armature="0.1" gear="2"/><motor jointinparent="j" armature="0.2" damping="0.3"/>'),
}  # fmt: skip


@pytest.mark.parametrize("case", ACTUATORS)
def test_actuators_add_the_rotor_inertia_and_damping_that_mujoco_adds(case):
    defaults, motors = ACTUATORS[case]
    model = assert_same_motion(
        mjcf(JOINT.format(""), f"<default>{defaults}</default>", f"<actuator>{motors}</actuator>")
    )
    assert model.joints["j"].armature > 0.0


LIMITED = {
    "motor": '<motor joint="j" gear="-3" ctrlrange="-2 5"/>',
    "force of a motor": '<motor joint="j" gear="3" ctrlrange="-2 5" forcerange="-4 1"/>',
    "position": '<position joint="j" kp="100" gear="2" ctrlrange="-1 1" forcerange="-7 7"/>',
    "velocity": '<velocity joint="j" kv="100" forcerange="-7 3"/>',
    "general": '<general joint="j" gainprm="6" ctrlrange="-2 2"/>',
    "general servo": '<general joint="j" gainprm="6" biastype="affine" biasprm="0 -9 0" forcerange="-8 8"/>',
    "sum": '<motor joint="j" ctrlrange="-2 2"/><motor joint="j" gear="3" ctrlrange="-2 2"/>',
    "tendon": '<motor tendon="t" gear="3" ctrlrange="-2 2"/>',
    "range of the joint": '<motor joint="j" gear="30" ctrlrange="-2 2"/>',
}


@pytest.mark.parametrize("case", LIMITED)
def test_ranges_of_actuators_are_effort_limits(case):
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="-2"/></fixed></tendon>'
    joint = JOINT.format('actuatorfrcrange="-25 25"')
    text = mjcf(joint, after=f"{tendon}<actuator>{LIMITED[case]}</actuator>")
    theirs, data = compiled(text)
    largest = 0.0
    for control in (-1e3, 1e3):
        data.ctrl[:] = control
        mujoco.mj_forward(theirs, data)
        largest = max(largest, abs(data.qfrc_actuator[0]))
    assert ada.load(text).joints["j"].limits.effort == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize(
    "motor", ['<position joint="j" kp="9"/>', '<motor joint="j" ctrlrange="-1 1" ctrllimited="false"/>']
)
def test_an_actuator_without_ranges_leaves_the_effort_unlimited(motor):
    text = mjcf(JOINT.format(""), after=f'<actuator>{motor}<motor joint="j" ctrlrange="-1 1"/></actuator>')
    assert ada.load(text).joints["j"].limits.effort == np.inf


def test_every_word_of_mujocos_own_schema_is_known():
    lines = [line.replace("\xa0", " ") for line in mujoco.mj_printSchema(False, True).splitlines()]
    path = []
    for line in lines:
        found = re.match(r"( *)(\S+) \(.\) *(.*)", line)
        if found:
            depth = len(found[1]) // 3
            element = Element(found[2].replace("(world)", "world"), {}, 1)
            path = [*path[:depth], element]
            if depth:
                path[depth - 1].children.append(element)
        path[-1].attributes.update(dict.fromkeys((found[3] if found else line).split(), ""))
    path[0].first("worldbody").children.append(body := Element("body", path[0].first("worldbody").attributes, 1))
    body.children = list(path[0].first("worldbody").children)[:-1]
    path[0].first("worldbody").attributes = {}
    robot, problems = Description("r", "f"), []
    check_spelling(path[0], robot, problems.append)
    assert (problems, robot.left_out) == ([], [])


GEOMS = {
    "sphere": 'size="0.2"',
    "box": 'type="box" size="0.1 0.2 0.3" euler="10 20 30" pos="1 0 0"',
    "cylinder": 'type="cylinder" size="0.1 0.4" mass="3"',
    "capsule": 'type="capsule" size="0.1 0.4" density="200" zaxis="1 1 0"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.3"',
    "capsule_line": 'type="capsule" fromto="0 0 0 1 2 3" size="0.1"',
    "box_line": 'type="box" fromto="0 0 0 1 0 3" size="0.1"',
    "cylinder_line": 'type="cylinder" fromto="0 0 0 0 0 -3" size="0.1"',
}


@pytest.mark.parametrize("shape", GEOMS)
def test_bodies_have_the_mass_of_their_geoms(shape):
    skipped = '<geom size="0.1" group="5"/> <geom type="box" size="1 1 1" mass="0"/>'
    geoms = f'<geom {GEOMS[shape]}/> <geom size="0.1" pos="0 1 0"/> {skipped}'
    text = mjcf(
        f'<body name="a"> <joint name="j" axis="1 2 3"/> {geoms} </body>', '<compiler inertiagrouprange="0 3"/>'
    )
    ours = assert_same_motion(text)
    theirs, _ = compiled(text)
    assert ours.links["a"].mass == pytest.approx(theirs.body("a").mass[0], rel=1e-14)


@pytest.mark.parametrize("how", ['inertiafromgeom="auto"', 'inertiafromgeom="true"', 'settotalmass="14"'])
def test_masses_are_those_that_the_compiler_makes_of_inertias_and_geoms(how):
    inner = f'<body name="b" pos="1 0 0"> <joint name="k"/> {FULL} <geom size="0.1"/> </body>'
    body = f'<body name="a"> <joint name="j"/> <geom size="0.2"/> {MASS} {inner} </body>'
    ours = assert_same_motion(mjcf(body, f"<compiler {how}/>"))
    if "total" in how:
        assert ours.total_mass == pytest.approx(14.0)


def test_gravity_is_that_of_the_file_unless_another_one_is_given():
    text = mjcf(f'<body name="a"><joint name="j"/>{MASS}</body>', '<option gravity="1 2 3"/>')
    assert ada.load(text).gravity == (1, 2, 3)
    assert ada.load(text, gravity=(0, 0, -1)).gravity == (0, 0, -1)
    off = mjcf(f'<body name="a"><joint name="j"/>{MASS}</body>', '<option><flag gravity="disable"/></option>')
    assert ada.load(off).gravity == (0, 0, 0)


# --- equalities -------------------------------------------------------------------------------------------------
CHAIN = f"""
<body name="a" pos="0 0 1" euler="0 10 0"> <joint name="ja" axis="0 1 0"/> {MASS}
  <site name="sa" pos="0.1 0.2 0.3" euler="10 20 30"/> <site name="sa2" pos="0.1 0.7 0.3"/>
  <body name="b" pos="0 0 1" euler="40 0 0"> <joint name="jb" axis="0 1 0" pos="0.2 0 0" ref="15"/> {FULL} </body>
</body>
<body name="c" pos="1 0 0"> <joint name="jc" axis="0 1 0"/> {MASS}
  <site name="sc" pos="0.3 0.1 0.2" euler="-5 0 7"/> <site name="sc2" pos="0.3 0.6 0.2"/>
  <body name="d" pos="0 0 1"> <joint name="jd" type="ball"/> {FULL} </body>
</body>"""


def with_equality(constraints):
    return mjcf(CHAIN, after=f"<equality>{constraints}</equality>")


def gaps(text, seed=1):
    """Distance of a loop's origins and its frames' relative rotation in our model, and MuJoCo's violation, where both
    are at the same random state."""
    ours = ada.load(text)
    theirs, data = compiled(text)
    dynamics = ada.Dynamics(ours, algorithm="crba")
    random_state(theirs, data, np.random.default_rng(seed))
    mujoco.mj_forward(theirs, data)
    q = positions(ours, theirs, data)
    frames = []
    (loop,) = ours.loops.values()
    for link, xyz, R in (
        (loop.parent, loop.parent_xyz, loop.parent_rotation),
        (loop.child, loop.child_xyz, loop.child_rotation),
    ):
        pose = np.eye(4) if link == "world" else dynamics.pose(link, q)
        frames.append((pose[:3, :3] @ R, pose[:3, 3] + pose[:3, :3] @ xyz))
    (A, a), (B, b) = frames
    return loop, a - b, A.T @ B, data.efc_pos[: data.ne].copy()


@pytest.mark.parametrize(
    "constraint",
    [
        '<connect body1="b" body2="d" anchor="0.1 0.2 0.3"/>',
        '<connect body1="b" anchor="0.1 0.2 0.3"/>',
        '<connect site1="sa" site2="sc"/>',
        '<weld body1="b" body2="d" torquescale="0" anchor="0.1 0.2 0.3"/>',
    ],
)
def test_a_connect_is_a_spherical_loop_at_mujocos_points(constraint):
    loop, apart, _, violation = gaps(with_equality(constraint))
    assert loop.kind == "spherical"
    np.testing.assert_allclose(apart, violation[:3], atol=1e-12)


@pytest.mark.parametrize(
    "constraint",
    [
        '<weld body1="b" body2="d"/>',
        '<weld body1="b" body2="d" anchor="0.1 0.2 0.3"/>',
        '<weld body1="b" body2="d" anchor="0.1 0.2 0.3" relpose="1 2 3 1 1 0 2"/>',
        '<weld body1="d" relpose="1 2 3 1 1 0 2"/>',
        '<weld site1="sa" site2="sc"/>',
    ],
)
def test_a_weld_is_a_fixed_loop_between_mujocos_frames(constraint):
    loop, apart, turn, violation = gaps(with_equality(constraint))
    assert loop.kind == "fixed"
    # MuJoCo measures the turn by the vector of its quaternion, sin(angle / 2), scaled by torquescale = 1.
    np.testing.assert_allclose(np.linalg.norm(apart), np.linalg.norm(violation[:3]), atol=1e-12)
    sine = np.sqrt(max(0.0, (3.0 - np.trace(turn)) / 4.0))
    np.testing.assert_allclose(sine, np.linalg.norm(violation[3:]), atol=1e-12)


def test_two_connects_on_one_axis_are_a_revolute_loop(caplog):
    caplog.set_level("INFO", "ada_dynamics")
    anchors = '<connect name="{}" body1="{}" body2="{}" anchor="{}"/>'
    pair = anchors.format("hinge", "b", "d", "0.1 0.2 0.3") + anchors.format("more", "b", "d", "0.1 0.9 0.3")
    loop = ada.load(with_equality(pair)).loops["hinge"]
    assert loop.kind == "revolute"
    np.testing.assert_allclose(loop.parent_rotation @ loop.axis, [0, 1, 0], atol=1e-15)
    assert "'hinge' and 'more': two points on an axis" in caplog.text


@pytest.mark.parametrize(("coefficients", "multiplier", "shift"), [("", 1.0, 0.0), ('polycoef="0.2 -3"', -3.0, 0.2)])
def test_a_linear_equality_of_joints_is_a_mimic(coefficients, multiplier, shift):
    motor = '</equality><actuator><motor joint="jb" ctrlrange="-4 2"/></actuator><equality>'
    model = ada.load(with_equality(f'<joint joint1="jb" joint2="jc" {coefficients}/>{motor}'))
    mimic = model.joints["jb"].mimic
    assert (mimic.joint, mimic.multiplier) == ("jc", multiplier)
    # y - y0 = a0 + a1 (x - x0), with y0 = 15 deg and x0 = 0
    assert mimic.offset == pytest.approx(np.radians(15.0) + shift, rel=1e-15)
    assert model.actuated == ("jc",)  # which the motor of its follower drives, with the same power
    assert model.joints["jc"].limits.effort == pytest.approx(4.0 * abs(multiplier))


def test_an_inactive_equality_is_left_out():
    assert ada.load(with_equality('<weld body1="b" body2="d" active="false"/>')).loop_names == []


# --- what is refused --------------------------------------------------------------------------------------------
REFUSED = {
    "spring": ('name="ja"', 'name="ja" stiffness="-3"', "line 3", "stiffness of joint 'ja' is -3"),
    "negative_damping": ('name="ja"', 'name="ja" damping="-1"', "line 3", "damping of joint 'ja' is -1"),
    "zero_axis": ('name="ja" axis="0 1 0"', 'name="ja" axis="0 0 0"', "axis of length zero"),
    "type": ('name="ja"', 'name="ja" type="hing"', "joint 'ja'", "Did you mean 'hinge'"),
    "class": ('name="ja"', 'name="ja" class="leg"', "class='leg'", "not defined"),
    "no_mass": ('mass="2"', "", "no mass"),
    "mesh": (MASS, '<geom type="mesh" mesh="m"/>', "by a mesh", "<inertial>"),
    "fitted": (MASS, '<geom type="box" mesh="m"/>', "by a mesh", "<inertial>"),
    "free_inside": ('<joint name="jb"', '<freejoint/><joint name="jb"', "body", "'b'", "free joint"),
}
# Where an element is put that the document has besides.
PLACES = {
    "before": ("<worldbody>", "{}<worldbody>"),
    "inside": ("<worldbody>", "<worldbody>{}"),
    "after": ("</worldbody>", "</worldbody>{}"),
    "equality": ("</worldbody>", "</worldbody><equality>{}</equality>"),
}
ELEMENTS = {
    "armture": ("inside", '<body name="f">\n<joint armture="1"/></body>', "line 3", "<joint>", "'armature'"),
    "geomm": ("inside", "<geomm/>", "<worldbody>", "'geom'"),
    "equalities": ("after", "<equalities/>", "<mujoco>", "'equality'"),
    "default": ("before", '<default><joint dampng="1"/></default>', "'damping'"),
    "no_limit": ("before", '<compiler autolimits="false"/><default><joint range="0 1"/></default>', "has range"),
    "no_range": ("before", '<default><joint limited="true"/></default>', "no range"),
    "rotor_of_ball": ("after", '<actuator><motor joint="jd" armature="1"/></actuator>', "armature", "hinge and slide"),
    "include": ("before", '<include file="x.xml"/>', "<include>", "'x.xml'", "load the file by its path"),
    "align": ("before", '<compiler alignfree="true"/>', "alignfree"),
    "free_spring": ("inside", '<body name="f"><joint type="free" stiffness="1"/></body>', "floating and has a spring"),
    "replicate": ("inside", '<replicate count="2"/>', "<replicate> is not supported"),
    "attach": ("inside", '<attach model="x"/>', "<attach>", "mj_saveLastXML"),
    "plugin": ("inside", '<body><plugin plugin="x"/></body>', "<plugin>"),
    "tendon": ("after", '<tendon><fixed name="t" stiffness="1"/></tendon>', "tendon 't'", "stiffness"),
    "motor": ("after", '<actuator><motor joint="nobody"/></actuator>', "'nobody'"),
    "unknown_body": ("equality", '<weld body1="aa"/>', "no body is named 'aa'"),
    "no_anchor": ("equality", '<connect body1="a"/>', "neither an anchor nor"),
    "cubic": ("equality", '<joint joint1="ja" joint2="jc" polycoef="0 1 2"/>', "not linear"),
    "ball_equality": ("equality", '<joint joint1="jd" joint2="ja"/>', "ball or free"),
    "tendon_equality": ("equality", '<tendon tendon1="t"/>', "unsupported type 'tendon'"),
}  # fmt: skip
REFUSED |= {
    name: (PLACES[place][0], PLACES[place][1].format(element), *said)
    for name, (place, element, *said) in ELEMENTS.items()
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_mjcf_says_and_the_model_cannot_is_refused_by_name(mistake):
    old, new, *said = REFUSED[mistake]
    message = refusal("\n" + damaged(mjcf(CHAIN), old, new), "line ")
    for words in said:
        assert words.replace("link", "") in message.replace("link", "")


# --- written ----------------------------------------------------------------------------------------------------
TREE = ("revolute", "continuous", "prismatic", "fixed", "spherical")
LOOPS = ("revolute", "spherical", "fixed")


@pytest.mark.parametrize(
    ("seed", "loops", "joints"),
    [
        (0, LOOPS, TREE),
        (1, LOOPS, TREE),
        (11, (), ("universal", "cylindrical")),  # written as two joints with the same coordinates
    ],
)
def test_mujoco_moves_what_was_written_as_the_model_does(seed, loops, joints):
    model = random_robot(seed, loops, joints, extras=False)
    rendered = render(model, "mjcf")
    assert any("universal, written as two joints" in note for note in rendered.notes) == ("universal" in joints)
    theirs, data = compiled(rendered.texts[".xml"])
    random_state(theirs, data, np.random.default_rng(seed))
    mujoco.mj_forward(theirs, data)
    q = positions(model, theirs, data) if loops else data.qpos
    dynamics, M = ada.Dynamics(model, algorithm="crba"), mass_matrix(theirs, data)
    np.testing.assert_allclose(dynamics.mass_matrix(q), M, atol=1e-11 * np.abs(M).max())
    if not loops:
        bias = dynamics.bias(q, data.qvel)
        np.testing.assert_allclose(bias, data.qfrc_bias, atol=1e-10 * np.abs(bias).max())


def test_massless_links_between_joints_become_joints_of_one_body_that_moves_alike():
    rng = np.random.default_rng(2)
    robot = ada.Builder("hip").link("base", 1.0).link("first").link("second").link("thigh", 1.0, (0, 0, 1), np.eye(3))
    for i, (kind, *ends) in enumerate(
        [("continuous", "base", "first"), ("prismatic", "first", "second"), ("continuous", "second", "thigh")]
    ):
        robot.joint(f"j{i}", kind, *ends, axis=np.eye(3)[i], xyz=rng.normal(size=3), rpy=rng.normal(size=3))
    model = robot.build()
    again = assert_same_motion(render(model, "mjcf").texts[".xml"])
    q, v = model.random_state(rng)
    here, there = ada.Dynamics(model, algorithm="crba"), ada.Dynamics(again, algorithm="crba")
    np.testing.assert_allclose(there.pose("thigh", q), here.pose("thigh", q), atol=1e-13)
    np.testing.assert_allclose(there.bias(q, v), here.bias(q, v), atol=1e-12)


def test_mujoco_ties_joints_as_the_model_does():
    model = random_robot(5, (), ("revolute", "prismatic"), extras=True)
    mimics = {joint.name: joint.mimic for joint in model.joints.values() if joint.mimic is not None}
    theirs, data = compiled(render(model, "mjcf").texts[".xml"])
    assert len(mimics) == theirs.neq > 0
    data.qpos[:] = np.random.default_rng(0).normal(size=theirs.nq)
    for name, mimic in mimics.items():
        data.joint(name).qpos[:] = mimic.multiplier * data.joint(mimic.joint).qpos + mimic.offset
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(data.efc_pos[: data.ne], 0.0, atol=1e-12)


# --- mjcf files -------------------------------------------------------------------------------------------------------

# Both do the same sums in another order; M and its inverse lose a few digits more in bodies that are far from round.
ROUNDING = 1e-11


@pytest.fixture
def write(tmp_path):
    def write(robot, **files):
        for name, text in {"robot": robot, **files}.items():
            path = tmp_path / f"{name.replace('__', '/')}.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "robot.xml"

    return write


def notes_of(path):
    robot = find_robot(path)[1]
    return [*robot.notes, *(problem.message for problem in robot.odd_shapes)]


def assert_as_mujoco(path):
    found = compare(path)
    assert found.worst < ROUNDING, found
    return ada.load(path)


BALL = '<geom type="sphere" size="0.1"/>'


# --- include --------------------------------------------------------------------------------------------------------
def test_included_files_stand_where_they_are_included_at_any_depth(write):
    path = write(
        '<mujoco><include file="parts/common.xml"/><compiler angle="radian"/><worldbody>'
        '<include file="parts/arm.xml"/></worldbody></mujoco>',
        parts__common='<mujoco><default><default class="arm"><joint damping="0.3" stiffness="2" springref="0.4"/>'
        '<geom type="capsule" size="0.05 0.2"/></default></default></mujoco>',
        # found beside the file that includes it, for it is not beside the main one
        parts__arm='<mujoco><body name="a" childclass="arm"><joint name="j" axis="0 1 0"/><geom/>'
        '<include file="hand.xml"/></body></mujoco>',
        parts__hand='<mujoco><body name="b" pos="0 0 0.5"><joint name="k" axis="1 0 0"/><geom/></body></mujoco>',
    )
    model = assert_as_mujoco(path)
    assert model.joint_names == ["j", "k"]
    assert [(j.damping, j.stiffness, j.rest) for j in (model.joints["j"], model.joints["k"])] == [(0.3, 2.0, 0.4)] * 2


def test_a_file_beside_the_main_one_is_taken_before_one_beside_the_including_one(write):
    body = '<mujoco><body name="{}"><joint/>' + BALL + "</body></mujoco>"
    path = write(
        '<mujoco><worldbody><include file="in/first.xml"/></worldbody></mujoco>',
        in__first='<mujoco><include file="x.xml"/></mujoco>',
        in__x=body.format("inner"),
        x=body.format("outer"),
    )
    assert "outer" in assert_as_mujoco(path).links


@pytest.mark.parametrize(
    "files, words",
    [
        ({"robot": '<mujoco><include file="a.xml"/></mujoco>', "a": '<mujoco><include file="b.xml"/></mujoco>',
          "b": '<mujoco><include file="a.xml"/></mujoco>'}, ("b.xml, line 1", "a.xml -> b.xml -> a.xml")),
        ({"robot": '<mujoco>\n<include file="robot.xml"/></mujoco>'}, ("line 2", "robot.xml -> robot.xml")),
        ({"robot": '<mujoco><include file="a.xml"/><include file="a.xml"/></mujoco>', "a": "<mujoco/>"},
         ("'a.xml'", "again")),
        ({"robot": '<mujoco><include file="no.xml"/></mujoco>'}, ("'no.xml'", "does not exist", "Searched")),
        ({"robot": "<mujoco><include/></mujoco>"}, ("has no file",)),
        ({"robot": '<mujoco><include file="a.xml"/></mujoco>', "a": "<mujoco><body></mujoco>"},
         ("a.xml", "mismatched tag")),
        ({"robot": '<mujoco><worldbody><include file="a.xml"/></worldbody></mujoco>',
          "a": '<mujoco>\n<body name="x">\n<joint damping="-1"/></body></mujoco>'},
         ("a.xml, line 3", "damping of joint 'joint_1' is -1")),
    ],
)  # fmt: skip
def test_includes_that_cannot_be_are_refused_by_file_and_line(files, words, write):
    refusal(write(**files), *words)


# --- meshes ---------------------------------------------------------------------------------------------------------
def _bent():
    """A closed body that is not convex, with the insides of its triangles in: an L of three quarters of a square."""
    outline = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)
    low, high = (np.column_stack([outline, np.full(6, z)]) for z in (0.0, 0.7))
    top = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(a + 6, b + 6, c + 6) for a, b, c in top] + [(a, c, b) for a, b, c in top]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    return 0.1 * np.concatenate([low, high]) + (0.03, -0.02, 0.01), np.array(faces)


def stl(path, vertices, faces):
    rows = [struct.pack("<12fH", 0, 0, 0, *vertices[list(face)].ravel(), 0) for face in faces]
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + b"".join(rows))


def obj(path, vertices, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    path.write_text("\n".join([*lines, *(f"f {a + 1}//1 {b + 1}//1 {c + 1}//1" for a, b, c in faces.tolist())]))


WRITERS = {"stl": stl, "obj": obj}
MESHES = {
    "plain": "",
    "scaled": 'scale="0.5 2 1.5"',
    "mirrored": 'scale="-1 1 2"',
    "moved": 'refpos="0.1 0.2 -0.1" refquat="1 2 -1 0.5"',
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("how", [*MESHES, "skewed"])
def test_meshes_are_drawn_where_mujoco_has_them_also_in_a_written_urdf(tmp_path, how, ending, write):
    (tmp_path / "meshes").mkdir()
    WRITERS[ending](tmp_path / f"meshes/bent.{ending}", *_bent())
    skewed = 'scale="1 2 1" refquat="1 2 -1 0.5"'
    path = write(
        '<mujoco><compiler meshdir="meshes"/><asset>'
        f'<mesh name="m" file="bent.{ending}" {MESHES.get(how, skewed)}/></asset><worldbody><body name="b">'
        '<inertial pos="9 0 0" mass="1" diaginertia="1 1 1"/><joint/><frame pos="1 0 0" '
        'euler="0 30 0"><geom name="g" type="mesh" mesh="m" pos="0.1 0.2 0.3" euler="10 20 30" rgba="1 0 0 1"/></frame>'
        "</body></worldbody></mujoco>"
    )
    model = ada.load(path)
    if how == "skewed":
        assert model.links["b"].visuals == () and "'m' is scaled along axes" in "".join(notes_of(path))
        return
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    wanted = theirs.mesh_vert @ data.geom("g").xmat.reshape(3, 3).T + data.geom("g").xpos
    writers.write(model, tmp_path / "elsewhere.urdf")
    for again in (model, ada.load(tmp_path / "elsewhere.urdf")):
        (shape,) = again.links["b"].visuals
        found = RobotMeshes().get(shape).vertices * shape.size @ shape.rotation.T + shape.xyz
        np.testing.assert_allclose([found.min(0), found.max(0)], [wanted.min(0), wanted.max(0)], atol=1e-6)
        assert shape.rgba == (1.0, 0.0, 0.0, 1.0)
    assert "com-far" not in [finding.code for finding in ada.check(path).findings]


def test_a_mass_by_a_mesh_is_refused_in_a_body_that_moves_and_noted_in_a_fixed_one(write):
    body = '<body name="a">{}<geom type="mesh" mesh="m"/></body>'
    text = f'<mujoco><asset><mesh name="m" file="m.stl"/></asset><worldbody>{body}</worldbody></mujoco>'
    path = write(text.format("<joint/>"))
    refusal(path, "line 1", "of body 'a'", "<inertial>", "saveinertial")
    fixed = write(text.format(""))
    assert ada.load(fixed).links["a"].mass == 0.0 and "'a' is fixed" in "".join(notes_of(fixed))


# --- the compiler's settings ----------------------------------------------------------------------------------------
THIN = '<inertial pos="0 0 0.1" euler="20 30 0" mass="0.01" diaginertia="1e-5 2e-5 {}"/>'
BOUNDS = {
    "boundmass": ('boundmass="0.5"', "2.5e-5"),
    "boundinertia": ('boundinertia="0.001"', "2.5e-5"),
    "balanceinertia": ('balanceinertia="true"', "1e-4"),
    "all": ('boundmass="0.5" boundinertia="1.5e-5" balanceinertia="true"', "1e-4"),
    "groups": ('inertiagrouprange="1 2" inertiafromgeom="true"', "2.5e-5"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_masses_are_bounded_as_the_compiler_says(name, write):
    how, moment = BOUNDS[name]
    body = (
        f'<body name="a"><joint axis="1 1 0"/>{THIN.format(moment)}<geom size="0.1" group="1"/><geom size="0.2"/>'
        '<body name="b" pos="0 0 1"><joint axis="0 1 0"/><geom type="box" size="0.1 0.2 0.3" group="2"/></body></body>'
    )
    assert_as_mujoco(write(f"<mujoco><compiler {how}/><worldbody>{body}</worldbody></mujoco>"))


@pytest.mark.parametrize("flag", ["spring", "damper", "passive", "constraint", "equality", "frictionloss", "limit"])
def test_what_a_flag_disables_is_left_out_and_noted(flag, write):
    if not _knows_flag(flag):
        pytest.skip("this MuJoCo has no such flag")
    joint = '<joint name="{}" stiffness="3" damping="2" frictionloss="0.5" limited="true" range="-1 1"/>'
    body = '<body name="a">{}' + BALL + '<body name="b" pos="0 0 1">{}' + BALL + "</body></body>"
    bodies = body.format(joint.format("j"), joint.format("k"))
    tie = '<equality><joint joint1="j" joint2="k"/></equality>'
    text = f'<mujoco><option><flag {flag}="disable"/></option><worldbody>{bodies}</worldbody>{tie}</mujoco>'
    path = write(text)
    gone = {"passive": {"spring", "damper"}, "constraint": {"equality", "frictionloss", "limit"}}.get(flag, {flag})
    model = assert_as_mujoco(path)
    joint = model.joints["j"]
    assert (joint.stiffness == 0.0, joint.damping == 0.0) == ("spring" in gone, "damper" in gone)
    assert (joint.friction == 0.0, np.isinf(joint.limits.upper)) == ("frictionloss" in gone, "limit" in gone)
    assert (joint.mimic is None) == ("equality" in gone)
    assert any("<flag> disables" in note for note in notes_of(path))


def _knows_flag(flag):
    try:
        mujoco.MjModel.from_xml_string(f'<mujoco><option><flag {flag}="disable"/></option></mujoco>')
    except ValueError:
        return False
    return True


# --- bodies and joints ----------------------------------------------------------------------------------------------
JOINTED = f"""<body pos="0.1 0.2 0.9" euler="10 20 30"><freejoint name="trunk"/>{MASS}<body pos="0 0 -0.3">
<joint name="knee" axis="0 1 0" ref="40" range="0 90"/>{MASS}<body><joint name="ball" type="ball"/>{MASS}
<body><joint name="rod" type="slide" ref="0.2"/>{MASS}</body></body></body>
<frame><body><joint name="arm" axis="1 0 0"/>{MASS}</body></frame></body>"""
KEY = '<key name="{}" qpos="{} 0 0 2 2 0 0 {} 0 3 0 4 0.1 -0.7"/>'


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ("", None),
        ("<key/>", None),
        (KEY.format("a", 1, 0.5) + KEY.format("b", 2, 0.6), 0),
        (KEY.format("a", 1, 0.5) + KEY.format("home", 2, 0.6), 1),
    ],
)
def test_the_start_is_mujocos_keyframe_home_or_the_first_or_the_references(keys, key):
    text = mjcf(JOINTED, after=f"<keyframe>{keys}</keyframe>")
    model, (theirs, data) = ada.load(text), compiled(text)
    if key is not None:
        mujoco.mj_resetDataKeyframe(theirs, data, key)
    mujoco.mj_forward(theirs, data)
    wanted = positions(model, theirs, data)
    for found in (model.home(), scene_for(model, ground="off").q, ada.Simulation(model).q):
        np.testing.assert_allclose(found, wanted, atol=1e-15)


def test_loops_start_closed_at_the_references():
    bar = '<joint name="{0}" axis="0 1 0" ref="{1}"/><geom type="capsule" fromto="0 0 0 {2}" size="0.02"/>'
    text = mjcf(
        f'<body name="a">{bar.format("a", 20, "0 0 1")}<body name="b" pos="0 0 1">{bar.format("b", 35, "1 0 0")}</body>'
        f'</body><body name="c" pos="1 0 0">{bar.format("c", -25, "0 0 1")}</body>',
        after='<equality><connect body1="b" body2="c" anchor="1 0 0"/></equality>',
    )
    model, (theirs, data) = ada.load(text), compiled(text)
    np.testing.assert_allclose(ada.close_loops(model), positions(model, theirs, data), atol=1e-14)


@pytest.mark.parametrize("key", ["", '<keyframe><key qpos="0 0 5 1 0 0 0 0.7 0.7"/></keyframe>'])
def test_a_floating_robot_with_mesh_feet_starts_on_the_ground_as_its_keyframe_bends_it(key, write, tmp_path):
    stl(tmp_path / "foot.stl", *_bent())
    leg = (
        '<body><joint name="hip{0}" axis="0 1 0"/><geom type="sphere" size="0.01" pos="0 {0} -0.4"/>'
        '<geom type="mesh" mesh="foot" pos="0 {0} -1" mass="0"/></body>'
    )
    path = write(
        '<mujoco><asset><mesh name="foot" file="foot.stl"/></asset><worldbody><geom type="plane" size="1 1 1"/>'
        '<body pos="0 0 2"><freejoint name="any"/><geom type="box" size=".2 .2 .2"/>'
        f"{leg.format(0.2)}{leg.format(-0.2)}</body></worldbody>{key}</mujoco>"
    )
    model, theirs = ada.load(path), mujoco.MjModel.from_xml_path(str(path))
    scene = scene_for(model, vertices=mesh_vertices())
    np.testing.assert_array_equal(scene.q[7:], [0.7, 0.7] if key else [0.0, 0.0])
    data = mujoco.MjData(theirs)
    data.qpos[:3], data.qpos[7:] = scene.q[:3], scene.q[7:]
    mujoco.mj_forward(theirs, data)
    lowest = min(
        float((theirs.mesh_vert @ data.geom_xmat[i].reshape(3, 3).T + data.geom_xpos[i])[:, 2].min())
        for i in np.flatnonzero(theirs.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
    )
    assert abs(lowest) < 1e-6  # MuJoCo's vertices have single precision
    assert scene.contact is not None and scene.notes == ()


FLOORS = {
    "no floor": "",
    "rough": '<geom type="plane" size="0 0 1" friction="1.5" margin="0.002"/>',
    "smooth": '<geom type="plane" size="0 0 1" friction="0.1" margin="0.03"/>',
}
SPHERES = {
    "default": "",
    "friction": 'friction="0.4"',
    "rougher": 'friction="2.5 0.1"',
    "priority": 'friction="0.4" priority="1"',
    "margin": 'margin="0.01"',
}


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("sphere", SPHERES)
def test_contacts_have_the_friction_and_the_margin_of_mujoco(floor, sphere):
    body = f'<body name="a"><freejoint name="f"/><geom type="sphere" size="0.1" {SPHERES[sphere]}/></body>'
    model = ada.load(mjcf(FLOORS[floor] + body))
    scene = scene_for(model)
    theirs, data = compiled(mjcf((FLOORS[floor] or '<geom type="plane" size="0 0 1"/>') + body))
    data.qpos[2] = scene.q[2] - 1e-6
    mujoco.mj_forward(theirs, data)
    (contact,) = data.contact
    assert contact.dist - contact.includemargin == pytest.approx(-1e-6, abs=1e-9)  # it touches from there on
    assert scene.contact.spheres[0].material.friction == pytest.approx(contact.friction[0])


@pytest.mark.parametrize("turn", ["", 'euler="90 0 0"'])
def test_a_planar_robot_on_slides_stands_on_the_ground_with_straight_legs(turn):
    up, across = ("0 1 0", "0 0 -1") if turn else ("0 0 1", "0 1 0")
    model = ada.load(
        mjcf(
            f'<body name="trunk" pos="0 0 1" {turn}><joint type="slide" axis="1 0 0"/>'
            f'<joint type="slide" axis="{up}" ref="1"/>'
            f'<joint axis="{across}"/><geom size="0.1"/><body pos="0 0 0"><joint axis="{across}"/>'
            '<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/></body></body>'
        )
    )
    scene = scene_for(model)
    np.testing.assert_allclose(scene.q, [0.0, 0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(link_poses(model, scene.q)["trunk"][1], [0.0, 0.0, 0.1], atol=1e-12)
    assert scene.contact is not None and scene_for(model, ground="off").contact is None


# --- what is left out -----------------------------------------------------------------------------------------------
def test_all_that_is_left_out_is_noted_with_its_count_and_motors_on_tendons_count(write):
    path = write(
        f'<mujoco><worldbody><light pos="0 0 1"/><camera pos="0 0 1"/><site name="s"/>'
        f'<body name="a"><joint name="j" axis="0 1 0"/>{BALL}<site name="r" pos="0 0 1"/>'
        f'<body name="b" pos="0 0 1"><joint name="k" axis="0 1 0"/>{BALL}<body name="c" pos="0 0 1">'
        f'<joint name="l"/>{BALL}</body></body></body><body name="m" mocap="true"/></worldbody>'
        '<contact><exclude body1="a" body2="b"/></contact><tendon><spatial name="line"><site site="s"/><site site="r"/>'
        '</spatial><fixed name="sum"><joint joint="j" coef="1"/><joint joint="k" coef="1"/></fixed></tendon>'
        '<actuator><motor tendon="sum"/><muscle tendon="line" lengthrange="0.1 1"/><position joint="j"/></actuator>'
        '<sensor><jointpos joint="j"/><jointpos joint="k"/></sensor></mujoco>'
    )
    notes = "\n".join(notes_of(path))
    left_out = "actuators", "act on no joint", "tendons", "<sensor>", "<contact>", "camera", "mocap"
    assert [word for word in left_out if word not in notes] == []
    assert assert_as_mujoco(path).actuated == ("j", "k")


@pytest.mark.parametrize("name", ["five_bar", "parallel_ankle"])
def test_a_written_robot_starts_with_closed_loops_in_mujoco(name):
    theirs, data = compiled(render(ada.load(name), "mjcf").texts[".xml"])
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    mujoco.mj_forward(theirs, data)
    assert data.nefc > 0 and np.max(np.abs(data.efc_pos)) < 1e-12


def test_motors_keep_the_order_of_the_actuators(write):
    path = write(
        f'<mujoco><worldbody><body><joint name="j" axis="0 1 0"/>{BALL}<body pos="0 0 1"><joint name="k" axis="0 1 0"/>'
        f'{BALL}</body></body></worldbody><actuator><motor joint="k"/><motor joint="j"/></actuator></mujoco>'
    )
    model = ada.load(path)
    assert model.actuated == ("k", "j")
    (text,) = render(model, "mjcf").texts.values()
    assert ada.load(text).actuated == model.actuated
