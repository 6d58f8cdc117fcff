# SPDX-License-Identifier: Apache-2.0
"""All commands: refused outputs, one word for one option, a full disk, interrupts; what `ada doctor` finds."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ada_dynamics.errors import OUTPUT_LOST
from ada_hardware.self_test.checks import Checks, Verdict
from ada_tools import cli
from ada_tools.commands import MODULES
from ada_tools.commands.doctor import PURPOSES, check_packages

REPOSITORY = Path(__file__).parents[3]
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")


@pytest.mark.parametrize("option", ["--plot", "--snapshots", "--animate", "--record"])
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


@pytest.fixture
def asked(capsys):
    """Exit code and checks by name, of the command as JSON."""

    def ask():
        code = cli.main(["doctor", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert found["ok"] is (code == 0)
        return code, {check["check"]: check for check in found["checks"]}

    return ask


def packages_of(**wanted):
    checks = Checks()
    check_packages(checks, {name.rstrip("_"): [one] for name, one in wanted.items()})
    return {check.name: check for check in checks.done}


def test_a_machine_on_which_everything_needed_works_is_well(asked):
    code, checks = asked()
    assert code == 0
    assert checks["first kernel"]["verdict"] == "ok" and checks["first kernel"]["seconds"] > 0.0
    assert checks["processor"]["cpu"]
    assert {"Python", "cache", "graphics processor", "real-time rights", "ROS 2", "browser"} <= checks.keys()


def test_a_missing_extra_is_no_fault_and_is_named_with_what_it_brings():
    found = packages_of(view="no-such-package")["extra view"]
    assert found.verdict is Verdict.MISSING
    assert PURPOSES["view"] in found.text and "[view]" in found.text


def test_a_missing_required_package_is_a_fault():
    found = packages_of(_="no-such-package")["no-such-package"]
    assert found.verdict is Verdict.FAILED and "pip install no-such-package" in found.text


def test_a_cache_that_others_may_write_is_named(asked, monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("ADA_CACHE_DIR", str(folder))
    code, checks = asked()
    assert code == 0
    assert checks["cache"]["verdict"] == "missing" and str(folder) in checks["cache"]["text"]


PATIENCE = 120.0  # [s]
ADA = "ada_tools.cli"


@pytest.mark.parametrize(
    "words",
    [
        (ADA, "hw", "emulate", "ft300"),
        (ADA, "hw", "monitor", "dynpick", "--emulator", "--json", "--every", "0.1"),
        ("ada_hardware.emulation", "ft300"),
        ("ada_tools.bringup.child", str(os.getpid()), ADA, "hw", "emulate", "ft300"),
    ],
    ids=["ada hw emulate", "ada hw monitor", "ada_hardware.emulation", "a child of ada up"],
)
def test_a_program_ends_on_sigint_although_its_starter_ignores_that(words):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # and its children inherit it
    try:
        program = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert program.stdout.readline(), "it has begun"
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE)
        assert (program.returncode, errors.strip()) == (0, b"")
    finally:
        program.kill()
        program.communicate()


def test_a_command_called_in_somebody_elses_program_leaves_its_signals_alone(capsys):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert cli.main(["list"]) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
