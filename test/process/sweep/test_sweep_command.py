# SPDX-License-Identifier: Apache-2.0
"""`ada sweep`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ada_tools.cli import main

SWEEP = """
scenario: T3.3
with: {simulation.duration: 5 ms}
parameters:
  start.joints.joint_1: [135 deg, 20 deg]
measures: [loop_gap]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where results land unless told otherwise
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP)
    return path


HOME = "swept/s"  # of its results unless told otherwise


def ada(*words: object) -> int:
    return main(["sweep", *map(str, words)])


@pytest.mark.smoke
def test_it_runs_shows_and_exports(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("--jobs", 1)
    assert ada(file, *one, "--limit", 1, "--json") == 1
    assert json.loads(capsys.readouterr().out)["left"] == 1
    assert ada("status", HOME) == 1
    assert "1 of 2 runs done, 0 failed, 1 left" in capsys.readouterr().out
    assert ada(file, *one) == 0
    out = capsys.readouterr().out
    assert "1 of 2 runs done, 1 failed, 0 left" in out
    assert "failed, 1 times: ScenarioError" in out
    assert "loop_gap" in out
    assert ada(file, *one, "--strict") == 1
    assert ada("status", HOME, "--strict") == 1
    assert ada("export", HOME, file.with_suffix(".csv")) == 0
    assert len(file.with_suffix(".csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "words",
    [["status"], ["status", "nowhere"], ["export", "a"], ["a.yaml", "b.yaml"], ["a.txt"], ["FILE", "--jobs", "0"]],
)
def test_wrong_usage_has_an_exit_code_of_its_own(file: Path, words: list[str]) -> None:
    assert ada(*(file if word == "FILE" else word for word in words)) == 2


def test_an_export_of_another_kind_is_refused(file: Path) -> None:
    ada(file, "--jobs", 1, "--limit", 1)
    assert ada("export", HOME, file.with_suffix(".xls")) == 2
