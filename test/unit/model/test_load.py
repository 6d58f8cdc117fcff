# SPDX-License-Identifier: Apache-2.0
"""`load` takes names, paths and texts, and helps where it cannot."""

import sys
from pathlib import Path

import pytest
from refused import refusal, refused

import ada_dynamics as ada
from ada_dynamics import InputError, ModelError
from ada_dynamics.robots.load import load

TEXT = "<robot name='r'><link name='l'/></robot>"


def test_text_is_read_as_urdf():
    assert load("\ufeff\n " + TEXT).name == "r"


@pytest.mark.parametrize(
    "name", ["robot.urdf", "robot.xml", "robot.URDF", "noending", "with space.urdf", "ロボット.urdf"]
)
def test_files_are_read_by_str_and_by_path(name, tmp_path):
    file = tmp_path / name
    file.write_text(TEXT)
    assert load(file).name == load(str(file)).name == "r"


def test_a_robot_of_robot_descriptions_is_loaded_from_its_module(tmp_path, monkeypatch):
    with pytest.raises(InputError) as missing:
        load("robot_descriptions:arm_description")
    assert "pip install robot_descriptions" in str(missing.value)
    package, cache = tmp_path / "robot_descriptions", tmp_path / "cache"
    package.mkdir(), cache.mkdir()
    (cache / "arm.urdf").write_text(TEXT)
    modules = {
        "__init__": "",
        "arm_description": f"URDF_PATH = {str(cache / 'arm.urdf')!r}",
        "offline_description": "raise OSError('no network')",
        "srdf_description": "SRDF_PATH = 'arm.srdf'",
    }
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    assert load("robot_descriptions:arm_description").name == "r"
    for name, said in (("offline_description", "no network"), ("srdf_description", "URDF"), ("am_description", "arm_")):
        with pytest.raises((InputError, ModelError)) as problem:
            load(f"robot_descriptions:{name}")
        assert said in str(problem.value) and problem.value.field is not None


def test_a_directory_is_refused_and_says_what_is_in_it(tmp_path):
    (tmp_path / "arm.urdf").write_text(TEXT)
    refusal(tmp_path, "is a directory", "arm.urdf")


NO_SOURCE = "a catalogue name, a path or URDF text"


@pytest.mark.parametrize(
    ("source", "options", "error", "said"),
    [
        ("pa-10", {}, ModelError, ("named 'pa-10'", "Did you mean 'pa10'", "pa10_7c", str(Path.cwd()))),
        ("/nowhere/nothing.urdf", {}, ModelError, ("nothing.urdf",)),
        (Path("/nowhere/nothing.urdf"), {}, ModelError, ("nothing.urdf",)),
        ("package://robot/urdf/robot.urdf", {}, ModelError, ("not supported",)),
        ("", {}, ada.AdaError, ()),
        ("  ", {}, ada.AdaError, ()),
        ("a" * 10_000, {}, ada.AdaError, ()),
        ("nul\x00byte.urdf", {}, ada.AdaError, ()),
        (None, {}, InputError, (NO_SOURCE,)),
        (3, {}, InputError, (NO_SOURCE,)),
        (b"<robot/>", {}, InputError, (NO_SOURCE,)),
        (["pa10"], {}, InputError, (NO_SOURCE,)),
        (TEXT, {"base": "flying"}, InputError, ("floating",)),
        (TEXT, {"gravity": (0, -9.81)}, ModelError, ("gravity",)),
    ],
)
def test_what_is_no_robot_or_asks_for_what_is_not_there_is_refused(source, options, error, said):
    refusal(source, *said, error=error, **options)


ROBOT = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="name" default="base"/>
  {}
  <link name="$(arg name)"/>
</robot>"""


@pytest.fixture
def robot(write):
    """A xacro file around some elements, where the package is installed."""
    pytest.importorskip("xacro")
    return lambda elements="": write(ROBOT.format(elements), "robot.urdf.xacro")


def test_a_xacro_file_is_expanded_with_its_arguments(robot):
    assert load(robot()).root == "base"
    assert load(robot(), mappings={"name": "土台"}).root == "土台"


def test_packages_are_found_around_the_file(write):
    pytest.importorskip("xacro")
    write("<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='extra'/></robot>", "my_robot/urdf/part.xacro")
    main = write(
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
        "<xacro:include filename='$(find my_robot)/urdf/part.xacro'/></robot>",
        "my_robot/urdf/main.xacro",
    )
    assert load(main).root == "extra"


@pytest.mark.parametrize(
    "fault",
    [
        '<link name="${1 / 0}"/>',
        '<link name="${undefined}"/>',
        '<link name="${(}"/>',
        '<link name="$(find no_such_package_anywhere)"/>',
        '<link name="$(arg undefined)"/>',
        '<xacro:include filename="no_such_file.xacro"/>',
        "<xacro:no_such_macro/>",
        '<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/><link name="${a}"/>',
        '<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>',
    ],
)
def test_a_fault_in_a_xacro_file_is_a_model_error_that_names_the_file(fault, robot):
    file = robot(fault)
    refusal(file, "xacro", str(file))


def test_a_xacro_file_with_entities_is_refused_before_it_runs(write):
    refusal(write("<!DOCTYPE robot [<!ENTITY a 'b'>]><robot name='&a;'/>", "robot.urdf.xacro"), "<!DOCTYPE")


def test_without_the_package_the_message_says_how_to_install_it(robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    refusal(robot(), "pip install xacro", error=InputError)


def test_mappings_for_a_plain_urdf_and_those_that_are_no_dict_are_refused(write, robot):
    file = write("<robot name='r'><link name='l'/></robot>", "r.urdf")
    refusal(file, "r.urdf", ".xacro", error=InputError, mappings={"a": "b"})
    refusal(file.read_text(), "URDF text", error=InputError, mappings={"a": "b"})
    refusal(robot(), "dict", error=InputError, mappings=["name:=x"])


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("<robot>\n<!DOCTYPE a>", {"file": "URDF text", "line": 2}),
        ('<robot name="r">\n<joint name="j" type="hinge"/></robot>', {"file": "URDF text", "line": 2, "joint": "j"}),
        ('<robot name="r"><link name="a"/>\n<loop_joint name="l"/></robot>', {"line": 2, "loop": "l"}),
        ("<sdf>\n</sdf>", {"file": "SDFormat text", "line": 1}),
    ],
)
def test_errors_carry_file_line_and_part(text, facts):
    with refused(ModelError, **facts):
        ada.load(text)
