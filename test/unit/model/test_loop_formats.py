# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Loops in every format that is read, those of Drake, Gazebo and Onshape, too: what is read, and what is refused."""

import json
import re

import numpy as np
import pytest
from ankles import g1
from foreign_robots import foreign_robot
from loop_robots import assert_same_loop
from random_trees import constants
from refused import damaged, refusal

import ada_dynamics as ada
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots.check import check
from ada_dynamics.robots.load import with_loops
from ada_dynamics.robots.readers.urdf_loops import KINDS
from ada_dynamics.robots.writers import render
from ada_dynamics.structured_text import nodes

LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/><axis xyz="0 1 0"/></joint>'
ROBOT = "\n".join(
    [
        '<robot name="r"><link name="base"/>',
        *(LINK.format(name) for name in ("a", "b", "c", "tip")),
        JOINT.format("ja", "continuous", "base", "a", "0 0 0"),
        JOINT.format("jb", "continuous", "a", "b", "0 0 1"),
        JOINT.format("jc", "continuous", "base", "c", "1 0 0"),
        JOINT.format("jt", "fixed", "b", "tip", "0 0 1"),
        "</robot>",
    ]
)
LINES = ROBOT.count("\n")  # what is put before the end stands in the line after these


def robot(elements=""):
    return ROBOT.replace("</robot>", f"{elements}</robot>")


def wanted(kind="revolute"):
    builder = ada.Builder("r").link("base").link("b", 1.0).link("c", 1.0)
    builder.joint("jb", "continuous", "base", "b").joint("jc", "continuous", "base", "c")
    axis2 = (0, 0, 1) if kind == "universal" else None
    ends = ("b", "c", (0, 0, 1), (0.1, 0.2, 0.3), (1, 0, 0), (0, 0, -0.5))
    return builder.loop("closing", kind, *ends, (0, 2, 0), axis2, **constants(kind)).build().loops["closing"]


SIDECAR = """\
loops:
  - name: closing
    type: {}
    axis: [0, 2, 0]{}
    parent: {{link: b, xyz: [0, 0, 1], rpy: [0.1, 0.2, 0.3]}}
    child: {{link: c, xyz: [1, 0, 0], rpy: [0, 0, -0.5]}}
"""


def sidecar(kind="revolute"):
    more = {"axis2": "[0, 0, 1]"} if kind == "universal" else constants(kind)
    return SIDECAR.format(kind, "".join(f"\n    {key}: {value}" for key, value in more.items()))


@pytest.fixture
def beside(write):
    return lambda text, name="r.loops.yaml": write(text, name)


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_a_sidecar_says_loops_of_every_type(kind, beside):
    model = ada.load(robot(), loops=beside(sidecar(kind)))
    assert_same_loop(model.loops["closing"], wanted(kind))


DATA = {
    "loops": [
        {
            "name": "closing",
            "type": "revolute",
            "axis": np.array([0, 2, 0]),
            "parent": {"link": "b", "xyz": (0, 0, 1), "rpy": [0.1, 0.2, 0.3]},
            "child": {"link": "c", "xyz": [np.float32(1), 0, 0], "rpy": [0, 0, -0.5]},
        }
    ],
    "actuated": ["ja", "jc"],
}
JSON = json.dumps(DATA, default=lambda x: x.tolist(), indent=1)


def test_dicts_lists_and_json_say_the_same_as_yaml(beside):
    as_dict = ada.load(robot(), loops=DATA)
    as_list = ada.load(robot(), loops=DATA["loops"])
    as_json = ada.load(robot(), loops=str(beside(JSON, "r.json")))
    for model in (as_dict, as_list, as_json):
        assert_same_loop(model.loops["closing"], wanted())
    assert as_dict.actuated == as_json.actuated == ("ja", "jc")
    assert as_list.actuated == ("ja", "jb", "jc")


def test_anchors_and_aliases_repeat_values(beside):
    text = sidecar().replace("[0, 0, 1]", "&up [0, 0, 1]", 1) + "\n".join(
        ["  - name: more", "    type: spherical", "    parent: {link: a, xyz: *up}", "    child: {link: c}"]
    )
    np.testing.assert_array_equal(ada.load(robot(), loops=beside(text)).loops["more"].parent_xyz, [0, 0, 1])


