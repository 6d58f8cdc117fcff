# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""What the URDF reader makes of a document."""

import math

import numpy as np
import pytest

from ada_dynamics import ModelError
from ada_dynamics.errors import InputError
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


def test_a_missing_axis_is_x():
    assert load(arm()).joints["pivot"].axis.tolist() == [1.0, 0.0, 0.0]


def test_an_axis_of_any_length_is_a_direction():
    np.testing.assert_allclose(load(arm('<axis xyz="0 3 4"/>')).joints["pivot"].axis, [0.0, 0.6, 0.8], atol=1e-16)


def test_the_origin_of_an_inertial_turns_the_tensor_into_the_links_axes():
    inertial = """<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0.1"/></inertial>"""
    rod = load(arm(link=inertial)).links["rod"]
    np.testing.assert_allclose(rod.inertia, [[2, 0, -0.1], [0, 1, 0], [-0.1, 0, 2.5]], atol=1e-15)
    assert rod.com.tolist() == [1.0, 2.0, 3.0]


def test_a_quaternion_of_urdf_1_2_is_the_same_as_its_rpy():
    half = math.sqrt(0.5)
    by_quaternion = load(arm(f'<origin quat_xyzw="0 0 {half} {half}"/>', attributes='version="1.2"'))
    by_angles = load(arm(f'<origin rpy="0 0 {math.pi / 2}"/>'))
    np.testing.assert_allclose(
        by_quaternion.joints["pivot"].rotation, by_angles.joints["pivot"].rotation, rtol=0, atol=1e-15
    )


def test_limits_of_urdf_1_2_are_read_without_complaint():
    limit = '<limit lower="-1" upper="2" velocity="3" effort="4" acceleration="5" deceleration="6" jerk="7"/>'
    limits = load(arm(limit, attributes='version="1.2"')).joints["pivot"].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.0, 2.0, 3.0, 4.0)


def test_limits_may_be_infinite_and_absurdly_large_ones_are_infinite():
    limits = load(arm('<limit lower="-inf" upper="1.7e308" velocity="inf" effort="1"/>')).joints["pivot"].limits
    assert (limits.lower, limits.upper, limits.velocity) == (-math.inf, math.inf, math.inf)


def test_a_limit_without_bounds_means_zero_as_urdf_says():
    limits = load(arm('<limit velocity="1" effort="1"/>')).joints["pivot"].limits
    assert (limits.lower, limits.upper) == (0.0, 0.0)


def test_a_continuous_joint_has_no_bounds_even_if_they_are_given():
    joint = load(arm('<limit lower="0" upper="0" velocity="1" effort="2"/>', kind="continuous")).joints["pivot"]
    assert (joint.limits.lower, joint.limits.upper, joint.limits.effort) == (-math.inf, math.inf, 2.0)


def test_damping_friction_and_armature_are_read():
    model = load(arm('<dynamics damping="0.1" friction="0.2" armature="0.3"/>'))
    assert (model.damping[0], model.friction[0], model.armature[0]) == (0.1, 0.2, 0.3)


def test_drakes_rotor_inertia_and_gear_ratio_give_the_armature():
    transmission = """<transmission name="t"><joint name="pivot"/><actuator name="a">
      <drake:rotor_inertia value="3e-4"/><drake:gear_ratio value="50"/></actuator></transmission>"""
    assert load(arm(more=transmission)).armature[0] == pytest.approx(0.75, rel=1e-15)


@pytest.mark.parametrize("text", ["1", "+1", "1.", "1e0", "10e-1", "  1  ", ".1e1", "0.1E+1", "1.0000000000000000000"])
def test_numbers_are_read_as_cpp_writes_them(text):
    assert load(arm(f'<origin xyz="0 0 {text}"/>')).joints["pivot"].xyz[2] == 1.0


def test_numbers_keep_all_their_digits():
    assert load(arm('<origin xyz="0.1 1e-300 0.30000000000000004"/>')).joints["pivot"].xyz.tolist() == [
        0.1,
        1e-300,
        0.30000000000000004,
    ]


