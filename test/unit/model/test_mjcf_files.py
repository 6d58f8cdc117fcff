# SPDX-License-Identifier: Apache-2.0
"""MJCF as it is in the world: included files, meshes, replicates, bounds, flags and springs move as in MuJoCo."""

import struct
from pathlib import Path

import numpy as np
import pytest
from refused import refusal

import ada_dynamics as ada
from ada_dynamics.robots.load import find_robot
from ada_dynamics.robots.readers.mjcf.meshes import bulk_of
from benchmarks.mjcf_comparison import compare

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.usefixtures("elsewhere")

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
    return find_robot(path)[1].notes


def assert_as_mujoco(path, tolerance=ROUNDING):
    found = compare(path)
    assert found.worst < tolerance, found
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
         ("'a.xml'", "included already")),
        ({"robot": '<mujoco><include file="no.xml"/></mujoco>'}, ("'no.xml'", "not there", "Looked for")),
        ({"robot": "<mujoco><include/></mujoco>"}, ("has no file",)),
        ({"robot": '<mujoco><include file="a.xml"/></mujoco>', "a": "<mujoco><body></mujoco>"},
         ("a.xml", "mismatched tag")),
        ({"robot": '<mujoco><worldbody><include file="a.xml"/></worldbody></mujoco>',
          "a": '<mujoco>\n<body name="x">\n<joint damping="-1"/></body></mujoco>'},
         ("a.xml, line 3", "damping=-1")),
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


def msh(path, vertices, faces):
    head = struct.pack("<4i", len(vertices), 0, 0, len(faces))
    path.write_bytes(head + vertices.astype("<f4").tobytes() + faces.astype("<i4").tobytes())


