# SPDX-License-Identifier: Apache-2.0
"""xacro files load through the package xacro, and fail with our own errors."""

import sys

import pytest

from ada_dynamics import InputError, ModelError
from ada_dynamics.robots.load import load

ROBOT = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="name" default="base"/>
  {}
  <link name="$(arg name)"/>
</robot>"""


@pytest.fixture
def write(tmp_path):
    def write(content: str, name: str = "robot.urdf.xacro"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file

    return write


def test_a_xacro_file_is_expanded(write):
    pytest.importorskip("xacro")
    assert load(write(ROBOT.format(""))).root == "base"


def test_mappings_give_the_arguments(write):
    pytest.importorskip("xacro")
    assert load(write(ROBOT.format("")), mappings={"name": "土台"}).root == "土台"


def test_packages_are_found_around_the_file(write):
    pytest.importorskip("xacro")
    write("<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='extra'/></robot>", "my_robot/urdf/part.xacro")
    main = write(
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
        "<xacro:include filename='$(find my_robot)/urdf/part.xacro'/></robot>",
        "my_robot/urdf/main.xacro",
    )
    assert load(main).root == "extra"


def test_our_own_urdf_folder_is_found(write):
    pytest.importorskip("xacro")
    content = """<robot name="cell" xmlns:xacro="http://www.ros.org/wiki/xacro">
      <xacro:include filename="$(find ada_dynamics)/urdf/pa10.urdf.xacro"/></robot>"""
    assert load(write(content)).joint_names == ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]


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
def test_a_fault_in_a_xacro_file_is_a_model_error_that_names_the_file(fault, write):
    pytest.importorskip("xacro")
    file = write(ROBOT.format(fault))
    with pytest.raises(ModelError, match="xacro") as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_a_fault_in_the_expansion_is_reported_as_such(write):
    pytest.importorskip("xacro")
    with pytest.raises(ModelError, match=r"\(expanded\), line \d+.*type"):
        load(write(ROBOT.format("<joint name='j'/>")))


def test_a_xacro_file_with_entities_is_refused_before_it_runs(write):
    with pytest.raises(ModelError, match="<!DOCTYPE"):
        load(write("<!DOCTYPE robot [<!ENTITY a 'b'>]><robot name='&a;'/>"))


def test_without_the_package_the_message_says_how_to_install_it(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(InputError, match="pip install xacro"):
        load(write(ROBOT.format("")))


def test_mappings_for_a_plain_urdf_are_refused(write):
    file = write("<robot name='r'><link name='l'/></robot>", "r.urdf")
    with pytest.raises(InputError, match=r"r\.urdf.*\.xacro"):
        load(file, mappings={"a": "b"})
    with pytest.raises(InputError, match="URDF text"):
        load(file.read_text(), mappings={"a": "b"})


def test_mappings_that_are_no_dict_are_refused(write):
    pytest.importorskip("xacro")
    with pytest.raises(InputError, match="dict"):
        load(write(ROBOT.format("")), mappings=["name:=x"])  # type: ignore[arg-type]