def test_a_sidecar_adds_links_and_joints_that_the_robot_lacks(beside):
    model = ada.load(robot(), loops=beside(PARTS))
    rod, joint = model.links["rod"], model.joints["jr"]
    assert (rod.mass, rod.com[2], rod.inertia[0, 0]) == (0.2, 0.1, 1e-3)
    assert (joint.kind, joint.parent, joint.child, joint.xyz[2]) == ("universal", "b", "rod", 1.0)
    assert model.actuated == ("ja", "jb", "jc")
    with pytest.raises(ada.InputError):
        with_loops(ada.load(robot()), beside(PARTS.partition("passive")[0]))


def test_the_sidecar_of_the_g1_closes_its_ankles():
    model = ada.load(foreign_robot("g1"), loops="g1_ankles")
    assert len(model.actuated) == 29 and "left_ankle_lower_motor" in model.actuated
    assert "left_ankle_pitch_joint" not in model.actuated
    given = {"left_ankle_pitch_joint": 0.2, "left_ankle_roll_joint": -0.1}
    q = ada.close_loops(model, given, hold=list(given))
    found = [q[model.q_index(f"left_ankle_{name}_motor")][0] for name in ("lower", "upper")]
    np.testing.assert_allclose(found, g1().motors(0.2, -0.1), atol=1e-9)


CONSTRAINT = """<constraint name="closing" type="{}"><parent link="b"/><parent_origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
<parent_axis xyz="0 2 0"/><child link="c"/><child_origin xyz="1 0 0" rpy="0 0 -0.5"/><child_axis xyz="{}"/></constraint>"""
LOOP_JOINT = """<loop_joint name="closing" type="{}"><link1 link="b" xyz="0 0 1" rpy="0.1 0.2 0.3"/>
<link2 link="c" xyz="1 0 0" rpy="0 0 -0.5"/><axis xyz="0 2 0"/>{}</loop_joint>"""
URDF_PLUS = """<loop name="closing" type="{}"><predecessor link="b"><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/></predecessor>
<successor link="c"><origin xyz="1 0 0" rpy="0 0 -0.5"/></successor><axis xyz="0 2 0"/>{}</loop>"""


