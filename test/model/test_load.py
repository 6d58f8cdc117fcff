# SPDX-License-Identifier: Apache-2.0
"""`load` takes names, paths and texts, and helps where it cannot."""

from pathlib import Path

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics import InputError, ModelError
from ada_dynamics.robots.load import load

TEXT = "<robot name='r'><link name='l'/></robot>"


def test_the_front_door_has_load_and_check():
    assert ada.load("pa10").nq == 7
    assert ada.check("pa10").ok


def test_text_is_read_as_urdf():
    assert load("\ufeff\n " + TEXT).name == "r"


@pytest.mark.parametrize(
    "name", ["robot.urdf", "robot.xml", "robot.URDF", "noending", "with space.urdf", "ロボット.urdf"]
)
def test_files_are_read_by_str_and_by_path(name, tmp_path):
    file = tmp_path / name
    file.write_text(TEXT)
    assert load(file).name == load(str(file)).name == "r"


def test_a_robot_without_a_name_gets_that_of_its_file(tmp_path):
    file = tmp_path / "gripper.v2.urdf"
    file.write_text("<robot><link name='l'/></robot>")
    assert load(file).name == "gripper"


def test_gravity_and_base_are_passed_on():
    model = load(TEXT, base="floating", gravity=(0, 0, -1.62))
    assert model.gravity == (0.0, 0.0, -1.62)
    assert model.nv == 6


def test_a_name_that_is_neither_robot_nor_file_suggests_near_ones():
    with pytest.raises(ModelError, match=r"no file 'pa-10'.*Did you mean 'pa10'.*pa10_7c") as caught:
        load("pa-10")
    assert str(Path.cwd()) in str(caught.value)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match=r"nothing\.urdf"):
        load(tmp_path / "nothing.urdf")
    with pytest.raises(ModelError, match=r"nothing\.urdf"):
        load(str(tmp_path / "nothing.urdf"))


def test_a_directory_is_refused_and_says_what_is_in_it(tmp_path):
    (tmp_path / "arm.urdf").write_text(TEXT)
    with pytest.raises(ModelError, match=r"is a directory.*arm\.urdf"):
        load(tmp_path)


def test_an_address_is_not_followed():
    with pytest.raises(ModelError, match="not followed"):
        load("package://robot/urdf/robot.urdf")


@pytest.mark.parametrize("source", ["", "  ", "a" * 10_000, "nul\x00byte.urdf"])
def test_texts_that_are_no_path_are_refused(source):
    with pytest.raises(ada.AdaError):
        load(source)


@pytest.mark.parametrize("source", [None, 3, b"<robot/>", ["pa10"]])
def test_other_types_are_refused(source):
    with pytest.raises(InputError, match="a name, a path or URDF text"):
        load(source)


def test_an_unknown_base_is_refused():
    with pytest.raises(InputError, match="floating"):
        load(TEXT, base="flying")


def test_gravity_of_the_wrong_length_is_refused():
    with pytest.raises(ModelError, match="gravity"):
        load(TEXT, gravity=(0, -9.81))


def test_the_builder_takes_rotations_as_matrices():
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    builder = ada.Builder("r").link("a").link("b").joint("j", "fixed", "a", "b", rotation=R)
    assert np.array_equal(builder.build().joints["j"].rotation, R)


@pytest.mark.parametrize("rotation", [2.0 * np.eye(3), -np.eye(3), np.eye(2)])
def test_the_builder_refuses_what_is_no_rotation(rotation):
    with pytest.raises(ModelError, match="rotation of joint 'j'"):
        ada.Builder("r").link("a").link("b").joint("j", "fixed", "a", "b", rotation=rotation)
