# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Every mistake in a URDF is refused with a message that says where it is and what is allowed."""

import re

import pytest
from refused import damaged, refusal

import ada_dynamics as ada
from ada_dynamics import ModelError

GOOD = """<robot name="arm">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 1" rpy="0 0 0"/>
      <mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
  </link>
  <joint name="pivot" type="revolute">
    <parent link="base"/>
    <child link="rod"/>
    <origin xyz="0 0 1"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
    <dynamics damping="0" friction="0"/>
  </joint>
</robot>"""

# What is replaced by what, and what the message must say.
MISTAKES = {
    "mass_not_a_number": ('mass value="1"', 'mass value="abc"', "line 6", "link 'rod'", "<mass>", "value='abc'", "not a"),
    "mass_nan": ('mass value="1"', 'mass value="NaN"', "line 6", "'NaN' is not a finite number"),
    "mass_inf": ('mass value="1"', 'mass value="inf"', "line 6", "'inf' is not a finite number"),
    "mass_too_large": ('mass value="1"', 'mass value="1e300"', "line 6", "too large", "1e+30"),
    "mass_negative": ('mass value="1"', 'mass value="-1"', "line 3", "link 'rod'", "mass", "-1 kg", "not be negative"),
    "mass_empty": ('mass value="1"', 'mass value=""', "line 6", "is empty"),
    "mass_missing_value": ('mass value="1"', "mass", "line 6", "no attribute 'value'"),
    "mass_comma": ('mass value="1"', 'mass value="0,5"', "line 6", "decimal comma"),
    "mass_underscore": ('mass value="1"', 'mass value="1_000"', "line 6", "not a number"),
    "mass_unicode_digits": ('mass value="1"', 'mass value="１"', "line 6", "not a number"),
    "mass_hex": ('mass value="1"', 'mass value="0x10"', "line 6", "not a number"),
    "mass_long": ('mass value="1"', f'mass value="{"1" * 1000}"', "line 6", "1000 characters"),
    "mass_xacro": ('mass value="1"', 'mass value="${m}"', "line 6", "xacro"),
    "no_mass": ('<mass value="1"/>', "", "line 4", "<inertial> has no <mass>"),
    "no_inertia": ('<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', "", "line 4", "no <inertia>"),
    "no_ixx": ('ixx="1" ', "", "line 7", "no attribute 'ixx'"),
    "no_ixz": (' ixz="0"', "", "line 7", "link 'rod'", "no attribute 'ixz'"),
    "two_inertials": ("</inertial>", "</inertial><inertial/>", "link 'rod'", "2 <inertial> elements", "lines 4, 8"),
    "two_numbers": ('origin xyz="0 0 1"/', 'origin xyz="0 1"/', "line 13", "joint 'pivot'", "2 numbers instead of 3"),
    "bad_vector": ('axis xyz="0 0 1"', 'axis xyz="0 0 z"', "line 14", "<axis> xyz='0 0 z'", "3 finite numbers"),
    "zero_axis": ('axis xyz="0 0 1"', 'axis xyz="0 0 0"', "line 14", "joint 'pivot'", "length zero", "0 0 1"),
    "no_axis_xyz": ('axis xyz="0 0 1"', "axis", "line 14", "no attribute 'xyz'"),
    "inverted": ('lower="-1"', 'lower="2"', "line 15", "joint 'pivot'", "lower 2 is above upper 1"),
    "limit_nan": ('lower="-1"', 'lower="nan"', "line 15", "not a finite number", "or inf"),
    "effort_negative": ('effort="1"', 'effort="-1"', "line 15", "effort is -1"),
    "damping_negative": ('damping="0"', 'damping="-1"', "line 16", "damping is -1", "not be negative"),
    "unknown_type": ('"revolute"', '"revolut"', "line 10", "joint 'pivot'", "Did you mean 'revolute'", "prismatic"),
    "euler_type": ('"revolute"', '"spherical_euler"', "line 10", "no joint type"),
    "no_type": (' type="revolute"', "", "line 10", "no attribute 'type'"),
    "no_name": ('joint name="pivot"', "joint", "line 10", "no attribute 'name'"),
    "empty_link_name": ('link name="rod"', 'link name=" "', "line 3", "empty attribute 'name'"),
    "no_parent": ('<parent link="base"/>', "", "line 10", "no <parent>", '<parent link="..."/>'),
    "no_child_link": ('<child link="rod"/>', "<child/>", "line 12", "<child> has no attribute 'link'"),
    "unknown_link": ('parent link="base"', 'parent link="bas"', "line 10", "its parent", "Did you mean 'base'"),
    "self_joint": ('parent link="base"', 'parent link="rod"', "line 10", "'rod' to itself"),
    "two_roots": ('<link name="base"/>', '<link name="base"/><link name="other"/>', "2 links have no parent", "'other'"),
    "duplicate_link": ('<link name="base"/>', '<link name="base"/>\n<link name="base"/>', "line 3", "'base'", "lines 2, 3"),
    "duplicate_joint": ("</robot>", '<joint name="pivot" type="fixed"><parent link="rod"/><child link="base"/></joint></robot>', "joint 'pivot'", "lines 10, 18"),
    "two_parents": ("</robot>", '<joint name="again" type="fixed"><parent link="base"/><child link="rod"/></joint></robot>', "link 'rod'", "2 joints: 'pivot' (line 10), 'again' (line 18)", "loop joint"),
    "cycle": ("</robot>", '<joint name="back" type="fixed"><parent link="rod"/><child link="base"/></joint></robot>', "cycle", "'pivot' -> 'back'"),
    "mimic_unknown": ("</joint>", '<mimic joint="pivo"/></joint>', "line 10", "Did you mean 'pivot'"),
    "mimic_itself": ("</joint>", '<mimic joint="pivot"/></joint>', "line 10", "mimics itself: 'pivot' -> 'pivot'"),
    "mimic_nan": ("</joint>", '<mimic joint="pivot" multiplier="nan"/></joint>', "multiplier='nan'"),
    "two_orientations": ('xyz="0 0 1" rpy="0 0 0"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"', "line 5", "both 'rpy' and 'quat_xyzw'"),
    "quaternion_length": ('rpy="0 0 0"', 'quat_xyzw="0 0 0 2"', "line 5", "length 2"),
    "version": ('name="arm"', 'name="arm" version="2.0"', "line 1", "version='2.0'", "1.0, 1.1 and 1.2"),
    "xacro": ('<link name="base"/>', '<link name="base"/><xacro:property name="x" value="1"/>', "line 2", "unexpanded xacro"),
    "mimic_ball": ("</joint>", '<mimic joint="ball"/></joint><link name="x"/><joint name="ball" type="spherical"><parent link="rod"/><child link="x"/></joint>', "line 10", "joint 'ball' is spherical"),
    "universal_axes": ('"revolute">', '"universal"><axis2 xyz="0 1 1"/>', "line 10", "not perpendicular"),
    "two_rotors": ('friction="0"/>\n  </joint>', 'friction="0" armature="1"/></joint><transmission name="t"><joint name="pivot"/><actuator name="a"><drake:rotor_inertia value="1"/></actuator></transmission>', "line 16", "both give its rotor inertia"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_by_name(mistake, write):
    old, new, *said = MISTAKES[mistake]
    file = write(damaged(GOOD, old, new))
    message = refusal(file, *said)
    assert message.startswith(str(file))
    assert re.search(r"line \d+", message)


def test_the_document_without_mistakes_is_read_and_one_without_links_refused():
    assert ada.load(GOOD).nq == 1
    refusal("<robot name='r'/>", "has no links")


@pytest.mark.parametrize(
    ("root", "likeness"),
    [
        ("sdf", "SDFormat"),
        ("mujoco", "MuJoCo"),
        ("html", "web page"),
        ("HTML", "web page"),
        ("package", "package.xml"),
        ("COLLADA", "mesh"),
        ("banana", "a URDF starts with <robot"),
    ],
)
def test_another_kind_of_document_is_refused_with_what_it_looks_like(root, likeness):
    with pytest.raises(ModelError, match=f"line 2.*<{root}>.*{likeness}"):
        ada.load(f'<?xml version="1.0"?>\n<{root}/>')