def elements(kind):
    second = '<axis2 xyz="0 0 1"/>' if kind == "universal" else ""
    return {
        "constraint": CONSTRAINT.format(kind, "0 0 1" if second else "0 1 0"),
        "loop_joint": LOOP_JOINT.format(kind, second),
        "urdf_plus": URDF_PLUS.format(kind, second),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spelling", ["constraint", "loop_joint", "urdf_plus"])
def test_elements_of_a_urdf_say_loops_of_every_type(spelling, kind):
    model = ada.load(robot(elements(kind)[spelling]))
    assert_same_loop(model.loops["closing"], wanted(kind))


@pytest.mark.parametrize("spelling", ["constraint", "loop_joint", "urdf_plus"])
@pytest.mark.parametrize("word", ["helical", "screw"])
def test_elements_of_a_urdf_have_no_place_for_the_pitch_of_a_screw(spelling, word):
    refusal(robot(elements(word)[spelling]), "loop 'closing'", "needs pitch", "into a YAML file")


@pytest.mark.parametrize(
    ("kind", "element"),
    [
        ("fixed", CONSTRAINT.format("link", "0 1 0")),
        ("revolute", LOOP_JOINT.format("continuous", "")),
        ("spherical", URDF_PLUS.format("position", "").replace("loop", "constraint")),
    ],
)
def test_words_of_the_formats_own_mean_the_same_types(kind, element):
    assert_same_loop(ada.load(robot(element)).loops["closing"], wanted(kind))


def test_loop_joints_of_isaac_sims_manual_and_of_drakes_four_bar_are_understood():
    ball = (
        '<loop_joint name="l" type="spherical"><link1 link="b" xyz="0 0 1" rpy="0 0 0"/><link2 link="c"/></loop_joint>'
    )
    world = '<loop_joint name="w" type="fixed"><link1 link="world"/><link2 link="b"/></loop_joint>'
    # a bar of 4 m with links of 1.8, 3.6 and 2.6 m, all joints about y
    hinge = """<loop_joint name="h" type="continuous"><axis xyz="0 1 0"/>
    <link1 link="b" rpy="0 0 0" xyz="0 0 2.6"/><link2 link="base" rpy="0 0 0" xyz="0 0 0"/></loop_joint>"""
    loops = ada.load(robot(ball + world + hinge)).loops
    found = [(loop.kind, loop.parent, loop.child) for loop in loops.values()]
    assert found == [("spherical", "b", "c"), ("fixed", "world", "b"), ("revolute", "b", "base")]
    np.testing.assert_array_equal(loops["h"].parent_xyz, [0, 0, 2.6])
    np.testing.assert_array_equal(loops["h"].axis, [0, 1, 0])


def test_joints_without_motors_say_so_in_a_urdf():
    text = robot().replace('name="jb"', 'name="jb" actuated="false"')
    assert ada.load(text).actuated == ("ja", "jc")
    assert ada.load(robot()).actuated == ("ja", "jb", "jc")
    line = 1 + text.partition('name="jb"')[0].count("\n")
    places = f"line {line}: joint 'jb'"
    refusal(text.replace("false", "2").replace('name="ja"', 'name="ja" actuated="2"'), places, "joint 'ja'")
    refusal(text.replace("false", "0"), places, "'0'")


GAZEBO = '<gazebo><joint name="closing" type="{}"><parent>b</parent><child>c</child><pose>{}</pose>{}</joint></gazebo>'
AXIS = "<axis><xyz>0 1 0</xyz></axis>"


@pytest.mark.parametrize(
    ("kind", "frame", "axis", "parent_xyz", "child_xyz"),
    [
        # at zero b is at (0, 0, 1) and c at (1, 0, 0); the joint is at (0, 0, 2) in c, so at (1, 0, 1) in b
        ("revolute", "", AXIS, (1, 0, 1), (0, 0, 2)),
        ("ball", ' relative_to="b"', "", (0, 0, 2), (-1, 0, 3)),
    ],
)
def test_a_gazebo_joint_gets_its_places_from_the_robot_at_zero(kind, frame, axis, parent_xyz, child_xyz):
    text = GAZEBO.format(kind, "0 0 2 0 0 0", axis).replace("<pose>", f"<pose{frame}>")
    loop = ada.load(robot(text)).loops["closing"]
    assert (loop.kind, loop.parent, loop.child) == ({"ball": "spherical"}.get(kind, kind), "b", "c")
    np.testing.assert_allclose(loop.parent_xyz, parent_xyz, atol=1e-15)
    np.testing.assert_allclose(loop.child_xyz, child_xyz, atol=1e-15)


GAZEBO_JOINTS = [
    (GAZEBO.format("screw", "0 0 0 0 0 0", AXIS), "Add <screw_thread_pitch> in metres per revolution"),
    (GAZEBO.format("revolute2", "0 0 0 0 0 0", AXIS), "no <axis2>"),
    (GAZEBO.format("revolut", "0 0 0 0 0 0", AXIS), "Did you mean 'revolute'"),
    (GAZEBO.format("revolute", "0 0 0", AXIS), "3 numbers instead of 6"),
    (GAZEBO.format("revolute", "0 0 0 0 0 0", ""), "no <axis>"),
    (GAZEBO.format("ball", "0 0 0 0 0 0", "").replace("b<", "bb<", 1), "no link is named 'bb'"),
    (GAZEBO.format("ball", "0 0 0 0 0 0", "").replace(">c<", ">world<"), "Exchange parent and child"),
]


@pytest.mark.parametrize(
    ("owner", "element", "message"),
    [
        ("coupling 'gear'", '<coupling name="gear"><predecessor link="a"/></coupling>', "single joints by <mimic>"),
        *(("joint 'closing'", *row) for row in GAZEBO_JOINTS),
    ],
)
def test_mistakes_in_couplings_and_gazebo_joints_are_refused_by_name(owner, element, message):
    refusal(robot(element), f"line {LINES + 1}: {owner}", message)


def test_gepettos_yaml_joins_the_frames_of_links_and_of_joints(beside):
    text = "closed_loop: [['tip', 'c'], ['jb', 'jc']]\ntype: ['6d', '3D']\nname_mot: ['ja', 'jc']\n"
    with_more = robot(LINK.format("e") + JOINT.format("je", "continuous", "c", "e", "0 0 1"))
    model = ada.load(with_more, loops=beside(text))
    found = [(loop.kind, loop.parent, loop.child) for loop in model.loops.values()]
    assert found == [("fixed", "tip", "c"), ("spherical", "b", "c")]
    assert model.actuated == ("ja", "jc")
    motors_alone = ada.load(robot(), loops={"name_mot": ["ja"]})
    assert (motors_alone.loop_names, motors_alone.actuated) == ([], ("ja",))


def test_gepettos_yaml_changes_types_of_joints(beside):
    text = "closed_loop: [[tip, c]]\njoint_name: [ja, jb, jc]\njoint_type: [SPHERICAL, UJOINT_ZX, FIXED]\n"
    model = ada.load(robot(LINK.format("d") + JOINT.format("jd", "continuous", "c", "d", "0 0 0")), loops=beside(text))
    assert [model.joints[n].kind for n in ("ja", "jb", "jc")] == ["spherical", "universal", "fixed"]
    np.testing.assert_array_equal(model.joints["jb"].axis, [0, 0, 1])
    np.testing.assert_array_equal(model.joints["jb"].axis2, [1, 0, 0])


GOOD = sidecar() + "actuated: [ja]\n"
MISTAKES = {
    "type_misspelt": ("revolute", "revolut", 3, "loop 'closing', type", "Did you mean 'revolute'", "cylindrical"),
    "field_misspelt": ("axis:", "axs:", 4, "loops[0]", "no key 'axs'", "Did you mean 'axis'"),
    "top_misspelt": ("actuated", "actuatd", 7, "the file", "Did you mean 'actuated'"),
    "no_type": ("    type: revolute\n", "", 2, "loop 'closing', type", "missing", "revolute"),
    "no_parent": ("    parent: {link: b, xyz: [0, 0, 1], rpy: [0.1, 0.2, 0.3]}\n", "", 2, "parent", "missing"),
    "zero_axis": ("[0, 2, 0]", "[0, 0, 0]", 2, "axis of loop 'closing'", "length zero"),
    "ragged": ("[0, 2, 0]", "[0, 2]", 4, "a list of 2", "3 numbers"),
    "end_is_text": ("{link: b, xyz: [0, 0, 1], rpy: [0.1, 0.2, 0.3]}", "b", 5, "'b', not a mapping", "{link: name"),
    "axis2_without_universal": ("[0, 2, 0]", "[0, 2, 0]\n    axis2: [0, 0, 1]", 5, "axis2", "has one axis"),
    "universal_without_axis2": ("revolute", "universal", 2, "axis2", "a universal joint needs it"),
    "axes_not_perpendicular": ("revolute\n    axis: [0, 2, 0]", "universal\n    axis: [0, 2, 0]\n    axis2: [0, 1, 1]", 2, "perpendicular"),
    "unknown_link": ("link: b", "link: bb", 2, "loop 'closing'", "no link is named 'bb'", "Did you mean 'b'", "world"),
    "welded_links": ("link: c", "link: tip", 2, "'b' and 'tip' are fixed to each other"),
    "same_link": ("link: b", "link: c", 2, "joins link 'c' to itself"),
    "name_of_a_joint": ("closing", "ja", 2, "loop 'ja'", "a joint in line", "unique"),
    "no_name": ("name: closing", "name:", 2, "name", "missing"),
    "actuated_unknown": ("[ja]", "[jaa]", 7, "actuated", "Did you mean 'ja'"),
    "actuated_twice": ("[ja]", "[ja, ja]", 7, "'ja' is listed twice"),
    "actuated_not_list": ("[ja]", "ja", 7, "'ja' and not a list of names"),
    "loops_not_list": (GOOD, "loops: {name: closing}", 1, "loops", "a mapping with name and not a list"),
    "key_twice": ("    type: revolute\n", "    type: revolute\n    type: fixed\n", 4, "'type' is repeated", "lines 3, 4"),
    "syntax": ("[0, 2, 0]", "[0, 2, 0", 5, "not well-formed YAML"),
    "tag": ("[0, 2, 0]", "!!python/tuple [0, 2, 0]", 4, "tag", "remove it"),
    "merge": ("    axis: [0, 2, 0]\n", "    <<: {axis: [0, 2, 0]}\n", 4, "'<<'"),
    "two_documents": ("loops:", "---\nloops:\n---\nloops:", None, "2 documents"),
}  # fmt: skip


JSON_MISTAKES = {
    "syntax": ('"closing",', '"closing"', 5, "not well-formed JSON: expecting ',' delimiter"),
    "key_twice": ('"name"', '"type"', 5, "'type' is repeated (lines 4, 5)"),
    "ragged": ("0,\n    2,", "0,", 6, "loop 'closing', axis", "a list of 2"),
    "after_the_end": ("\n}", "\n} 1", 43, "not well-formed JSON: extra data"),
    "cut_off": ('"actuated"', '"', 39, "not well-formed JSON"),
}


GEPETTO = "closed_loop: [[tip, c]]\ntype: ['6d']\nname_mot: [ja]\njoint_name: [jc]\njoint_type: [FIXED]\n"
GEPETTO_MISTAKES = {
    "frame": ("tip", "tipp", 1, "closed_loop", "Did you mean 'tip'"),
    "type": ("6d", "5d", 2, "type", "'5d'", "3d, 6d"),
    "motor": ("[ja]", "[jx]", 3, "no joint is named 'jx'"),
    "joint_type": ("FIXED", "BALL", 5, "joint_type", "'BALL'", "SPHERICAL"),
    "field": ("closed_loop", "closed_lop", 1, "no key 'closed_lop'", "Did you mean 'closed_loop'"),
}


PARTS = """\
links:
  - {name: rod, mass: 0.2, com: [0, 0, 0.1], inertia: [1e-3, 1e-3, 0]}
joints:
  - {name: jr, type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], parent: {link: b, xyz: [0, 0, 1]}, child: rod}
loops:
  - {name: end, type: spherical, parent: {link: rod, xyz: [0, 0, 0.2]}, child: {link: c}}
passive: [jr]
"""
PARTS_MISTAKES = {
    "mass": ("0.2, com", "heavy, com", 2, "link 'rod', mass", "a mass [kg]"),
    "joint_type": ("universal", "universl", 4, "joint 'jr', type", "Did you mean 'universal'"),
    "child": (", child: rod}", "}", 4, "joint 'jr', child", "missing"),
    "passive": ("[jr]", "[jrr]", 7, "passive", "Did you mean 'jr'"),
    "not_a_list": ("links:\n  - {", "links: {", 1, "links", "not a list"),
}


BESIDE = [
    pytest.param((good, name, row), id=f"{name}: {mistake}")
    for good, name, mistakes in (
        (GOOD, "r.loops.yaml", MISTAKES),
        (JSON, "r.json", JSON_MISTAKES),
        (GEPETTO, "gepetto.yaml", GEPETTO_MISTAKES),
        (PARTS, "parts.yaml", PARTS_MISTAKES),
    )
    for mistake, row in mistakes.items()
]


@pytest.mark.parametrize("row", BESIDE)
def test_every_mistake_beside_a_urdf_names_file_line_and_field(row, beside):
    good, name, (old, new, line, *said) = row
    file = beside(damaged(good, old, new), name)
    place = re.escape(f"{file}, line {line}") + "[:,]" if line else re.escape(str(file))
    assert re.match(place, refusal(robot(), *said, loops=file))


DEEP = '{"loops": ' + "[" * 5000 + "]" * 5000 + "}"
ALIASES = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 40))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.yaml", "", "empty"),
        ("other.yaml", "x: 1", "none of its keys describes loops"),
        ("text.yaml", "just text", "'just text'"),
        ("latin.yaml", b"loops:\n - name: \xe9", "line 2"),
        ("latin.yaml", b"loops:\n - name: \xe9", "UTF-8"),
        ("huge.yaml", "# " + "x" * (4 * 1024 * 1024 + 1), "at most"),
        ("deep.yaml", DEEP, "nested more than"),
        ("deep.json", DEEP, "nested more than"),
        ("circle.yaml", "loops: &a [*a]", "inside the node that it repeats"),
        ("bomb.yaml", f"a0: &a0 [0, 0, 1]\n{ALIASES}\n", f"more than {nodes.MAX_NODES} values"),
    ],
)
def test_files_that_are_no_sidecars_or_made_to_harm_are_refused(name, text, said, tmp_path):
    refusal(robot(), "no such file", loops=tmp_path / name)
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    refusal(robot(), said, loops=tmp_path / name)


