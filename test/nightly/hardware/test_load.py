# SPDX-License-Identifier: Apache-2.0
"""Trials of load: small ones to their end, and that a figure beyond its limit fails them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials.graph import commander
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


@pytest.mark.ros
def test_commands_are_doubled_swapped_and_stamped_as_they_are_sent() -> None:
    pytest.importorskip("rclpy")
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    raw = commander.stamped(commander.messages("plain", 0.1)[0], 12_000_000_034)
    message = deserialize_message(raw, JointState)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 34)
    assert message.name == commander.ARM and message.velocity.tolist() == [0.1] * 7

    def speeds(kind: str) -> list[float]:
        sent: list[bytes] = []
        for batch in commander.batches(kind, 0.1, 2000.0):
            sent += batch
            if len(sent) >= 40:
                return [deserialize_message(one, JointState).velocity[0] for one in sent[:40]]
        raise AssertionError

    plain = speeds("plain")
    assert speeds("doubled") == [one for one in plain[:20] for _ in range(2)]
    assert speeds("swapped") == [plain[i ^ 1] for i in range(40)]


@pytest.mark.parametrize(("value", "code"), [(0.5, 0), (0.6, 1)])
def test_a_figure_beyond_its_limit_fails(tmp_path: Path, value: float, code: int) -> None:
    trial = Trial("one", lambda seconds: [Figure("a stop [s]", value, 0.5), Figure("sent", 3.0, 2.0, at_least=True)])
    assert load.main(["--json", str(tmp_path / "lines")], (trial,)) == code
    rows = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [row["holds"] for row in rows] == [not code, True]
