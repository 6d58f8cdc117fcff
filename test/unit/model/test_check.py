# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""`check` reports everything that is wrong or odd, and nothing else."""

import pytest

from ada_dynamics.robots.check import check
from ada_dynamics.robots.check.report import CheckReport

# A steel rod of 1 m length and 5 cm diameter, on a pivot.
GOOD = """<robot name="arm">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 0.5"/>
      <mass value="15.3"/>
      <inertia ixx="1.2774" ixy="0" ixz="0" iyy="1.2774" iyz="0" izz="0.0047875"/>
    </inertial>
    <collision>
      <origin xyz="0 0 0.5"/>
      <geometry><cylinder radius="0.025" length="1"/></geometry>
    </collision>
  </link>
  <joint name="pivot" type="revolute">
    <parent link="base"/>
    <child link="rod"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
    <dynamics damping="0" friction="0"/>
  </joint>
</robot>"""


def moments(xx, yy, zz):
    return f'ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"'


MOMENTS = 'ixx="1.2774" ixy="0" ixz="0" iyy="1.2774" iyz="0" izz="0.0047875"'
INERTIAL = GOOD[GOOD.index("    <inertial>") : GOOD.index("    <collision>")]
MORE_JOINT = (
    '<link name="tip"/><joint name="tip_joint" type="{}"><parent link="rod"/><child link="tip"/>{}</joint></robot>'
)


def found(text: str, **options) -> dict[str, str]:
    return {f.code: f.severity for f in check(text, **options).findings}


def test_a_sound_description_has_no_findings():
    assert check(GOOD).findings == []
    assert check(GOOD, base="floating").ok is False  # its base has no mass


# What is replaced by what -> the only findings.
ODDITIES = {
    "negative mass": ('value="15.3"', 'value="-15.3"', {"invalid-value": "error"}),
    "inertia without mass": ('value="15.3"', 'value="0"', {"mass-zero": "warning", "massless": "warning"}),
    "mass in one point": (MOMENTS, moments("0", "0", "0"), {"inertia-zero": "warning"}),
    "negative moment": ('ixx="1.2774"', 'ixx="-1.2774"', {"inertia-negative": "error"}),
    "mixed moment too large": ('ixz="0"', 'ixz="0.5"', {"inertia-negative": "error"}),
    "impossible moments": ('izz="0.0047875"', 'izz="4"', {"inertia-triangle": "error"}),
    "slightly impossible": ('ixx="1.2774"', 'ixx="1.290"', {"inertia-triangle": "warning"}),
    "within rounding": (MOMENTS, moments("1.277", "1.279", "0.001"), {}),
    "all ones": (MOMENTS, moments("1", "1", "1"), {"inertia-placeholder": "warning"}),
    "all thousandths": (MOMENTS, moments("0.001", "0.001", "0.001"), {"inertia-placeholder": "warning"}),
    "kg mm²": (MOMENTS, moments("1277400", "1277400", "4787.5"), {"inertia-too-big": "warning"}),
    "grams": ('value="15.3"', 'value="15300"', {"mass-too-big": "warning"}),
    "com in mm": ('<origin xyz="0 0 0.5"/>\n      <mass', '<origin xyz="0 0 500"/>\n      <mass', {"com-far": "warning"}),
    "mm": ('xyz="0 0 1" rpy', 'xyz="0 0 1000" rpy', {"far-joint": "warning"}),
    "rpy in degrees": ('rpy="0 0 0"', 'rpy="90 0 0"', {"rpy-degrees": "warning"}),
    "limits in degrees": ('lower="-1" upper="1"', 'lower="-90" upper="180"', {"limit-degrees": "warning"}),
    "many turns": ('lower="-1" upper="1"', 'lower="-100" upper="100"', {}),
    "turns without end": ('lower="-1" upper="1"', 'lower="-1e16" upper="1e16"', {}),
    "inverted": ('lower="-1"', 'lower="2"', {"invalid-value": "error"}),
    "no motion": ('lower="-1"', 'lower="1"', {"limit-empty": "warning"}),
    "no bounds": ('lower="-1" upper="1" ', "", {"limit-missing": "warning"}),
    "no limit": ('<limit lower="-1" upper="1" velocity="1" effort="1"/>', "", {"limit-missing": "warning"}),
    "no effort": (' effort="1"', "", {"limit-missing": "note"}),
    "zero effort": ('effort="1"', 'effort="0"', {"limit-zero": "warning"}),
    "effort nan": ('effort="1"', 'effort="nan"', {"not-a-number": "error"}),
    "long axis": ('axis xyz="0 1 0"', 'axis xyz="0 2 0"', {}),
    "misspelt element": ("<inertial>", "<inertail/><inertial>", {"unknown-element": "warning"}),
    "misspelt attribute": ('<origin xyz="0 0 1"', '<origin xzy="0 0 1"', {"unknown-attribute": "warning"}),
    "vendor's attribute": ('effort="1"', 'effort="1" gear_velocity="1"', {}),
    "no name": (' name="arm"', "", {"no-name": "warning"}),
    "no inertial": (INERTIAL, "", {"massless": "warning", "singular": "error"}),
    "mimic of nobody": ("</robot>", MORE_JOINT.format("continuous", '<mimic joint="x"/>'), {"mimic-unknown": "error", "massless": "warning"}),
    "mimic loop": ("</joint>", '<mimic joint="pivot"/></joint>', {"mimic-loop": "error"}),
    "second root": ("</robot>", '<link name="lost"/></robot>', {"several-roots": "error"}),
    "massless leaf": ("</robot>", MORE_JOINT.format("continuous", ""), {"singular": "error", "massless": "warning"}),
    "leaf with a rotor": ("</robot>", MORE_JOINT.format("continuous", '<dynamics armature="1"/>'), {"massless": "warning"}),
    "frame on a link": ("</robot>", MORE_JOINT.format("fixed", ""), {}),
}  # fmt: skip


