# SPDX-License-Identifier: Apache-2.0
"""The page for a robot of one's own: its files, commands and program move a Delta to its targets over DDS."""

import re
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from pages import ROOT, blocks, words
from setup_world import Running

import ada_dynamics as ada
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.catalogue import CATALOGUE
from ada_tools import cli
from ada_tools.bringup.arguments import assignments, joint_positions

PAGE = ROOT / "docs/your_robot.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMED = re.compile(r"(?:<!--|#) (my_\S+)")  # the first line of a file
UNSEEN = ("--no-open", "--port", "0", "--duration", "1")
# A controller that misses states for a while restarts where the robot is; a busy machine misses them for longer.
PATIENT = "controller_node: {ros__parameters: {state_timeout: 20.0, max_gap: 20.0}}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the page, in which its commands are typed."""
    for block in blocks(PAGE, "xml", "yaml"):
        name = NAMED.match(block.code)
        if name:
            (tmp_path / name[1]).write_text(block.code)
    (tmp_path / "patient.yaml").write_text(PATIENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(name):
    """Each command `ada NAME` of the page, without `ada`, and the lines that follow it."""
    for block in blocks(PAGE, "console"):
        for shown in block.code.split("$ ")[1:]:
            line, _, output = shown.partition("\n")
            if words(line)[0] == name:
                yield words(line), output


def platform_of(arms):
    """Centre of the platform of a Delta with the dimensions on the page: three spheres meet there."""
    found = re.search(r"base of (\S+) m, arms of (\S+) m, rods of (\S+) m, platform of (\S+) m", TEXT)
    base, arm, rod, plate = map(float, found.groups())
    azimuths = np.radians([0.0, 120.0, 240.0])
    out = base - plate + arm * np.cos(arms)
    first, *others = np.column_stack([out * np.cos(azimuths), out * np.sin(azimuths), -arm * np.sin(arms)])
    A = np.array([2.0 * (centre - first) for centre in others])
    b = np.array([centre @ centre - first @ first for centre in others])
    line = np.cross(*A) / np.linalg.norm(np.cross(*A))
    start = np.linalg.lstsq(A, b, rcond=None)[0] - first
    half = start @ line
    reach = np.sqrt(half**2 - start @ start + rod**2)
    return min((first + start + (sign * reach - half) * line for sign in (1.0, -1.0)), key=lambda point: point[2])


def printed(place):
    """A point as sentences of the page have it."""
    return f"({', '.join(f'{round(x, 4) + 0.0:g}' for x in place)}) m"


def test_the_check_prints_what_the_page_shows_and_names_the_motors_where_they_are_missing(folder, capsys):
    shown = list(commands("check"))
    assert shown
    for given, output in shown:
        assert cli.main(given) == 0
        assert capsys.readouterr().out == output
    loops = folder / "my_delta.loops.yaml"
    loops.write_text(re.sub("actuated: .*\n", "", loops.read_text()))
    assert cli.main(shown[0][0]) == 0
    (warning,) = blocks(PAGE, "text")
    assert warning.code.strip() in capsys.readouterr().out


def test_the_robot_of_the_page_is_none_of_the_catalogue_and_has_the_mobility_that_the_page_counts(folder, capsys):
    assert cli.main(["info", "my_delta.urdf", "--loops", "my_delta.loops.yaml"]) == 0
    assert "mobility 3: 18 velocities of the tree, 15 independent" in capsys.readouterr().out
    model = ada.load("my_delta.urdf", loops="my_delta.loops.yaml")
    assert model.name not in CATALOGUE
    assert model.actuated == ("arm_1", "arm_2", "arm_3")


@pytest.mark.ros
def test_the_commands_and_the_program_of_the_page_move_the_platform_to_both_targets(ros, folder):
    for given, _ in commands("view"):
        looked = ros.start(sys.executable, "-m", "ada_tools.cli", *given, *UNSEEN, cwd=folder)
        assert looked.wait() == 0, looked.output
    first, *others = [given for given, _ in commands("up")]
    assert others == [first]  # the page begins with its result
    running = Running(ros, *first[1:], "params_file:=patient.yaml", "real_time_factor:=0.5", cwd=folder)
    model = ada.load("my_delta.urdf", loops="my_delta.loops.yaml")

    running.until(lambda: running.measured, "the robot, which is compiled first")
    running.until(lambda: running.controls, "a controller at work")

    def moves_to(arms):
        running.until(lambda: np.abs(running.joints(model.actuated) - arms).max() < 2e-4, f"the arms at {arms}")
        q, state = model.neutral(), running.measured.newest()
        for name, position in zip(state.name, state.position, strict=True):
            q[model.q_index(name)] = position
        rotation, place = link_poses(model, q)["platform"]
        np.testing.assert_allclose(place, platform_of(np.array(arms)), atol=2e-4)
        np.testing.assert_allclose(rotation, np.eye(3), atol=1e-4)  # the rods keep it level
        assert printed(platform_of(np.array(arms))) in TEXT

    goal = joint_positions(assignments(first[2:])["goal"])
    moves_to([goal[name] for name in model.actuated])
    (program,) = blocks(PAGE, "python")
    target = re.search(r"position=\[(.*?)\]", program.code)
    sent = ros.start(sys.executable, "-c", program.code)
    assert sent.wait() == 0, sent.output
    moves_to([float(number) for number in target[1].split(",")])
    running.end()
