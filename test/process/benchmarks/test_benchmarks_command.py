# SPDX-License-Identifier: Apache-2.0
"""Every section of the benchmarks runs in its smallest form and says what it promises; figures are not judged here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command_line

JUDGED = {
    "derivatives",
    "energy",
    "forward",
    "closed",
    "compile",
    "chains",
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
