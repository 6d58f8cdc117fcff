# SPDX-License-Identifier: Apache-2.0
"""`load` takes names, paths and texts, and helps where it cannot."""

from pathlib import Path

import numpy as np
import pytest
from refused import refusal

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


def test_a_directory_is_refused_and_says_what_is_in_it(tmp_path):
    (tmp_path / "arm.urdf").write_text(TEXT)
    refusal(tmp_path, "is a directory", "arm.urdf")


NO_SOURCE = "a name, a path or URDF text"


@pytest.mark.parametrize(
    ("source", "options", "error", "said"),
    [
        ("pa-10", {}, ModelError, ("no file 'pa-10'", "Did you mean 'pa10'", "pa10_7c", str(Path.cwd()))),
        ("/nowhere/nothing.urdf", {}, ModelError, ("nothing.urdf",)),
        (Path("/nowhere/nothing.urdf"), {}, ModelError, ("nothing.urdf",)),
        ("package://robot/urdf/robot.urdf", {}, ModelError, ("not followed",)),
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


def test_the_builder_takes_rotations_as_matrices_and_refuses_what_is_none():
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    builder = ada.Builder("r").link("a").link("b").joint("j", "fixed", "a", "b", rotation=R)
    assert np.array_equal(builder.build().joints["j"].rotation, R)
    for wrong in (2.0 * np.eye(3), -np.eye(3), np.eye(2)):
        with pytest.raises(ModelError, match="rotation of joint 'j'"):
            ada.Builder("r").link("a").link("b").joint("j", "fixed", "a", "b", rotation=wrong)
