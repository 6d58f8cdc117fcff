# SPDX-License-Identifier: Apache-2.0
"""The report is one page that needs nothing beside it, shows every claim with figure, limit and verdict."""

import base64
import math
import re
from html.parser import HTMLParser

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_experiments.report import write_html
from ada_experiments.reproduce import Result
from ada_tools.scenario.registry import Claim, Outcome, Table

# A picture of one black point.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def results(tmp_path):
    figure = tmp_path / "fig.png"
    figure.write_bytes(PNG)
    outcome = Outcome(
        [
            Claim("energy is kept", 2.5e-10, 1e-8, note="a reason"),
            Claim("five passings", 4.0, 5.0, "=="),
            Claim("fast enough", 30.25, 10.0, ">=", "x"),
        ],
        [figure],
        [Table("Times", ["links", "ADA [ms]", "remark"], [[1, 0.512, "-"], [7, math.nan, "slow & steady"]], "by hand")],
        ["what is assumed: m < 1 kg, costs $5"],
        {"fig.png": "As fig. 3.3"},
    )
    return [
        Result("T1", "One & only", "A document, fig. 1", outcome, seconds=1.234),
        Result("T2", "Broken", "", error="it broke <here>", trace="Traceback: line 1"),
        Result("T3", "Good", "", Outcome([Claim("c", 0.0, 1.0)])),
    ]


class Checker(HTMLParser):
    """Opened elements are closed, and nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        assert tag != "script"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def page(results, tmp_path):
    path = tmp_path / "report.html"
    write_html(results, path)
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_needs_nothing_beside_it(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in checker.addresses)
    assert "url(" not in page
    assert "@import" not in page


def test_claim_figure_limit_and_verdict_stand_side_by_side(page):
    row = next(r for r in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if "energy is kept" in r)
    assert [word in row for word in ("a reason", "2.50e-10", "≤ 1e-08", "holds")] == [True] * 4
    row = next(r for r in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if "five passings" in r)
    assert [word in row for word in (">4<", "= 5", "fails")] == [True] * 3


def test_texts_are_escaped(page):
    assert "One &amp; only" in page
    assert "it broke &lt;here&gt;" in page
    assert "<odd>" not in page


def test_a_page_that_cannot_be_written_is_told(results, tmp_path):
    nowhere = tmp_path / "none"
    with refused(InputError, file=str(nowhere / "report.html")):
        write_html(results, nowhere / "report.html")
    figure = results[0].outcome.figures[0]
    figure.unlink()
    with refused(InputError, file=str(figure)):
        write_html(results, tmp_path / "report.html")
