# SPDX-License-Identifier: Apache-2.0
"""The threat model: every boundary is there and shown by tests that exist; figures are the code's."""

import re
from pathlib import Path

import bounded_reading
import pytest

from ada_dynamics.drawing import mesh_limits
from ada_dynamics.robots.readers import xml
from ada_dynamics.simulation.record import mcap_records, npz
from ada_dynamics.structured_text import yaml_text

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
MODEL = PAGE.split("## Boundaries")[1].split("\n## ")[0]
ROWS = [line for line in MODEL.splitlines() if line.startswith("| ") and "---" not in line][1:]
BOUNDARIES = ["files", "cache", "DDS", "wire", "page", "installation"]
MB = 2**20


def test_every_boundary_is_there():
    assert [row.strip("|").split("|")[0].strip() for row in ROWS] == BOUNDARIES


@pytest.mark.parametrize("row", ROWS, ids=BOUNDARIES)
def test_each_boundary_says_who_what_is_done_and_what_is_left_open_and_has_tests_that_exist(row):
    _, who, done, shown, left = (cell.strip() for cell in row.strip("|").split("|"))
    assert who and done and left
    names = re.findall(r"`(test_\w+\.py)`", shown)
    assert names
    for name in names:
        assert list((ROOT / "test").rglob(name)), name


def test_the_figures_are_those_of_the_code():
    said = [
        int(number) for number in re.findall(r"(\d+)(?= MB| times the size| s of)", MODEL.split("A bomb may take")[1])
    ]
    texts, arrays = yaml_text.MAX_CHARACTERS / MB, npz.MOST_EXPANDED / MB
    assert mesh_limits.MAX_BYTES == xml.MAX_BYTES
    assert arrays == mcap_records.MOST_IN_CHUNK / MB
    bounds = bounded_reading.MEMORY / MB, bounded_reading.MEMORY_PER_BYTE, bounded_reading.SECONDS
    assert said == [*bounds, xml.MAX_BYTES / MB, texts, arrays]


def test_the_first_page_on_security_leads_to_it():
    first = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    assert "docs/security.md" in first
    assert all(boundary in first for boundary in BOUNDARIES)
