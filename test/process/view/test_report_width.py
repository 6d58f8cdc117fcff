# SPDX-License-Identifier: Apache-2.0
"""The report of `ada reproduce` in a browser: it is no wider than the window, whatever it tells."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ada_experiments.report import write_html
from ada_experiments.reproduce import Result
from ada_tools.scenario.registry import Claim, Outcome, Table

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
TOLD = "<script>const d = document.documentElement; document.title = `${d.scrollWidth} of ${d.clientWidth}`;</script>"
# The longest headings of the documents' tables, a word that no line can hold, and more columns than any window.
HEADS = ["links", *(f"document: Lagrange, program {i} [s]" for i in range(8))]
WORD = "simulation/" * 30


@pytest.fixture
def report(tmp_path: Path) -> Path:
    tables = [
        Table("Table 4.2", HEADS, [[i, *([0.0894 * i] * 8)] for i in range(1, 8)]),
        Table("wide", [f"c{i}" for i in range(40)], [[123456.0] * 40]),
    ]
    outcome = Outcome([Claim(f"it holds in {WORD}", 1.0, 2.0, note=WORD)], [], tables, [WORD])
    result = Result("T4.3", f"Cost of {WORD}", WORD, outcome, f"it broke in {WORD}", f"Traceback: {WORD}")
    path = tmp_path / "report.html"
    write_html([result], path)
    return path


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; on Debian: apt install chromium")
@pytest.mark.parametrize("width", [1300, 700])
def test_the_page_does_not_scroll_sideways(report: Path, width: int, tmp_path: Path) -> None:
    report.write_text(report.read_text(encoding="utf-8").replace("</body>", f"{TOLD}</body>"), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [str(CHROMIUM), *options, f"--window-size={width},900", "--dump-dom", report.as_uri()]
    page = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r"<title>(\d+) of (\d+)</title>", page)
    assert found is not None, page[:300]
    wide, window = map(int, found.groups())
    assert 0.9 * width < window <= width
    assert wide == window
