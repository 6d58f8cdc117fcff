# SPDX-License-Identifier: Apache-2.0
"""`ada info` says of closed loops what there is to know."""

import json

import numpy as np
import pytest

from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.writers import write
from ada_tools import cli

# Motions and motors as the mechanisms are known for.
MOTIONS = {
    "four_bar": (1, 3),
    "five_bar": (2, 2),
    "cassie_leg": (7, 5),
}


@pytest.fixture
def ada(capsys):
    def run(*arguments):
        code = cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.mark.parametrize("name", MOTIONS)
def test_mobility_and_motors_are_those_that_the_mechanism_is_known_for(ada, name):
    data = json.loads(ada("info", name, "--json"))["loops"]
    mobility, motors = MOTIONS[name]
    assert (data["mobility"], data["motors"]["velocities"]) == (mobility, motors)
    assert data["motors"]["over_actuated_by"] == max(0, motors - mobility)
    assert data["motors"]["under_actuated_by"] == max(0, mobility - motors)
    assert data["start"]["closes"]
    assert data["pose"]["gap"] < 1e-12
    assert data["mobility"] == data["velocities"] - data["independent_conditions"]
    assert not data["pose"]["is_singular"]


def test_a_planar_linkage_has_unique_forces_in_its_plane_only(ada):
    unique = json.loads(ada("info", "four_bar", "--json"))["loops"]["unique_components"]
    in_plane = {"fx": True, "fy": False, "fz": True, "nx": False, "ny": True, "nz": False}
    assert unique == dict.fromkeys(("joint_1", "joint_2", "joint_3", "closing"), in_plane)


def test_the_zero_pose_is_said_to_be_open_by_its_gap(ada, tmp_path):
    file = write(mechanisms.four_bar().model, tmp_path / "robot.urdf", "loop_joint")[0]
    data = json.loads(ada("info", file, "--json"))["loops"]
    assert not data["start"]["closes"]
    assert data["start"]["gap"]["closing"] == pytest.approx(3.0, abs=1e-12)
    assert data["pose"]["gap"] < 1e-12


def test_a_start_pose_chooses_the_way_of_assembly(ada, tmp_path):
    lengths = (1.0, 2.0, 1.0, 2.0)
    model, parallel = mechanisms.four_bar(lengths)
    (file,) = write(model, tmp_path / "robot.urdf", "loop_joint")
    for q in (parallel, mechanisms.four_bar(lengths, crossed=True).q):
        found = json.loads(ada("info", file, "--json", "--start", *q))["loops"]
        assert found["start"]["closes"]
        np.testing.assert_allclose(found["pose"]["q"], q, atol=1e-12)


def test_a_tree_has_no_loops_and_a_start_pose_of_the_wrong_length_is_refused(ada):
    assert json.loads(ada("info", "pa10", "--json"))["loops"] == {}
    assert cli.main(["info", "four_bar", "--start", "1"]) == 2
