# SPDX-License-Identifier: Apache-2.0
"""The commands `ada convert` and `ada info`: files, standard streams, exit codes, what is told of closed loops."""

import io
import json
from functools import partial

import numpy as np
import pytest

from ada_dynamics import load
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.writers import write

URDF = """<robot name="four_bar"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="jb" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
</robot>"""
ENDS = {"parent": {"link": "b", "xyz": [0, 0, 1]}, "child": {"link": "base", "xyz": [1, 0, 0]}}
LOOPS = {"loops": [{"name": "closing", "type": "revolute", "axis": [0, 1, 0], **ENDS}], "actuated": ["ja"]}


@pytest.fixture
def run(ada, tmp_path, monkeypatch):
    (tmp_path / "robot.urdf").write_text(URDF)
    (tmp_path / "robot.json").write_text(json.dumps(LOOPS))
    monkeypatch.chdir(tmp_path)
    return partial(ada, "convert")


def test_a_file_is_written_and_named(run, tmp_path):
    code, out, err = run("robot.urdf", "out.urdf", "--to", "constraint", "--loops", "robot.json")
    assert (code, out, err) == (0, "out.urdf\n", "")
    model = load(tmp_path / "out.urdf")
    assert (model.loop_names, model.actuated) == (["closing"], ("ja",))


def test_from_mujoco_to_a_urdf_and_back(run, tmp_path):
    (tmp_path / "robot.urdf").write_text(URDF.replace('ixx="1" iyy="1" izz="1"', 'ixx="1e-16" iyy="1e-16" izz="1e-16"'))
    code, _, err = run("robot.urdf", "out.xml", "--to", "mjcf", "--loops", "robot.json")
    assert code == 0
    assert "link 'b', link 'a', 2 in all: moments of inertia raised" in err
    code, _, err = run("out.xml", "back.urdf", "--to", "loop_joint")
    assert code == 0
    assert "note:" in err and "'closing_axis'" in err
    assert load(tmp_path / "back.urdf").loops["closing"].kind == "revolute"


def test_without_a_name_the_text_goes_to_the_standard_output(run, monkeypatch):
    code, out, _ = run("robot.urdf", "--to", "loop_joint", "--loops", "robot.json")
    assert code == 0
    assert load(out).loop_names == ["closing"]
    code, yaml, _ = run("robot.urdf", "--to", "sidecar", "--loops", "robot.json")
    assert code == 0 and yaml.splitlines()[1] == "loops:"

    class Stdin:
        buffer = io.BytesIO(out.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    code, again, _ = run("-", "--to", "loop_joint")
    assert (code, again) == (0, out)


def test_what_a_spelling_cannot_say_has_its_own_exit_code_and_writes_nothing(run, tmp_path):
    (tmp_path / "planar.json").write_text(json.dumps(LOOPS).replace("revolute", "planar"))
    before = sorted(tmp_path.iterdir())
    code, out, err = run("robot.urdf", "out.xml", "--to", "mjcf", "--loops", "planar.json")
    assert (code, out) == (1, "")
    assert "'closing'" in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.urdf", "o.urdf", "--to", "sidecar"),
        ("robot.urdf", "o.urdf", "--to", "sidecar", "--loops", "none.json"),
        ("robot.urdf", "robot.urdf", "--to", "constraint"),  # which is read from
        ("robot.urdf", "robot.json", "--to", "sidecar", "--loops", "robot.json"),
        ("robot.urdf", "no/where.urdf", "--to", "constraint"),
    ],
)
def test_mistakes_end_with_code_2_and_write_nothing(run, tmp_path, arguments):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(*arguments)[:2] == (2, "")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# Motions and motors as the mechanisms are known for.
MOTIONS = {"four_bar": (1, 3), "five_bar": (2, 2), "cassie_leg": (7, 5)}


def loops_of(ada, *arguments):
    code, out, err = ada("info", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["loops"]


@pytest.mark.parametrize("name", MOTIONS)
def test_mobility_and_motors_are_those_that_the_mechanism_is_known_for(ada, name):
    data = loops_of(ada, name)
    mobility, motors = MOTIONS[name]
    assert (data["mobility"], data["motors"]["velocities"]) == (mobility, motors)
    assert data["motors"]["over_actuated_by"] == max(0, motors - mobility)
    assert data["motors"]["under_actuated_by"] == max(0, mobility - motors)
    assert data["start"]["closes"]
    assert data["pose"]["gap"] < 1e-12
    assert data["mobility"] == data["velocities"] - data["independent_conditions"]
    assert not data["pose"]["is_singular"]


def test_a_planar_linkage_has_unique_forces_in_its_plane_only(ada):
    unique = loops_of(ada, "four_bar")["unique_components"]
    in_plane = {"fx": True, "fy": False, "fz": True, "nx": False, "ny": True, "nz": False}
    assert unique == dict.fromkeys(("joint_1", "joint_2", "joint_3", "closing"), in_plane)


def test_the_zero_pose_is_said_to_be_open_by_its_gap(ada, tmp_path):
    file = write(mechanisms.four_bar().model, tmp_path / "robot.urdf", "loop_joint")[0]
    data = loops_of(ada, file)
    assert not data["start"]["closes"]
    assert data["start"]["gap"]["closing"] == pytest.approx(3.0, abs=1e-12)
    assert data["pose"]["gap"] < 1e-12


def test_a_start_pose_chooses_the_way_of_assembly(ada, tmp_path):
    lengths = (1.0, 2.0, 1.0, 2.0)
    model, parallel = mechanisms.four_bar(lengths)
    (file,) = write(model, tmp_path / "robot.urdf", "loop_joint")
    for q in (parallel, mechanisms.four_bar(lengths, crossed=True).q):
        found = loops_of(ada, file, "--start", *q)
        assert found["start"]["closes"]
        np.testing.assert_allclose(found["pose"]["q"], q, atol=1e-12)


def test_a_tree_has_no_loops_and_a_start_pose_of_the_wrong_length_is_refused(ada):
    assert loops_of(ada, "pa10") == {}
    assert ada("info", "four_bar", "--start", "1")[0] == 2