def test_a_loop_of_the_same_name_inside_and_beside_is_refused_with_both_places(beside):
    file = beside(sidecar())
    text = robot().replace('name="jb"', 'name="jb" actuated="false"')
    refusal(text, "actuated joints are defined twice", loops={"actuated": ["ja"]})
    places = (f"{file}, line 2: loop 'closing'", f"URDF text, line {LINES + 1}")
    refusal(robot(elements("fixed")["constraint"]), *places, loops=file)


INSIDE = {
    "constraint_type": ("constraint", 'type="revolute"', 'type="hinge"', "loop 'closing'", "type='hinge'", "revolute"),
    "loop_joint_type": ("loop_joint", 'type="revolute"', 'type="revolut"', "Did you mean 'revolute'"),
    "no_name": ("loop_joint", ' name="closing"', "", "<loop_joint>", "no attribute 'name'"),
    "unknown_link": ("constraint", 'link="b"', 'link="bb"', "its parent", "Did you mean 'b'"),
    "no_link_element": ("loop_joint", '<link2 link="c" xyz="1 0 0" rpy="0 0 -0.5"/>', "", "no <link2>"),
    "ragged": ("urdf_plus", 'xyz="0 0 1"', 'xyz="0 1"', "<origin>", "2 numbers instead of 3"),
    "misspelt_child": ("constraint", "parent_axis", "parent_axes", "<parent_axes>", "Did you mean 'parent_axis'"),
    "axes_differ": ("constraint", '<child_axis xyz="0 1 0"/>', '<child_axis xyz="1 0 0"/>', "<parent_axis> and <child_axis>", "rpy"),
    "two_axes": ("constraint", "<parent_axis", '<parent_axis xyz="0 1 0"/><parent_axis', "2 <parent_axis>"),
    "damping": ("loop_joint", "</loop_joint>", '<dynamics damping="1"/></loop_joint>', "damping", "no coordinate"),
    "element_misspelt": ("loop_joint", "loop_joint", "loop_jiont", "<loop_jiont>", "Did you mean 'loop_joint'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", INSIDE)
def test_every_mistake_inside_a_urdf_names_line_loop_and_element(mistake):
    spelling, old, new, *said = INSIDE[mistake]
    element = elements("revolute")[spelling]
    if mistake.startswith("element"):  # both its tags
        old, new = element, element.replace(old, new)
    line = re.match(r"URDF text, line (\d+): ", refusal(robot(damaged(element, old, new)), *said))
    assert line and LINES < int(line.group(1)) <= LINES + 2


def test_zero_dissipation_and_limits_of_a_former_tree_joint_are_let_through():
    leftover = '<limit effort="1" velocity="1"/><dynamics damping="0" friction="0.0"/></loop_joint>'
    element = elements("revolute")["loop_joint"].replace("</loop_joint>", leftover)
    assert ada.load(robot(element)).loop_names == ["closing"]


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name):
    return f'<link name="{name}">{INERTIAL}</link>'


