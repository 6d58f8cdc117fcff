# SPDX-License-Identifier: Apache-2.0
"""The page on what the project is not: what it claims is shown by tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "safety_scope.md").read_text(encoding="utf-8")
HAZARDS = PAGE.split("## Hazards")[1].split("\n## ")[0]
ROWS = [line for line in HAZARDS.splitlines() if line.startswith("| ") and "---" not in line][1:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_hazard_has_a_mechanism_and_a_test_that_exists(row: str) -> None:
    hazard, mechanism, tests = (cell.strip() for cell in row.strip("|").split("|"))
    assert hazard
    assert mechanism
    names = re.findall(r"`(test_\w+\.py)`", tests)
    assert names
    for name in names:
        assert list((ROOT / "test").rglob(name)), name


def test_it_says_that_it_has_no_performance_level() -> None:
    assert "without a performance level" in PAGE
