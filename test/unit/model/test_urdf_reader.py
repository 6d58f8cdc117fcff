# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""A URDF document becomes the model that it describes."""

import math

import numpy as np
import pytest

from ada_dynamics.model import Limits
from ada_dynamics.robots.load import load

SPHERE = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def arm(joint: str = "", link: str = SPHERE, kind: str = "revolute", more: str = "", attributes: str = "") -> str:
    return f"""<robot name="arm" {attributes}>
  <link name="base"/>
  <link name="rod">{link}</link>
  <joint name="pivot" type="{kind}"><parent link="base"/><child link="rod"/>{joint}</joint>
  {more}
</robot>"""


def test_joints_are_in_depth_first_order_with_children_in_the_order_of_the_file():
    def joint(name: str, parent: str, child: str) -> str:
        return f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint>'

    links = "".join(f'<link name="{n}">{SPHERE}</link>' for n in "abcde")
    order = [("late", "d", "e"), ("first", "a", "b"), ("second", "a", "d"), ("below", "b", "c")]
    model = load(f"<robot name='r'>{links}{''.join(joint(*j) for j in order)}</robot>")
    assert model.joint_names == ["first", "below", "second", "late"]
    assert model.root == "a"


INF = math.inf
URDF_1_2 = 'version="1.2"'
ROTOR = """<transmission name="t"><joint name="pivot"/><actuator name="a">
  <drake:rotor_inertia value="3e-4"/><drake:gear_ratio value="50"/></actuator></transmission>"""