def joint(name, kind, parent, child):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'


def urdf(more):
    tree = "".join(map(link, "abc")) + joint("j", "continuous", "a", "b") + joint("k", "continuous", "a", "c")
    return f'<robot name="r" xmlns:drake="d">{tree}\n{more}</robot>'


def sdf(more, inside=""):
    axis = f"<axis><xyz>0 0 1</xyz></axis>{inside}</joint>"
    tree = f'<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}'
    return f'<sdf version="1.9"><model name="m">{tree}{more}</model></sdf>'


@pytest.mark.parametrize("tag", ["joint", "ball_constraint", "mimic"])
def test_joints_and_loops_of_drake_are_refused_with_their_line(tag):
    for text in (urdf(f"<drake:{tag}/>"), sdf(f"<drake:{tag}/>"), sdf("", f"<drake:{tag}/>")):
        with pytest.raises(ada.ModelError) as refused:
            ada.load(text)
        assert refused.value.line == (2 if text.startswith("<robot") else 1)


SPRING = '<gazebo reference="j"><springStiffness>7</springStiffness></gazebo>'
PLUGIN = "<gazebo><plugin><joint>j</joint><mimicJoint>k</mimicJoint><multiplier>-2</multiplier></plugin></gazebo>"


def test_mimic_plugins_of_gazebo_are_read_and_written_once():
    model = ada.load(urdf(PLUGIN))
    for one in (model, ada.load(render(model, "loop_joint").texts[".urdf"])):
        assert (one.joints["k"].mimic.joint, one.joints["k"].mimic.multiplier) == ("j", -2.0)