WRITERS = {"stl": stl, "obj": obj, "msh": msh}
MESHES = {
    "plain": "",
    "scaled": 'scale="0.5 2 1.5"',
    "mirrored": 'scale="-1 1 2"',
    "moved": 'refpos="0.1 0.2 -0.1" refquat="1 2 -1 0.5"',
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("kind", ["legacy", "exact", "convex", "shell"])
def test_the_inertia_of_a_mesh_is_that_of_mujoco(tmp_path, ending, kind, write):
    if kind == "convex":
        pytest.importorskip("scipy")
    (tmp_path / "meshes").mkdir()
    WRITERS[ending](tmp_path / f"meshes/bent.{ending}", *_bent())
    meshes = "".join(
        f'<mesh name="{name}" file="bent.{ending}" inertia="{kind}" {how}/>' for name, how in MESHES.items()
    )
    mass = ("", 'mass="2"')
    bodies = "".join(
        f'<body name="{name}" pos="0 0 {i}"><joint name="{name}" axis="1 2 3" pos="0.1 0 0"/>'
        f'<geom type="mesh" mesh="{name}" pos="0.1 0.2 0.3" euler="10 20 30" {mass[i % 2]}/></body>'
        for i, name in enumerate(MESHES)
    )
    path = write(
        f'<mujoco><compiler meshdir="meshes"/><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>',
    )
    assert_as_mujoco(path, 1e-6 if kind == "convex" else ROUNDING)  # hulls of single-precision points


def test_the_inertia_of_a_box_of_triangles_is_that_of_the_box():
    corners = np.array([(x, y, z) for x in (0.0, 0.2) for y in (0.0, 0.4) for z in (0.0, 0.6)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]
    for kind in ("legacy", "exact"):
        found = bulk_of(corners[np.array(faces)], kind)
        assert found.size == pytest.approx(0.048, rel=1e-12)
        np.testing.assert_allclose(found.centre, [0.1, 0.2, 0.3], rtol=1e-12)
        wanted = 0.048 / 12.0 * np.diag([0.4**2 + 0.6**2, 0.2**2 + 0.6**2, 0.2**2 + 0.4**2])
        np.testing.assert_allclose(found.inertia, wanted, rtol=0, atol=1e-15)


def test_a_mesh_is_named_after_its_file_and_may_have_its_triangles_in_the_document(tmp_path, write):
    vertices, faces = _bent()
    stl(tmp_path / "bent.stl", vertices, faces)
    points, corners = (" ".join(map(str, x.ravel().tolist())) for x in (vertices, faces))
    path = write(
        f'<mujoco><compiler strippath="true"/><asset><mesh file="else/bent.stl"/>'
        f'<mesh name="own" vertex="{points}" face="{corners}" inertia="exact"/></asset><worldbody>'
        '<body name="a"><joint axis="0 1 1"/><geom type="mesh" mesh="bent"/></body>'
        '<body name="b"><freejoint/><geom type="mesh" mesh="own" density="300"/></body></worldbody></mujoco>',
    )
    assert_as_mujoco(path)


@pytest.mark.parametrize(
    "mesh, words",
    [
        ('file="no.stl"', ("no.stl", "no such file")),
        ('file="text.stl"', ("text.stl", "no STL file")),
        ('file="text.dae"', ("text.dae", "not read", ".msh")),
        ('file="flat.obj" inertia="exact"', ("mesh 'm'", "volume", 'inertia="shell"')),
        ('builtin="sphere" params="1"', ("mesh 'm'", "builtin")),
        ('file="bent.stl" inertia="some"', ("inertia='some'",)),
    ],
)
def test_a_mesh_that_gives_no_mass_is_refused_by_name(tmp_path, mesh, words, write):
    stl(tmp_path / "bent.stl", *_bent())
    (tmp_path / "text.stl").write_text("solid x\nendsolid x\n" + " " * 100)
    (tmp_path / "text.dae").write_text("<COLLADA/>")
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    body = '<body name="a"><joint/><geom type="mesh" mesh="m"/></body>'
    path = write(f'<mujoco><asset><mesh name="m" {mesh}/></asset><worldbody>{body}</worldbody></mujoco>')
    refusal(path, "line 1", *words)


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
def test_replicates_are_written_out_with_the_names_and_places_of_mujoco(write):
    path = write(
        '<mujoco><compiler eulerseq="zyx"/><worldbody><replicate count="3" offset="0.3 0.1 0" euler="30 0 10">'
        '<body name="ring" pos="1 0 0"><joint name="j" axis="0 1 0"/><geom size="0.1"/>'
        '<replicate count="11" offset="0 0 0.2" sep="-"><body name="bead" pos="0 0 0.1"><joint name="k" axis="1 0 0"/>'
        '<geom type="capsule" size="0.02 0.05"/></body></replicate></body></replicate></worldbody></mujoco>',
    )
    model = assert_as_mujoco(path)
    assert model.nv == 36
    assert {"j0", "k-000", "k-102"} <= set(model.joint_names)


def test_a_springdamper_is_the_spring_and_damper_that_mujoco_makes_of_the_inertia_behind(write):
    path = write(
        '<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0" springdamper="0.1 0.7" ref="20"'
        f' springref="10"/>{BALL}<body name="b" pos="0 0 0.4"><joint name="ball" type="ball" springdamper="0.2 1"'
        f' armature="0.01"/>{BALL}<body name="c" pos="0.3 0 0"><joint name="k" axis="1 0 0"/>{BALL}</body></body>'
        '</body></worldbody><equality><joint joint1="k" joint2="j"/></equality></mujoco>',
    )
    model = assert_as_mujoco(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    for name in ("j", "ball"):
        assert model.joints[name].stiffness == pytest.approx(theirs.joint(name).stiffness.ravel()[0], rel=1e-12)


def test_an_equality_of_a_tendon_over_two_joints_ties_them(write):
    bodies = "".join(
        f'<body name="{name}" pos="{i} 0 0"><joint name="{name}" axis="0 1 0" ref="{10 * i}"/>{BALL}</body>'
        for i, name in enumerate("abc")
    )
    path = write(
        f"<mujoco><worldbody>{bodies}</worldbody><tendon>"
        '<fixed name="t"><joint joint="a" coef="0.5"/><joint joint="c" coef="-2"/></fixed></tendon>'
        '<equality><tendon tendon1="t" polycoef="0.3"/></equality></mujoco>',
    )
    model = assert_as_mujoco(path)
    # ½ a - 2 (c - c0) = 0.3, with c0 = 20 deg
    mimic = model.joints["c"].mimic
    assert (mimic.joint, mimic.multiplier) == ("a", 0.25)
    assert mimic.offset == pytest.approx(np.radians(20.0) - 0.15, rel=1e-14)


def test_the_gap_of_a_connect_is_that_of_mujoco_wherever_the_joints_are(write):
    rods = [f'<geom type="capsule" size="0.03" fromto="0 0 0 0 0 {length}"/>' for length in (0.5, 0.4)]
    path = write(
        f'<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>{rods[0]}<body name="b" pos="0 0 0.5">'
        f'<joint axis="0 1 0"/>{rods[1]}</body></body></worldbody><equality>'
        '<connect body1="b" anchor="0 0 0.4"/></equality></mujoco>',
    )
    found = compare(path)
    assert found.loops == 1
    assert found.gaps < ROUNDING


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
        '<sensor><jointpos joint="j"/><jointpos joint="k"/></sensor><keyframe><key qpos="1 1 1"/></keyframe></mujoco>',
    )
    notes = "\n".join(notes_of(path))
    for said in (
        "1 motor, 1 muscle, 1 position: actuators are left out",
        "1 muscle among them act on no joint",
        "1 fixed, 1 spatial: tendons",
        "2 jointpos: sensors",
        "1 exclude: contact rules",
        "1 key: keyframes",
        "1 camera, 1 light",
        "body 'm' is moved by motion capture (mocap)",
    ):
        assert said in notes, said
    assert assert_as_mujoco(path).actuated == ("j", "k")


def test_files_of_the_mujoco_wheel_are_refused_for_what_they_have_and_nothing_else():
    folder = Path(mujoco.__file__).parent / "testdata"
    refusal(folder / "model.xml", "model.xml, line 2: <option>: <option> has density")
    refusal(folder / "msh.xml", "without a <worldbody>")