NEWER_LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4" acceleration="5" deceleration="6" jerk="7"/>'
HALF = math.sqrt(0.5)
QUARTER_TURN = [0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
# What the document says of its joint -> which value of the joint it gives.
PIVOT = {
    "a missing axis is x": (arm(), "axis", [1.0, 0.0, 0.0]),
    "an axis of any length is a direction": (arm('<axis xyz="0 3 4"/>'), "axis", pytest.approx([0.0, 0.6, 0.8], abs=1e-16)),
    "a quaternion of URDF 1.2": (arm(f'<origin quat_xyzw="0 0 {HALF} {HALF}"/>', attributes=URDF_1_2), "rotation", pytest.approx(QUARTER_TURN, rel=0, abs=1e-15)),
    "the same in rpy": (arm(f'<origin rpy="0 0 {math.pi / 2}"/>'), "rotation", pytest.approx(QUARTER_TURN, rel=0, abs=1e-15)),
    "limits of URDF 1.2": (arm(NEWER_LIMIT, attributes=URDF_1_2), "limits", Limits(-1.0, 2.0, 3.0, 4.0)),
    "infinite limits and absurdly large ones": (arm('<limit lower="-inf" upper="1.7e308" velocity="inf" effort="1"/>'), "limits", Limits(-INF, INF, INF, 1.0)),
    "a limit without both bounds is none": (arm('<limit velocity="1" effort="1"/>'), "limits", Limits(-INF, INF, 1.0, 1.0)),
    "one missing bound means zero": (arm('<limit lower="-1" velocity="1" effort="1"/>'), "limits", Limits(-1.0, 0.0, 1.0, 1.0)),
    "a continuous joint has no bounds": (arm('<limit lower="0" upper="0" velocity="1" effort="2"/>', kind="continuous"), "limits", Limits(-INF, INF, 1.0, 2.0)),
    "drake's rotor inertia and gear ratio": (arm(more=ROTOR), "armature", pytest.approx(0.75, rel=1e-15)),
    "numbers keep all their digits": (arm('<origin xyz="0.1 1e-300 0.30000000000000004"/>'), "xyz", [0.1, 1e-300, 0.30000000000000004]),
    "any white space separates": (arm('<origin xyz=" 1\t2\n  3 "/>'), "xyz", [1.0, 2.0, 3.0]),
    "a universal joint has a second axis": (arm('<axis xyz="1 0 0"/><axis2 xyz="0 0 2"/>', kind="universal"), "axis2", [0.0, 0.0, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("words", PIVOT)
def test_a_joint_has_the_values_that_its_document_says(words):
    text, field, wanted = PIVOT[words]
    found = getattr(load(text).joints["pivot"], field)
    assert (found.ravel().tolist() if isinstance(found, np.ndarray) else found) == wanted


@pytest.mark.parametrize("text", ["1", "+1", "1.", "1e0", "10e-1", "  1  ", ".1e1", "0.1E+1", "1.0000000000000000000"])
def test_numbers_are_read_as_cpp_writes_them(text):
    assert load(arm(f'<origin xyz="0 0 {text}"/>')).joints["pivot"].xyz[2] == 1.0


def test_the_origin_of_an_inertial_turns_the_tensor_into_the_links_axes():
    inertial = """<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="1" iyy="2" izz="2.5" iyz="0.1" ixy="0" ixz="0"/></inertial>"""
    rod = load(arm(link=inertial)).links["rod"]
    np.testing.assert_allclose(rod.inertia, [[2, 0, -0.1], [0, 1, 0], [-0.1, 0, 2.5]], atol=1e-15)
    assert rod.com.tolist() == [1.0, 2.0, 3.0]


def test_everything_that_is_not_dynamics_is_skipped():
    more = """
  <gazebo reference="rod"><mu1>not a number</mu1><sensor type="camera" name="c"/></gazebo>
  <ros2_control name="x" type="system"><joint name="pivot"><command_interface name="effort"/></joint></ros2_control>
  <transmission name="t"><joint name="pivot"><hardwareInterface>x</hardwareInterface></joint>
    <actuator name="a"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <sensor name="s" update_rate="1"><parent link="rod"/></sensor>
  <controller:gazebo_ros_bumper name="unbound prefix"/>
  <material name="m"><color rgba="1 1 1 x"/></material>"""
    joint = '<safety_controller k_velocity="x"/><calibration rising="y"/>'
    link = SPHERE + '<visual><geometry><mesh filename="package://nowhere/x.dae"/></geometry></visual>'
    model = load(arm(joint, link=link, more=more))
    assert (model.nq, len(model.links)) == (1, 2)


def test_fixed_joints_in_a_row_keep_their_frames_and_masses():
    text = f"""<robot name="r"><link name="a"/><link name="b">{SPHERE}</link><link name="c">{SPHERE}</link>
      <link name="d">{SPHERE}</link>
      <joint name="turn" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
      <joint name="f" type="fixed"><parent link="b"/><child link="c"/><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/></joint>
      <joint name="g" type="fixed"><parent link="c"/><child link="d"/><origin xyz="1 0 0"/></joint></robot>"""
    tree = load(text).tree
    assert len(tree.bodies) == 1
    body = tree.bodies[0].inertia
    assert body.mass == 6.0
    np.testing.assert_allclose(body.first_moment, [2 * 0 + 2 * 1 + 2 * 1, 2.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(tree.frames["d"].pose.position, [1.0, 1.0, 0.0], atol=1e-15)


def gripper(mimic: str = '<mimic joint="left" multiplier="-2" offset="0.5"/>') -> str:
    links = "".join(f'<link name="{n}">{SPHERE}</link>' for n in ("hand", "l", "r", "x"))
    joints = [("left", "l", ""), ("right", "r", mimic), ("third", "x", '<mimic joint="right" multiplier="3"/>')]
    return f"<robot name='g'>{links}" + "".join(
        f'<joint name="{n}" type="prismatic"><parent link="hand"/><child link="{c}"/><limit lower="-1" upper="1"'
        f' velocity="1" effort="1"/>{m}</joint>'
        for n, c, m in joints
    ) + "</robot>"  # fmt: skip


def test_a_mimicking_joint_follows_through_chains():
    model = load(gripper())
    assert model.joint_names == ["left"]
    third = model.joints["third"].mimic
    assert third is not None
    assert (third.joint, third.multiplier, third.offset) == ("left", -6.0, 1.5)


@pytest.mark.parametrize("mimic", ['<mimic joint="left" multiplier="-2" offset="0.5"/>', '<mimic joint="nobody"/>'])
def test_mimic_free_gives_every_joint_its_own_coordinate_whomever_it_mimics(mimic):
    assert load(gripper(mimic), mimic="free").joint_names == ["left", "right", "third"]


@pytest.mark.parametrize("root", ["base", "world"])
def test_the_base_may_float_whatever_its_name(root):
    model = load(arm().replace('"base"', f'"{root}"'), base="floating")
    assert (model.nq, model.nv, len(model.tree.bodies)) == (8, 7, 2)


@pytest.mark.parametrize(
    ("links", "inside"), [(5_000, ""), pytest.param(100_000, SPHERE, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_a_long_chain_is_read(links, inside):
    parts = [f'<link name="l{i}">{inside}</link>' for i in range(links + 1)]
    parts += [
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 1"/></joint>'
        for i in range(links)
    ]
    assert load(f"<robot name='chain'>{''.join(parts)}</robot>").nq == links


def test_a_long_chain_of_mimics_is_resolved():
    n = 2_000  # far deeper than Python's stack
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l0"/><child link="l{i + 1}"/>'
        + (f'<mimic joint="j{i + 1}"/>' if i < n - 1 else "")
        + "</joint>"
        for i in range(n)
    )
    model = load(f"<robot name='m'>{links}{joints}</robot>")
    assert model.joint_names == [f"j{n - 1}"]
