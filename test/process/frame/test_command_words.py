# SPDX-License-Identifier: Apache-2.0
"""What every command keeps to: outputs refused before the work, one word for one option, one line for a full disk."""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics import extras
from ada_dynamics.exit_codes import OUTPUT_LOST
from ada_dynamics.simulation import progress
from ada_dynamics.simulation.record import mcap_reading
from ada_tools import cli
from ada_tools.commands import MODULES, command, sim
from ada_tools.commands import sweep as sweep_command

REPOSITORY = Path(__file__).parents[3]
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")


@pytest.fixture
def run(capsys):
    def run(*words):
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def nothing_runs(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("it was simulated before its output was looked at")

    monkeypatch.setattr(sim.Simulation, "run", fail)


# --- outputs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", ["--plot", "--snapshots", "--animate", "--record"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(run, nothing_runs, tmp_path, option):
    pytest.importorskip("matplotlib")
    ending = {"--animate": "gif", "--record": "mcap"}.get(option, "png")
    file = tmp_path / "nowhere" / f"fall.{ending}"
    code, _, err = run("sim", "planar_3r", "--headless", option, file)
    assert code == 2
    assert f"{option} {file}: it cannot be written: No such file or directory." in err
    (tmp_path / f"folder.{ending}").mkdir()
    assert "that is a folder" in run("sim", "planar_3r", "--headless", option, tmp_path / f"folder.{ending}")[2]


@pytest.mark.parametrize("option", ["--plot", "--snapshots", "--animate", "--record"])
def test_an_ending_that_nothing_can_have_is_refused_before_the_run(run, nothing_runs, tmp_path, option):
    pytest.importorskip("matplotlib")
    code, _, err = run("sim", "planar_3r", "--headless", option, tmp_path / "fall.foo")
    assert code == 2
    assert re.search(r"\.png|\.gif|\.mcap", err)
    assert not list(tmp_path.iterdir())


def test_looking_at_outputs_leaves_them_as_they_are(run, tmp_path):
    pytest.importorskip("matplotlib")
    kept = tmp_path / "kept.png"
    kept.write_text("mine")
    code, _, err = run("sim", "planar_3r", "--headless", "--plot", kept, "--record", tmp_path / "no" / "where.mcap")
    assert code == 2 and "where.mcap" in err
    assert kept.read_text() == "mine" and [path.name for path in tmp_path.iterdir()] == ["kept.png"]


def test_one_file_for_two_pictures_is_refused(run, nothing_runs, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.png"
    code, _, err = run("sim", "planar_3r", "--headless", "--plot", file, "--snapshots", file)
    assert code == 2 and "--plot and --snapshots are both" in err


@pytest.mark.parametrize("other", [["--headless"], ["--json"], ["--plot", "a.png"], ["--record", "a.mcap"]])
def test_a_view_beside_what_it_cannot_do_is_refused(run, nothing_runs, other):
    code, _, err = run("sim", "planar_3r", "--view", *other)
    assert code == 2
    assert f"--view with {other[0]}" in err


def test_drawing_a_film_shows_how_far_it_is(run, tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    pytest.importorskip("matplotlib")
    for name in ("FIRST_AFTER", "LINE_NOT_BEFORE"):
        monkeypatch.setattr(progress, name, 0.0)
    code, _, err = run("sim", "planar_3r", "--headless", "--duration", "0.4", "--animate", tmp_path / "fall.gif")
    assert code == 0
    shares = [int(share) for share in re.findall(r"fall\.gif: +(\d+) %.*frame \d+ of 11", err)]
    assert len(shares) > 5 and shares == sorted(shares)


def test_joints_of_a_plot_are_chosen_by_name_and_the_rest_is_told_in_a_line(run, tmp_path):
    pytest.importorskip("matplotlib")
    words = ("sim", "khr1", "--headless", "--duration", "0.02", "--plot", tmp_path / "a.svg")
    code, _, err = run(*words)
    assert code == 0
    assert err.count("a.svg shows 8 of 17 joints, those that move most; --joints chooses others") == 1
    code, _, err = run(*words, "--joints", "left_knee", "right_knee")
    assert (code, err) == (0, "")
    code, _, err = run(*words, "--joints", "left_kne")
    assert code == 2 and "left_knee" in err
    code, _, err = run(*words[:-2], "--joints", "left_knee")
    assert code == 2 and "give --plot FILE" in err


# --- starts ---------------------------------------------------------------------------------------------------------
def test_angles_may_be_given_in_degrees(run):
    start = ["30", "-45", "60"]
    found = []
    for words in ([*start, "deg"], [str(x) for x in np.radians([30.0, -45.0, 60.0])]):
        code, out, err = run("sim", "planar_3r", "--json", "--duration", "0.001", "--start", *words)
        assert (code, err) == (0, "")
        found.append(json.loads(out)["states"][0]["q"])
    assert found[0] == pytest.approx(np.radians([30.0, -45.0, 60.0]), abs=1e-15)
    assert found[0] == pytest.approx(found[1], abs=1e-15)


def test_lengths_are_metres_whatever_the_angles_are_in(run, tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joints = "".join(
        f'<link name="{child}">{inertial}</link><joint name="{child}_joint" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for parent, child, kind in (("ground", "mast", "revolute"), ("mast", "hook", "prismatic"))
    )
    file = tmp_path / "crane.urdf"
    file.write_text(f'<robot name="crane"><link name="ground"/>{joints}</robot>')
    code, out, _ = run("sim", file, "--json", "--duration", "0.001", "--start", "30", "1.5", "deg")
    assert code == 0
    assert json.loads(out)["states"][0]["q"] == pytest.approx([np.radians(30.0), 1.5], abs=1e-15)


def test_a_start_in_degrees_that_says_radians_gets_a_hint(run):
    beyond = ("sim", "pa10", "--json", "--duration", "0.001", "--start", "0", "95", "0", "0", "0", "0", "0")
    code, _, err = run(*beyond)
    assert code == 2 and "--start 0 95 0 ... deg" in err and "'s2' by 93.4" in err
    code, _, err = run(*beyond, "--no-stops")
    assert code == 0
    assert "warning: --start: joint 's2' at 95 rad is outside of its limits" in err
    assert "--start 0 95 0 ... deg" in err
    assert err.count("warning") == 1  # a slow machine tells of its progress as well
    code, _, err = run("sim", "planar_3r", "--json", "--duration", "0.001", "--start", "7", "0", "0")
    assert "'joint_1' at 7 rad is more than a whole turn" in err


def test_a_start_that_is_no_number_is_refused(run):
    for word in ("nan", "inf", "95deg", "fast"):
        code, _, err = run("sim", "planar_3r", "--start", "0", word, "0")
        assert code == 2 and f"--start {word!r}: it must be a finite number" in err


# --- words ----------------------------------------------------------------------------------------------------------
def options_of(parser):
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from options_of(one)


def test_one_word_stands_for_one_option_in_all_commands():
    found = {option for name in MODULES for option in options_of(cli.parser(name))}
    assert {"--output", "--duration"} <= found
    assert found.isdisjoint({"--out", "--outdir", "--output-dir", "--seconds", "--time", "--length"})


def test_every_command_that_writes_a_folder_takes_output():
    for name in ("export", "reproduce", "sweep"):
        parser = argparse.ArgumentParser()
        command(name).add_arguments(parser)
        assert "--output" in set(options_of(parser)), name


def test_a_sweep_without_a_folder_leaves_nothing_that_git_would_list(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(sweep_command, "run_sweep", lambda plan, output, *_, **__: taken.append(output))
    monkeypatch.setattr(sweep_command, "load", lambda file: file)
    monkeypatch.setattr(sweep_command, "_show", lambda result, options: 0)
    assert cli.main(["sweep", "some/starts.yaml"]) == 0
    assert taken == [Path("swept/starts")]
    ignored = subprocess.run(["git", "check-ignore", "-q", "swept/starts/runs.jsonl"], cwd=REPOSITORY, check=False)
    assert ignored.returncode in (0, 128)  # 128: no checkout of git


# --- no memory, full disks -----------------------------------------------------------------------------------------
def test_a_memory_that_does_not_suffice_for_a_recording_is_one_line_and_the_recording_is_not_called_damaged(
    run, tmp_path, monkeypatch
):
    pytest.importorskip("mcap")
    path = tmp_path / "fall.mcap"
    ada.Simulation(ada.load("planar_3r")).run(0.01, record=path)

    def full(*_):
        raise MemoryError("Unable to allocate 53.4 MiB")

    monkeypatch.setattr(mcap_reading, "chunk_data", full)
    code, _, err = run("record", "info", path)
    assert code == 2
    assert err == (
        "ada: error: the memory does not suffice: Unable to allocate 53.4 MiB. Give more of it, or less to work on.\n"
    )


@needs_full
@pytest.mark.parametrize(
    "words", [["list"], ["--help"], ["sim", "--help"], ["convert", "four_bar", "--to", "mjcf"]], ids=" ".join
)
def test_output_that_cannot_be_written_is_one_line_and_an_exit_code(words):
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "ada_tools.cli", *words]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert ended.stderr == "ada: error: No space left on device\n"
    assert ended.returncode == OUTPUT_LOST


@needs_full
def test_a_plot_on_a_full_disk_is_one_line(run, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "fall.png"
    file.symlink_to(FULL)
    code, _, err = run("sim", "planar_3r", "--headless", "--duration", "0.01", "--plot", file)
    assert code == 2
    assert "fall.png: " in err and "No space left on device" in err and len(err.splitlines()) == 1


@needs_full
def test_a_recording_on_a_full_disk_is_one_line(run, tmp_path):
    pytest.importorskip("mcap")
    file = tmp_path / "fall.mcap"
    file.symlink_to(FULL)
    code, _, err = run("sim", "planar_3r", "--headless", "--duration", "0.01", "--record", file)
    assert code == 2
    assert "No space left on device" in err and len(err.splitlines()) == 1


# --- logs -----------------------------------------------------------------------------------------------------------
def test_the_ending_says_how_a_log_is_saved_and_others_are_refused(tmp_path):
    log = ada.Simulation(ada.planar_chain(2), [0.3, 0.2]).run(0.01)
    with pytest.raises(ada.InputError, match=r"x\.foo: its ending must be one of \.npz, \.mcap, \.csv"):
        log.save(tmp_path / "x.foo")
    assert not list(tmp_path.iterdir())
    assert log.save(tmp_path / "x.csv").read_text().startswith("t")
    for name in ("x.npz", "x"):
        np.testing.assert_array_equal(ada.Log.load(log.save(tmp_path / name)).q, log.q)
    pytest.importorskip("mcap")
    np.testing.assert_array_equal(ada.Log.load(log.save(tmp_path / "x.mcap")).q, log.q)


# --- extras ---------------------------------------------------------------------------------------------------------
def extras_of_setup():
    given = {}
    import setuptools

    kept = setuptools.setup
    setuptools.setup = lambda **words: given.update(words)
    here = Path.cwd()
    try:
        os.chdir(REPOSITORY)
        runpy.run_path("setup.py")
    finally:
        os.chdir(here)
        setuptools.setup = kept
    return given


def test_messages_name_extras_that_exist_by_a_line_that_works():
    known = set(extras_of_setup()["extras_require"])
    named = set()
    for package in ("ada_dynamics", "ada_robot", "ada_controllers", "ada_hardware", "ada_tools", "ada_experiments"):
        for file in (REPOSITORY / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            named |= set(re.findall(r"how_to_install\([\"'](\w+)", text))
            # The name alone is nothing to pip: the package is on no index.
            assert not re.search(r"pip install [\"']?ada[_-]dynamics\[", text), file
    assert {"view", "tools", "ros", "record"} <= named <= known


def test_the_line_for_an_extra_names_the_folder_that_the_package_came_from(tmp_path, monkeypatch):
    def noted(**what):
        text = json.dumps(what) if what else None
        monkeypatch.setattr(
            extras.importlib.metadata, "distribution", lambda name: argparse.Namespace(read_text=lambda file: text)
        )
        return extras.how_to_install("view")

    source = tmp_path / "a checkout"
    source.mkdir()
    (source / "setup.py").write_text("")
    url = source.as_uri()
    assert noted(url=url, dir_info={"editable": True}) == f"pip install -e '{source}[view]'"
    assert noted(url=url, dir_info={}) == f"pip install '{source}[view]'"
    git = noted(url="https://host/ada.git", vcs_info={"vcs": "git", "commit_id": "c0ffee"})
    assert git == "pip install 'ada_dynamics[view] @ git+https://host/ada.git@c0ffee'"
    wheel = noted(url="file:///home/me/ada.whl", archive_info={})
    assert wheel == "pip install 'ada_dynamics[view] @ file:///home/me/ada.whl'"
    assert noted() == f"pip install -e '{REPOSITORY}[view]'"  # nobody noted anything: the checkout of this file
    monkeypatch.setattr(extras, "__file__", "/usr/lib/python3/dist-packages/ada_dynamics/extras.py")
    assert noted() == "pip install '.[view]' in the folder of ada_dynamics's source"


def test_what_the_bundled_data_needs_comes_with_the_base():
    given = extras_of_setup()
    assert any(line.startswith("PyYAML") for line in given["install_requires"])
    assert not any("yaml" in line.lower() for lines in given["extras_require"].values() for line in lines)
    assert "view_node" not in " ".join(given["entry_points"]["console_scripts"])
