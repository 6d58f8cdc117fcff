# SPDX-License-Identifier: Apache-2.0
"""Shapes come with links: read from URDF, MJCF and SDFormat, kept by edits, written back; bad ones harm nothing."""

import logging

import numpy as np
import pytest

from ada_dynamics import check
from ada_dynamics.contact.shape_contacts import hull_contacts
from ada_dynamics.model import Model
from ada_dynamics.model.edit import lock, merge, with_gravity
from ada_dynamics.model.elements import PLAIN
from ada_dynamics.robots.load import load
from ada_dynamics.robots.writers import render

ROBOT = """<robot name="r">
  <material name="red"><color rgba="0.8 0.1 0.1 1"/></material>
  <link name="a">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="1 2 3" rpy="0 0 1.5"/><geometry><box size="0.1 0.2 0.3"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><sphere radius="0.5"/></geometry>
      <material name="own"><color rgba="0 1 0 0.5"/></material></visual>
    <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>
  </link>
  <link name="b">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://p/b.stl" scale="2 2 2"/></geometry><material name="own"/></visual>
    <visual><geometry><capsule radius="0.1" length="0.4"/></geometry></visual>
  </link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
</robot>"""


def assert_same_shapes(one: Model, other: Model, but_meshes: bool = False) -> None:
    for name, link in one.links.items():
        for mine, theirs in (
            (link.visuals, other.links[name].visuals),
            (link.collisions, other.links[name].collisions),
        ):
            wanted = [s for s in mine if not (but_meshes and s.kind == "mesh")]
            assert [s.kind for s in wanted] == [s.kind for s in theirs]
            for a, b in zip(wanted, theirs, strict=True):
                assert (a.size, a.mesh, a.rgba) == (pytest.approx(b.size, rel=1e-15), b.mesh, b.rgba)
                np.testing.assert_array_equal(a.xyz, b.xyz)
                np.testing.assert_allclose(a.rotation, b.rotation, atol=1e-15)


def test_shapes_of_a_urdf_have_kind_size_place_and_colour_which_another_link_may_define():
    a, b = (load(ROBOT).links[name] for name in "ab")
    found = [(s.kind, s.size, s.rgba, s.mesh) for s in (*a.visuals, *a.collisions, *b.visuals)]
    assert found == [
        ("box", (0.1, 0.2, 0.3), (0.8, 0.1, 0.1, 1.0), None),
        ("sphere", (0.5,), (0.0, 1.0, 0.0, 0.5), None),
        ("cylinder", (0.1, 0.4), PLAIN, None),
        ("mesh", (2.0, 2.0, 2.0), (0.0, 1.0, 0.0, 0.5), "package://p/b.stl"),
        ("capsule", (0.1, 0.4), PLAIN, None),
    ]
    np.testing.assert_array_equal(a.visuals[0].xyz, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(a.visuals[0].rotation[:, 0], [np.cos(1.5), np.sin(1.5), 0.0], atol=1e-15)


def test_a_colour_without_a_name_is_that_of_its_shape_only():
    box = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'
    boxes = box.format('<material><color rgba="1 0 0 1"/></material>') + box.format("<material/>")
    (red, plain) = load(f'<robot name="r"><link name="a">{boxes}</link></robot>').links["a"].visuals
    assert (red.rgba, plain.rgba) == ((1.0, 0.0, 0.0, 1.0), PLAIN)


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ('<box size="1 2"/>', "not-a-number"),
        ('<box size="1 2 nan"/>', "not-a-number"),
        ("<box/>", "missing-attribute"),
        ('<sphere radius="x"/>', "not-a-number"),
        ('<sphere radius="-1"/>', "shape-size"),
        ('<cylinder radius="1"/>', "missing-attribute"),
        ('<capsule radius="1" length="1e400"/>', "not-a-number"),
    ],
)
def test_a_shape_that_cannot_be_read_is_left_out_and_the_check_warns_of_it(broken, code, caplog):
    text = ROBOT.replace('<sphere radius="0.5"/>', broken)
    with caplog.at_level(logging.INFO, "ada_dynamics"):
        assert [s.kind for s in load(text).links["a"].visuals] == ["box"]
    assert "shapes with" in caplog.text
    assert "line 7" in caplog.text
    report = check(text)
    assert report.ok
    assert code in {finding.code for finding in report.warnings if finding.line == 7}


def test_edits_keep_shapes():
    model = load(ROBOT)
    assert_same_shapes(model, with_gravity(model, (0, 0, -1)))
    assert_same_shapes(model, lock(model, {"j": 0.3}))
    both = merge(model, model, "b", prefix="second_")
    assert_same_shapes(model, both)
    assert len(both.links["second_a"].visuals) == 2


@pytest.mark.parametrize("spelling", ["loop_joint", "mjcf"])
def test_shapes_are_written_so_that_they_read_back(spelling):
    model = with_gravity(load(ROBOT), (0, 0, -9.81))  # so that there is no text of a URDF to copy them from
    rendered = render(model, spelling)
    (text,) = rendered.texts.values()
    assert_same_shapes(model, load(text), but_meshes=spelling == "mjcf")
    if spelling == "mjcf":
        assert any("meshes" in note for note in rendered.notes)


def test_geoms_of_mjcf_are_seen_or_touch_by_group_and_contype():
    model = load(
        """<mujoco><asset><material name="blue" rgba="0 0 1 1"/></asset>
        <worldbody><body name="a"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom type="box" size="1 2 3" material="blue"/>
        <frame pos="0 0 1"><geom type="capsule" fromto="0 0 0 0 0 2" size="0.1" contype="0" conaffinity="0"/></frame>
        <geom type="cylinder" size="0.1 0.5" group="3" rgba="1 0 0 1"/>
        <geom type="box" size="1 1 1" group="3" contype="0" conaffinity="0"/>
        <geom type="ellipsoid" size="1 1 1"/>
        </body></worldbody></mujoco>"""
    )
    seen, touching = model.links["a"].visuals, model.links["a"].collisions
    assert [s.kind for s in seen] == ["box", "capsule"]
    assert [s.kind for s in touching] == ["box", "cylinder"]
    assert (seen[0].size, seen[0].rgba) == ((2.0, 4.0, 6.0), (0.0, 0.0, 1.0, 1.0))
    assert seen[1].size == (0.1, 2.0)
    np.testing.assert_array_equal(seen[1].xyz, [0.0, 0.0, 2.0])
    assert (touching[1].size, touching[1].rgba) == ((0.1, 1.0), (1.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize("group", [0, 3])
def test_geoms_without_contact_do_not_touch_the_ground(group):
    free = '<body name="{}"><freejoint/><geom type="sphere" size="0.1" {}/></body>'
    without = f'contype="0" conaffinity="0" group="{group}"'
    bodies = free.format("seen", without) + free.format("touching", 'contype="1" conaffinity="0"')
    model = load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    found = hull_contacts(model, model.neutral())
    assert [ball.link for ball in found.spheres] == ["touching"]
    assert found.points == []
