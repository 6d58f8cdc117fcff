# SPDX-License-Identifier: Apache-2.0
"""The report shows every claim with figure, limit and verdict, the figures in their folders, and what failed."""

import math

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_experiments.report import REPORT, write_report
from ada_experiments.reproduce import ScenarioResult
from ada_tools.scenario.registry import Claim, Outcome, Table


@pytest.fixture
def page(tmp_path):
    claims = [
        Claim("energy is kept", 2.5e-10, 1e-8, note="a reason"),
        Claim("five passings", 4.0, 5.0, "=="),
        Claim("fast | enough", 30.25, 10.0, ">=", "x"),
    ]
    table = Table("Times", ["links", "ADA [ms]", "remark"], [[1, 0.512, "-"], [7, math.nan, "slow"]], "by hand")
    outcome = Outcome(
        claims, [tmp_path / "T1" / "fig 1.png"], [table], ["assumed: m < 1 kg"], {"fig 1.png": "As fig. 3"}
    )
    results = [
        ScenarioResult("T1", "One & only", "A document, fig. 1", outcome, seconds=1.234),
        ScenarioResult("T2", "Broken", "", error="it broke <here>", trace="Traceback: line 1"),
        ScenarioResult("T3", "Good", "", Outcome([Claim("c", 0.0, 1.0)])),
    ]
    write_report(results, tmp_path)
    return (tmp_path / REPORT).read_text(encoding="utf-8")


def test_claim_figure_limit_and_verdict_stand_side_by_side(page):
    lines = page.splitlines()
    assert "| energy is kept. a reason | 2.50e-10 | ≤ 1e-08 | holds |" in lines
    assert "| five passings | 4 | = 5 | fails |" in lines
    assert "| fast \\| enough | 30.2 x | ≥ 10 x | holds |" in lines
    assert "| T1 | One & only | 2 of 3 |  | fails |" in lines
    assert "1 of 3 experiments hold." in lines


def test_figures_tables_notes_and_failures_are_shown(page):
    assert "![As fig. 3](T1/fig%201.png)" in page
    assert (
        "### Times\n\n| links | ADA [ms] | remark |\n|---|---|---|\n| 1 | 0.512 | - |\n| 7 | not a number | slow |"
        in page
    )
    assert "- assumed: m \\< 1 kg" in page
    assert "**Not completed**: it broke \\<here>\n\n```\nTraceback: line 1\n```" in page


def test_a_page_that_cannot_be_written_is_told(tmp_path):
    nowhere = tmp_path / "none"
    with refused(InputError, file=str(nowhere / REPORT)):
        write_report([], nowhere)