@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_oddity_is_found_and_nothing_else(oddity):
    old, new, expected = ODDITIES[oddity]
    assert old in GOOD
    assert found(GOOD.replace(old, new, 1)) == expected


def test_all_mistakes_are_reported_and_not_only_the_first():
    text = (
        GOOD.replace('value="15.3"', 'value="abc"')
        .replace('lower="-1"', 'lower="nan"')
        .replace('axis xyz="0 1 0"', 'axis xyz="0 0 0"')
        .replace('type="revolute"', 'type="revolute" typ="x"')
        .replace("</robot>", '<link name="base"/><link name="lost"/><joint name="j" type="bad"/></robot>')
    )
    report = check(text)
    assert {"not-a-number", "invalid-value", "unknown-attribute", "duplicate-link", "several-roots", "joint-type"} <= {
        f.code for f in report.findings
    }
    assert sum(f.code == "not-a-number" for f in report.findings) == 2
    assert [f.line for f in report.findings] == sorted(f.line for f in report.findings)


def test_a_thin_rod_that_turns_about_itself_is_singular_but_not_one_that_swings():
    thin = GOOD.replace('izz="0.0047875"', 'izz="0"')
    assert "singular" not in found(thin)
    about_itself = thin.replace('axis xyz="0 1 0"', 'axis xyz="0 0 1"')
    report = check(about_itself)
    assert [f.where for f in report.errors] == ["joint 'pivot'"]


def test_two_parallel_joints_with_nothing_between_them_are_singular():
    between = """<link name="hub"/><joint name="second" type="continuous"><parent link="hub"/><child link="rod"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    text = GOOD.replace('<child link="rod"/>', '<child link="hub"/>').replace("</robot>", between)
    report = check(text)
    assert [(f.code, f.where) for f in report.errors] == [("singular", "joint 'pivot'")]
    crossed = text.replace('<axis xyz="0 1 0"/></joint>', '<axis xyz="1 0 0"/></joint>')
    assert check(crossed).ok


def test_a_joint_without_inertia_is_found_in_a_large_model_too():
    chain = "".join(
        f'<link name="l{i}">{INERTIAL}</link><joint name="j{i}" type="continuous"><parent link="{f"l{i - 1}" if i else "base"}"/>'
        f'<child link="l{i}"/><axis xyz="0 1 0"/></joint>'
        for i in range(250)
    )
    leaf = MORE_JOINT.format("continuous", "").replace('link="rod"', 'link="l249"')
    report = check(f'<robot name="r"><link name="base"/>{chain}{leaf}')
    assert [f.where for f in report.errors if f.code == "singular"] == ["joint 'tip_joint'"]


def test_joints_tied_together_are_singular_only_if_all_of_them_are_free():
    finger = """<link name="f{0}">{1}</link><joint name="j{0}" type="continuous"><parent link="rod"/><child link="f{0}"/>
      {2}</joint>"""
    fingers = [("1", "", ""), ("2", "", '<mimic joint="j1"/>'), ("3", "{}", '<mimic joint="j2"/>')]
    text = GOOD.replace("</robot>", "".join(finger.format(*f) for f in fingers) + "</robot>")
    assert [f.where for f in check(text.format("")).errors if f.code == "singular"] == ["joint 'j1'"]
    assert check(text.format(INERTIAL)).ok


def test_small_parts_that_are_fixed_to_a_big_body_only_get_notes():
    small = MORE_JOINT.format("fixed", "").replace(
        '<link name="tip"/>',
        f'<link name="tip"><inertial><mass value="0.01"/><inertia {moments(1e-6, 1e-6, 1e-6)}/></inertial></link>',
    )
    assert found(GOOD.replace("</robot>", small)) == {"inertia-placeholder": "note"}


def test_a_kind_of_finding_is_not_repeated_without_end():
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="x{i}"/><child link="l"/></joint>' for i in range(500)
    )
    report: CheckReport = check(f"<robot name='r'><link name='l'/>{joints}</robot>")
    assert sum(f.code == "unknown-link" for f in report.findings) == 100
    assert report.left_out["unknown-link"] == 400
    assert "and 400 more of [unknown-link]" in str(report)


@pytest.mark.parametrize("size", ["1e308", "-1", "0", "nan", "x", "1e-320"])
def test_absurd_shapes_do_no_harm(size):
    text = GOOD.replace('radius="0.025"', f'radius="{size}"')
    assert check(text).ok


@pytest.mark.parametrize("mass", ["1e-320", "1e30", "1e-30", "-0"])
@pytest.mark.parametrize("moment", ["1e30", "1e-320", "-1e-320", "0", "-0.0"])
def test_absurd_inertias_do_no_harm(mass, moment):
    text = GOOD.replace('value="15.3"', f'value="{mass}"').replace(MOMENTS, moments(moment, 1, 1))
    assert str(check(text, base="floating"))


def test_a_duplicate_joint_of_mjcf_is_reported_also_with_a_keyframe():
    body = '<body><joint name="j"/><joint name="j" axis="1 0 0"/><geom size="0.1"/></body>'
    report = check(f'<mujoco><worldbody>{body}</worldbody><keyframe><key qpos="0 0"/></keyframe></mujoco>')
    assert [finding.code for finding in report.errors] == ["duplicate-joint"]
