# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Every mistake in a URDF is refused with a message that says where it is and what is allowed."""

import os
import re

import pytest
from refused import damaged, refusal

from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers import xml

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
    "mass_too_large": ('mass value="1"', 'mass value="1e300"', "line 6", "too large", "1e+30"),
    "mass_negative": ('mass value="1"', 'mass value="-1"', "line 3", "link 'rod'", "mass", "-1 kg", "not be negative"),
    "mass_hex": ('mass value="1"', 'mass value="0x10"', "line 6", "not a number"),
    "no_mass": ('<mass value="1"/>', "", "line 4", "<inertial> has no <mass>"),
    "no_inertia": ('<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', "", "line 4", "no <inertia>"),
    "two_inertials": ("</inertial>", "</inertial><inertial/>", "link 'rod'", "2 <inertial> elements", "lines 4, 8"),
    "zero_axis": ('axis xyz="0 0 1"', 'axis xyz="0 0 0"', "line 10", "joint 'pivot'", "length zero", "0 0 1"),
    "inverted": ('lower="-1"', 'lower="2"', "line 10", "limits of joint 'pivot' are [2, 1]"),
    "effort_negative": ('effort="1"', 'effort="-1"', "line 10", "effort limit of joint 'pivot' is -1"),
    "damping_negative": ('damping="0"', 'damping="-1"', "line 10", "damping of joint 'pivot' is -1", "not be negative"),
    "unknown_type": ('"revolute"', '"revolut"', "line 10", "joint 'pivot'", "Did you mean 'revolute'", "prismatic"),
    "no_parent": ('<parent link="base"/>', "", "line 10", "no <parent>", '<parent link="..."/>'),
    "unknown_link": ('parent link="base"', 'parent link="bas"', "line 10", "its parent", "Did you mean 'base'"),
    "self_joint": ('parent link="base"', 'parent link="rod"', "line 10", "'rod' to itself"),
    "two_roots": ('<link name="base"/>', '<link name="base"/><link name="other"/>', "2 links have no parent", "'other'"),
    "duplicate_link": ('<link name="base"/>', '<link name="base"/>\n<link name="base"/>', "line 3", "'base'", "lines 2, 3"),
    "duplicate_joint": ("</robot>", '<joint name="pivot" type="fixed"><parent link="rod"/><child link="base"/></joint></robot>', "joint 'pivot'", "lines 10, 18"),
    "two_parents": ("</robot>", '<joint name="again" type="fixed"><parent link="base"/><child link="rod"/></joint></robot>', "link 'rod'", "2 joints: 'pivot' (line 10), 'again' (line 18)", "loop joint"),
    "cycle": ("</robot>", '<joint name="back" type="fixed"><parent link="rod"/><child link="base"/></joint></robot>', "cycle", "'pivot' -> 'back'"),
    "mimic_unknown": ("</joint>", '<mimic joint="pivo"/></joint>', "line 10", "Did you mean 'pivot'"),
    "mimic_itself": ("</joint>", '<mimic joint="pivot"/></joint>', "line 10", "mimics itself: 'pivot' -> 'pivot'"),
    "two_orientations": ('xyz="0 0 1" rpy="0 0 0"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"', "line 5", "both 'rpy' and 'quat_xyzw'"),
    "quaternion_length": ('rpy="0 0 0"', 'quat_xyzw="0 0 0 2"', "line 5", "length 2"),
    "version": ('name="arm"', 'name="arm" version="2.0"', "line 1", "version='2.0'", "1.0, 1.1 and 1.2"),
    "xacro": ('<link name="base"/>', '<link name="base"/><xacro:property name="x" value="1"/>', "line 2", "unexpanded xacro"),
    "mimic_ball": ("</joint>", '<mimic joint="ball"/></joint><link name="x"/><joint name="ball" type="spherical"><parent link="rod"/><child link="x"/></joint>', "line 10", "joint 'ball' is spherical"),
    "universal_axes": ('"revolute">', '"universal"><axis2 xyz="0 1 1"/>', "line 10", "must be perpendicular"),
    "two_rotors": ('friction="0"/>\n  </joint>', 'friction="0" armature="1"/></joint><transmission name="t"><joint name="pivot"/><actuator name="a"><drake:rotor_inertia value="1"/></actuator></transmission>', "line 16", "both define its rotor inertia"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_by_name(mistake, write):
    old, new, *said = MISTAKES[mistake]
    file = write(damaged(GOOD, old, new))
    message = refusal(file, *said)
    assert message.startswith(str(file))
    assert re.search(r"line \d+", message)


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
    refusal(f'<?xml version="1.0"?>\n<{root}/>', "line 2", f"<{root}>", likeness)


# --- urdf hostile -----------------------------------------------------------------------------------------------------
def bomb(levels=9):
    entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f'<!DOCTYPE robot [{entities}]>\n<robot name="&e{levels - 1};"/>'


def dangling(joints):
    joint = '<joint name="joint_{0}" type="fixed"><parent link="nowhere_{0}"/><child link="l"/></joint>'
    return "<robot name='r'><link name='l'/>" + "".join(map(joint.format, range(joints))) + "</robot>"


LONG = "a" * 100_000
HOSTILE = {
    "entity bomb": (bomb(), "document type declaration"),
    "quadratic entity bomb": (f'<!DOCTYPE robot [<!ENTITY e "{LONG}">]><robot name="{"&e;" * 1000}"/>', "<!DOCTYPE"),
    "external entity": ('<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="&e;"/>', "<!DOCTYPE"),
    "external document type": ('<!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><robot name="r"/>', "<!DOCTYPE"),
    "undefined entity": ('<robot name="r">\n&nbsp;</robot>', "line 2"),
    "deep nesting": ("<robot name='r'>" + "<a>" * 100_000, "nested", "200"),
    "lone surrogate": ("<robot name='\ud800'/>", "UTF-8"),
    "many dangling joints": (dangling(5_000), "nowhere_0"),
    "device": ("/dev/zero", "not a regular file"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_document_made_to_harm_is_refused_and_nothing_is_fetched(kind):
    refusal(*HOSTILE[kind])  # a unit test that opens a socket fails


def test_hyphens_in_comments_are_taken_as_by_tinyxml2_and_lines_are_kept():
    text = "<robot name='r'><!-- a -- b\n--- <x> --->\n<link name='--'/><![CDATA[<!-- -- ]]></robot>"
    (link,) = xml.parse_xml(text, "r.urdf").children
    assert (link.attributes["name"], link.line) == ("--", 3)


def test_files_that_are_too_big_or_never_end_are_refused_unread(tmp_path):
    with (tmp_path / "big.urdf").open("wb") as stream:
        stream.truncate(10 * 1024**3)  # sparse: it takes no space
    refusal(tmp_path / "big.urdf", f"at most {xml.MAX_BYTES}")
    os.mkfifo(tmp_path / "pipe.urdf")
    refusal(tmp_path / "pipe.urdf", "not a regular file")


NO_XML = [
    (b"", "is empty"),
    (b"PXR-USDC\x00\x08", "USD"),
    (b"\x7fELF\x02\x01\x01\x00\x00", "NUL bytes"),
    (b"<robot name='r'>\n\n\x00</robot>", "line 3"),
    (b"solid mesh\nfacet normal 0 0 1", "not XML: it starts with 'solid"),
    (b"<robot name='r'>", "line 1.*truncated|truncated"),
    (b"<robot>\n<link></robot>", "line 2.*mismatched tag.*<link> of line 2"),
    (b"<robot name='r'>\n<link name=l/></robot>", "line 2"),
    (b"<robot name='r'>\n<link name='\xff\xfe'/></robot>", "line 2.*wrong encoding"),
    (b"<robot name='r' name='s'/>", "duplicate attribute"),
    (b"<robot name='r'/><robot name='s'/>", "junk after document element"),
    (b"<?xml version='1.0' encoding='shift_jis'?><robot name='r'/>", "encoding.*UTF-8"),
    (b"<?xml version='1.0' encoding='no-such'?><robot name='r'/>", "encoding.*UTF-8|unknown encoding"),
    (b"<?xml version='1.0'?>", "no element|truncated"),
    ("<robot name='r'/>".encode("utf-32"), "wrong encoding"),
]


@pytest.mark.parametrize(("content", "said"), NO_XML)
def test_a_file_that_is_no_xml_is_refused_with_its_name_and_line(content, said, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes(content)
    message = refusal(file)
    assert message.startswith(str(file))
    assert re.search(said, message)


LATIN_1 = "<?xml version='1.0' encoding='iso-8859-1'?>"


@pytest.mark.parametrize(
    ("encoding", "head", "name"),
    [
        ("utf-8", "", "リンク"),
        ("utf-8", "\n <?xml version='1.0'?>", "リンク"),
        ("utf-8-sig", "", "リンク"),
        ("utf-16", "", "リンク"),
        ("latin-1", LATIN_1, "gelöst"),
    ],
)
def test_files_in_unicode_encodings_and_those_that_say_theirs_are_read(encoding, head, name, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes(f"{head}<robot name='r'><link name='{name}'/></robot>".encode(encoding))
    assert load(file).root == name


@pytest.mark.parametrize(
    ("attributes", "content"),
    [
        (" ".join(f'a{i}="1"' for i in range(100_000)), ""),
        ("", "<a>" * (xml.MAX_DEPTH - 1) + "</a>" * (xml.MAX_DEPTH - 1)),
    ],
    ids=["many attributes", "as deep as may be"],
)
def test_what_is_large_but_within_the_limits_is_read(attributes, content):
    assert load(f"<robot name='r' {attributes}><link name='l'/>{content}</robot>").nq == 0