def test_a_mimic_plugin_of_gazebo_in_sdf_leaves_its_follower_without_a_motor():
    links = '<link name="c"/><link name="d"/>'
    ends = "<parent>a</parent><child>{}</child><axis><xyz>0 0 1</xyz></axis></joint>"
    follower = '<joint name="k" type="revolute">' + ends.format("c")
    passive = '<joint name="p" type="revolute" ada:actuated="false">' + ends.format("d")
    plugin = PLUGIN.removeprefix("<gazebo>").removesuffix("</gazebo>")
    text = sdf(links + follower + passive + plugin).replace("<sdf", '<sdf xmlns:ada="ada_dynamics"')
    assert ada.load(text).actuated == ("j",)


def detachable(child="c", other="r"):
    ends = f"<parent_link>b</parent_link><child_model>{other}</child_model><child_link>{child}</child_link>"
    return f'<gazebo><plugin name="gz::sim::systems::DetachableJoint">{ends}</plugin></gazebo>'


def test_a_detachable_joint_of_gazebo_is_a_fixed_loop_joint_closed_at_zero():
    placed = urdf(detachable()).replace('<child link="c"/>', '<child link="c"/><origin xyz="1 2 3" rpy="0 0 1"/>')
    model = ada.load(placed)
    (loop,) = model.loops.values()
    assert (loop.kind, loop.parent, loop.child) == ("fixed", "b", "c")
    np.testing.assert_allclose(ada.Dynamics(model).constraints.violation(model.neutral()), 0.0, atol=1e-15)
    text, loops = render(model, "sidecar").texts.values()
    assert list(ada.load(text, loops=pytest.importorskip("yaml").safe_load(loops)).loops) == [loop.name]
    inside = detachable("b", "__model__").removeprefix("<gazebo>").removesuffix("</gazebo>").replace(">b<", ">a<", 1)
    (welded,) = ada.load(sdf(inside)).loops.values()
    assert welded.kind == "fixed"


