# SPDX-License-Identifier: Apache-2.0
"""xacro files load through the package xacro, and fail with our own errors."""

import sys

import pytest
from refused import refusal

from ada_dynamics import InputError, ModelError
from ada_dynamics.robots.load import load

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


def test_our_own_urdf_folder_is_found(write):
    pytest.importorskip("xacro")
    content = """<robot name="cell" xmlns:xacro="http://www.ros.org/wiki/xacro">
      <xacro:include filename="$(find ada_dynamics)/urdf/pa10.urdf.xacro"/></robot>"""
    cell = write(content, "cell.urdf.xacro")
    assert load(cell).joint_names == ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]


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


def test_a_fault_in_the_expansion_is_reported_as_such(robot):
    with pytest.raises(ModelError, match=r"\(expanded\), line \d+.*type"):
        load(robot("<joint name='j'/>"))


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
