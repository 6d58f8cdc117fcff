# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' command runs and says what it promises; figures are nobody's business here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = [
    "forward",
    "calls",
    "closed",
    "chains",
    "assembly",
    "hybrid",
    "compile",
    "flops",
    "other",
    "simulation",
    "linkages",
    "controllers",
]


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


JUDGED = {"forward", "calls", "closed", "hybrid", "compile", "simulation", "linkages", "controllers"}
ALL = pytest.param(SECTIONS, marks=pytest.mark.soak, id="all")


@pytest.mark.slow
@pytest.mark.parametrize("sections", [["forward", "calls", "other"], ["linkages"], ALL])
def test_a_quick_run_ends_well_and_writes_every_figure(sections: list[str], tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = benchmarks(*(sections if sections != SECTIONS else ()), "--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert "processor" in figures["machine"]
    assert list(dict.fromkeys(table["section"] for table in figures["tables"])) == sections
    for table in figures["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["title"]
    for target in figures["targets"]:
        assert target["measured"] > 0.0, target
        better = target["measured"] >= target["limit"] if target["at_least"] else target["measured"] <= target["limit"]
        assert target["reached"] == better
        assert target["what"] in done.stdout or f"target >= {target['limit']:g}" in done.stdout
    assert {target["section"] for target in figures["targets"]} == JUDGED & set(sections)


def test_an_unknown_section_is_refused_by_name() -> None:
    done = benchmarks("speed")
    assert done.returncode == 2
    assert "no section 'speed'" in done.stderr
    assert all(section in done.stderr for section in SECTIONS)