def test_vectors_may_be_separated_by_any_white_space():
    assert load(arm('<origin xyz=" 1\t2\n  3 "/>')).joints["pivot"].xyz.tolist() == [1.0, 2.0, 3.0]


def test_names_may_be_in_any_script():
    text = arm().replace("rod", "棒 №1").replace("pivot", "関節ß")
    model = load(text)
    assert model.joint_names == ["関節ß"]
    assert "棒 №1" in model.links


def test_a_link_without_inertial_has_no_mass_and_says_so():
    rod = load(arm(link="")).links["rod"]
    assert (rod.mass, rod.has_inertial) == (0.0, False)


def test_mixed_moments_may_be_left_out():
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    assert np.array_equal(load(arm(link=link)).links["rod"].inertia, np.eye(3))


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


# --- mimic ------------------------------------------------------------------------------------------------------
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


def test_mimic_free_gives_every_joint_its_own_coordinate():
    assert load(gripper(), mimic="free").joint_names == ["left", "right", "third"]


def test_mimic_free_does_not_care_whom_a_joint_mimics():
    assert load(gripper('<mimic joint="nobody"/>'), mimic="free").nq == 3


def test_mimic_refuse_names_the_joints():
    with pytest.raises(ModelError, match=r"'right', 'third'.*mimic='keep'"):
        load(gripper(), mimic="refuse")


def test_an_unknown_choice_for_mimic_is_refused():
    with pytest.raises(InputError, match="'keep', 'free', 'refuse'"):
        load(gripper(), mimic="maybe")


def test_a_fixed_joint_with_a_mimic_is_fixed():
    model = load(arm('<mimic joint="nobody"/>', kind="fixed"))
    assert model.nq == 0


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [
        ("revolute", 1, 1),
        ("continuous", 1, 1),
        ("prismatic", 1, 1),
        ("fixed", 0, 0),
        ("floating", 7, 6),
        ("planar", 3, 3),
        ("spherical", 4, 3),
        ("universal", 2, 2),
        ("cylindrical", 2, 2),
    ],
)
def test_joint_types_of_urdf_and_our_own_are_read(kind, nq, nv):
    model = load(arm(kind=kind))
    assert (model.nq, model.nv, model.joints["pivot"].kind) == (nq, nv, kind)


def test_a_universal_joint_has_two_axes():
    joint = load(arm('<axis xyz="1 0 0"/><axis2 xyz="0 0 2"/>', kind="universal")).joints["pivot"]
    assert joint.axis2 is not None
    assert (joint.axis.tolist(), joint.axis2.tolist()) == ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])


def test_the_base_may_float():
    model = load(arm(), base="floating")
    assert (model.nq, model.nv) == (8, 7)


def test_a_root_called_world_may_float():
    model = load(arm().replace('"base"', '"world"'), base="floating")
    assert (model.nv, len(model.tree.bodies)) == (7, 2)


def test_the_text_is_kept_as_the_models_source():
    assert load(arm()).source == arm()


def test_a_chain_of_ten_thousand_links_is_read():
    n = 10_000
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(n)
    )
    assert load(f"<robot name='chain'>{links}{joints}</robot>").nq == n


@pytest.mark.slow
@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_long_chain_is_read(n):
    links = "".join(f'<link name="l{i}">{SPHERE}</link>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 1"/></joint>'
        for i in range(n)
    )
    assert load(f"<robot name='chain'>{links}{joints}</robot>").nq == n


def test_a_chain_of_ten_thousand_mimics_is_resolved():
    n = 10_000
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l0"/><child link="l{i + 1}"/>'
        + (f'<mimic joint="j{i + 1}"/>' if i < n - 1 else "")
        + "</joint>"
        for i in range(n)
    )
    model = load(f"<robot name='m'>{links}{joints}</robot>")
    assert model.joint_names == [f"j{n - 1}"]