CLOSING = "".join(
    link(f"closing_x_{i}") + joint(f"f{i}", "fixed", end, f"closing_x_{i}") for i, end in ((1, "b"), (2, "c"))
)
TO_C = '<joint name="to_c" type="fixed"><parent>a</parent><child>c</child></joint>'
LOST = {
    "bushing": (urdf("<drake:linear_bushing_rpy/>"), "not-modelled"),
    "rotor in sdf": (sdf("", "\n<drake:rotor_inertia>0.5</drake:rotor_inertia>"), "not-modelled"),
    "gravity in sdf": (sdf('\n<link name="c"><gravity>0</gravity></link>' + TO_C), "no-gravity"),
    "decay in sdf": (sdf('\n<link name="c"><velocity_decay><linear>1</linear></velocity_decay></link>' + TO_C), "decay"),
    "spring": (urdf(SPRING), "spring"),
    "gravity": (urdf('<gazebo reference="b"><turnGravityOff>true</turnGravityOff></gazebo>'), "no-gravity"),
    "decay": (urdf('<gazebo reference="b"><dampingFactor>0.2</dampingFactor></gazebo>'), "decay"),
    "plugin": (urdf(PLUGIN.replace(">k<", ">x<")), "unknown-joint"),
    "onshape": (urdf(CLOSING), "loop-not-closed"),
    "loop plugin": (urdf("<gazebo><plugin><joint>x</joint><parent>b</parent><child>c</child></plugin></gazebo>"),
                    "loop-not-closed"),
    "another model": (urdf(detachable(other="box")), "loop-not-closed"),
    "newer mjcf": ("<mujoco>\n<worldbody><body><joint newthing='1'/><geom size='1'/></body></worldbody></mujoco>",
                   "unknown-attribute"),
    "tendon": ("<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><tendon>\n<fixed range='0 1'>"
               "<joint joint='j' coef='1'/></fixed></tendon></mujoco>", "tendon-limits"),
    "free friction": ("<mujoco><worldbody><body>\n<joint type='free' frictionloss='0.3'/><geom size='1'/></body>"
                      "</worldbody></mujoco>", "free-friction"),
}  # fmt: skip


@pytest.mark.parametrize("what", LOST)
def test_what_the_model_cannot_hold_is_a_warning_of_load_and_check_with_its_line(what, caplog):
    text, code = LOST[what]
    ada.load(text)
    assert [record.levelname for record in caplog.records if "line 2" in record.message] == ["WARNING"]
    assert [f.line for f in check(text).warnings if f.code == code] == [2]


def test_closing_frames_that_a_loop_joins_are_no_warning(caplog):
    ends = {"parent": {"link": "closing_x_1"}, "child": {"link": "closing_x_2"}}
    assert ada.load(urdf(CLOSING), loops=[{"name": "x", "type": "spherical", **ends}]).loop_names == ["x"]
    assert not caplog.records
