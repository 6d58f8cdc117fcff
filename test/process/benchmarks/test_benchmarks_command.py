# SPDX-License-Identifier: Apache-2.0
"""Every section of the benchmarks runs in its smallest form and says what it promises; times are not judged here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command_line
from benchmarks.hardware import __main__ as hardware
from benchmarks.inverse_kinematics import measure
from benchmarks.report import CANNOT_RUN

JUDGED = {  # sections with goals in a quick run; those of chains need long ones
    "derivatives",
    "energy",
    "forward",
    "closed",
    "compile",
    "simulation",
}


@pytest.fixture(autouse=True)
def all_processors() -> Iterator[None]:
    """The benchmarks keep to one processor: this worker gets the others back."""
    pinned = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    yield
    if pinned is not None:
        os.sched_setaffinity(0, pinned)


@pytest.mark.parametrize("section", command_line.SECTIONS)
def test_a_quick_run_ends_well_and_writes_every_figure(
    section: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    code = command_line.main([section, "--quick", "--json", str(file)])
    said = capsys.readouterr()
    assert code == 0, said.err
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert "processor" in figures["machine"]
    assert {table["section"] for table in figures["tables"]} == {section}
    for table in figures["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["title"]
    for target in figures["targets"]:
        assert target["measured"] >= 0.0, target
        better = target["measured"] >= target["limit"] if target["at_least"] else target["measured"] <= target["limit"]
        assert target["reached"] == better
        assert target["what"] in said.out or f"target >= {target['limit']:g}" in said.out
    assert {target["section"] for target in figures["targets"]} == JUDGED & {section}


def test_an_arm_reaches_its_goals_as_often_as_with_pink() -> None:
    pytest.importorskip("pink")
    one_by_one, at_once, *pink = measure("pa10", "flange", 30)
    assert len(pink) == 3
    assert at_once.reached == one_by_one.reached >= 29
    assert at_once.reached >= max(one.reached for one in pink) >= 28


def test_a_hexapod_reaches_its_goals_with_closed_loops_which_pink_does_not_support() -> None:
    assert [one.reached for one in measure("stewart", "platform", 5)] == [5, 5]


def test_a_quick_run_measures_the_cycle_and_nothing_unsafe_comes_to_the_device(tmp_path, capsys):
    code = hardware.main(["--quick", "--json", str(tmp_path)])
    assert code != CANNOT_RUN, capsys.readouterr().err
    (table,) = json.loads((tmp_path / "figures.json").read_text())["tables"]
    assert table["section"] == "cycle"
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert table["rows"][0][table["columns"].index("unsafe")] == 0
