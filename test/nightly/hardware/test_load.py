# SPDX-License-Identifier: Apache-2.0
"""Trials of load: small ones to their end, and that a figure beyond its limit fails them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials.load import __main__ as load
from trials.load import logs, robots
from trials.load.figure import Figure, Trial


def test_a_recording_is_made_looked_at_converted_and_plotted() -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("matplotlib")
    *found, refused = logs.rows(3000).run(0.0)
    assert all(one.holds for one in found), found
    assert "refused" in refused.what  # so few rows fit: it is for a million of them
    assert sum(one.what.endswith("exit code") for one in found) == 6


@pytest.mark.ros
def test_two_robots_in_one_graph_keep_their_rate_or_say_so() -> None:
    pytest.importorskip("rclpy")
    found = {one.what: one for one in robots.graph_of((2,), rate=50.0).run(0.5)}
    assert found["2 robots: too slow without saying so"].value == 0
    assert 0.0 < float(found["2 robots: real-time factor, least"].value) < 1.1


@pytest.mark.parametrize(("value", "code"), [(0.5, 0), (0.6, 1)])
def test_a_figure_beyond_its_limit_fails(tmp_path: Path, value: float, code: int) -> None:
    trial = Trial("one", lambda seconds: [Figure("a stop [s]", value, 0.5), Figure("sent", 3.0, 2.0, at_least=True)])
    assert load.main(["--json", str(tmp_path / "lines")], (trial,)) == code
    rows = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [row["holds"] for row in rows] == [not code, True]
