# SPDX-License-Identifier: Apache-2.0
"""What every command keeps to: outputs refused before the work, one word for one option, one line for a full disk."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ada_dynamics.errors import OUTPUT_LOST
from ada_tools import cli
from ada_tools.commands import MODULES

REPOSITORY = Path(__file__).parents[3]
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")


@pytest.mark.parametrize("option", ["--plot", "--animate", "--record"])
@pytest.mark.parametrize("place", ["nowhere/fall.{}", "folder", "fall.foo"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(ada, tmp_path, option, place):
    pytest.importorskip("matplotlib")
    ending = {"--animate": "gif", "--record": "mcap"}.get(option, "png")
    file = tmp_path / (f"folder.{ending}" if place == "folder" else place.format(ending))
    if place == "folder":
        file.mkdir()
    before = sorted(tmp_path.iterdir())
    code, out, err = ada("sim", "planar_3r", "--headless", option, file)
    assert (code, out) == (2, "") and err  # a run would end with its table
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "other", [["--headless"], ["--json"], ["--plot", "a.png"], ["--record", "a.mcap"]], ids=lambda words: words[0]
)
def test_a_view_beside_what_it_cannot_do_is_refused(ada, other):
    assert ada("sim", "planar_3r", "--view", *other)[:2] == (2, "")


def test_angles_may_be_given_in_degrees(ada):
    start = ["30", "-45", "60"]
    found = []
    for words in ([*start, "deg"], [str(x) for x in np.radians([30.0, -45.0, 60.0])]):
        code, out, err = ada("sim", "planar_3r", "--json", "--duration", "0.001", "--start", *words)
        assert (code, err) == (0, "")
        found.append(json.loads(out)["states"][0]["q"])
    assert found[0] == pytest.approx(np.radians([30.0, -45.0, 60.0]), abs=1e-15)
    assert found[0] == pytest.approx(found[1], abs=1e-15)


def test_a_start_in_degrees_that_says_radians_gets_a_hint(ada):
    beyond = ("sim", "pa10", "--json", "--duration", "0.001", "--start", "0", "95", "0", "0", "0", "0", "0")
    code, _, err = ada(*beyond)
    assert code == 2 and "--start 0 95 0 ... deg" in err and "'s2' by 93.4" in err
    code, _, err = ada(*beyond, "--no-stops")
    assert code == 0
    assert "warning: --start: joint 's2' at 95 rad is outside of its limits" in err
    assert "--start 0 95 0 ... deg" in err
    assert err.count("warning") == 1  # a slow machine tells of its progress as well
    code, _, err = ada("sim", "planar_3r", "--json", "--duration", "0.001", "--start", "7", "0", "0")
    assert "'joint_1' at 7 rad is more than a whole turn" in err


def test_one_word_stands_for_one_option_in_all_commands(capsys):
    found = {}
    for name in (*MODULES, "hw test", "hw monitor", "record convert"):
        with pytest.raises(SystemExit):
            cli.main([*name.split(), "--help"])
        found[name] = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    every = set().union(*found.values())
    assert {"--output", "--duration"} <= every
    assert every.isdisjoint({"--out", "--outdir", "--output-dir", "--seconds", "--time", "--length"})
    assert all("--output" in found[name] for name in ("export", "reproduce", "sweep"))


@needs_full
@pytest.mark.parametrize(
    "words", [["list"], ["--help"], ["sim", "--help"], ["convert", "four_bar", "--to", "loop_joint"]], ids=" ".join
)
def test_output_that_cannot_be_written_is_one_line_and_an_exit_code(words):
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "ada_tools.cli", *words]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert ended.stderr == "ada: error: No space left on device\n"
    assert ended.returncode == OUTPUT_LOST


@needs_full
@pytest.mark.parametrize(
    ("option", "ending", "module"), [("--plot", "png", "matplotlib"), ("--record", "mcap", "mcap")]
)
def test_a_plot_or_recording_on_a_full_disk_is_one_line(ada, tmp_path, option, ending, module):
    pytest.importorskip(module)
    file = tmp_path / f"fall.{ending}"
    file.symlink_to(FULL)
    code, _, err = ada("sim", "planar_3r", "--headless", "--duration", "0.01", option, file)
    assert code == 2
    assert "No space left on device" in err and len(err.splitlines()) == 1


def extras_of_setup(monkeypatch):
    given = {}
    monkeypatch.setattr("setuptools.setup", given.update)
    monkeypatch.chdir(REPOSITORY)
    runpy.run_path("setup.py")
    return given


def test_messages_name_extras_that_exist_by_a_line_that_works(monkeypatch):
    known = set(extras_of_setup(monkeypatch)["extras_require"])
    named = set()
    for package in ("ada_dynamics", "ada_robot", "ada_controllers", "ada_hardware", "ada_tools", "experiments"):
        for file in (REPOSITORY / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            named |= set(re.findall(r"how_to_install\([\"'](\w+)", text))
            # The name alone is nothing to pip: the package is on no index.
            assert not re.search(r"pip install [\"']?ada[_-]dynamics\[", text), file
    assert {"view", "tools", "ros", "record"} <= named <= known
