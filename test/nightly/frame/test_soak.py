# SPDX-License-Identifier: Apache-2.0
"""Seconds of `make soak`, and that it sees what is planted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from trials.soak import steps
from trials.soak.steps import Ledger

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the soak asks Linux")


def test_steps_go_on_where_another_call_was_killed_with_the_same_bits(tmp_path):
    assert steps.run("four_bar", 8e3, tmp_path / "whole", 500)
    assert steps.run("four_bar", 4e3, tmp_path / "parts", 500)
    parts = tmp_path / "parts" / "steps_four_bar.jsonl"
    with parts.open("a") as file:
        file.write('{"steps": 8000, "x": [[1.0, ')
    assert steps.run("four_bar", 8e3, tmp_path / "parts", 500)
    last = [Ledger(path).rows[-1] for path in (parts, tmp_path / "whole" / parts.name)]
    assert last[0]["steps"] == last[1]["steps"] == 8000
    assert last[0]["x"] == last[1]["x"]


@pytest.mark.slow
@pytest.mark.ros
def test_a_slice_ends_and_another_process_goes_on_from_it(tmp_path):
    pytest.importorskip("rclpy")
    from ros_world import world_environment

    from benchmarks.ros.domains import own_domain

    def run(seconds: float) -> list[dict[str, object]]:
        words = ["nodes", "--slice", "2", "--hours", repr(seconds / 3600.0), "--state", str(tmp_path)]
        with own_domain() as domain:
            environment = {**world_environment(domain, tmp_path / "ros_log"), "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(
                [sys.executable, "-m", "trials.soak", *words], env=environment, capture_output=True, text=True
            )
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in (tmp_path / "slices.jsonl").read_text().splitlines()]

    (first,) = run(2.0)
    with (tmp_path / "slices.jsonl").open("a") as file, suppress(OSError):
        file.write('{"date": "of a slice that was killed')
    (tmp_path / "slice_1").mkdir()
    again, second = run(4.0)
    assert again == first
    assert second["state"]["phase"] > first["state"]["phase"] and second["state"]["t"] > first["state"]["t"]
    for row in (first, second):
        assert row["problems"] == []
        assert {"hardware_node", "controller_node", "dynamics_node", "ada_hardware.emulation"} <= set(row["processes"])
        assert len(row["late [ms]"]) > 1, "of loops that report to /diagnostics"
        assert row["simulation"]["energy [J]"] < 1e-10, "of a motion that goes on"
