# SPDX-License-Identifier: Apache-2.0
"""Seconds of `make soak`, and that it sees what is planted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_dynamics.simulation.record.recorder import McapRecorder
from trials.soak import nodes, recordings, steps, watch
from trials.soak.ledger import Ledger

LEAK = """
import threading, time
kept = []
while True:
    kept.append((bytearray(b"x" * 2_000_000), open("/dev/null"), threading.Thread(target=time.sleep, args=(9,))))
    kept[-1][2].start()
    time.sleep(0.02)
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the soak asks Linux")


def test_what_a_process_keeps_is_seen_and_one_that_keeps_nothing_is_not_blamed():
    seen = watch.Watch()
    calm = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(9)"])
    leaky = subprocess.Popen([sys.executable, "-c", LEAK])
    try:
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            seen.look()
            time.sleep(0.05)
    finally:
        for process in (calm, leaky):
            process.kill()
            process.wait()
    grew = [problem.partition(" grew")[0].split(": ") for problem in watch.problems(seen.growths())]
    assert [what for _, what in grew] == list(watch.WHAT)
    assert {who.split()[-1] for who, _ in grew} == {str(leaky.pid)}


def test_a_slope_is_not_moved_by_a_single_step_or_an_outlier():
    t = np.arange(0.0, 3600.0, 5.0)
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 0.1, len(t))
    still = 100.0 + noise + 5.0 * (np.arange(len(t)) == 300)
    found = watch.growth(t, still)
    assert found.low < 0.0 < found.high
    found = watch.growth(t, still + 3.0 * t / 3600.0)
    assert found.slope == pytest.approx(3.0, abs=0.1)
    assert found.low < 3.0 < found.high


def test_a_row_is_at_once_what_a_later_call_finds(tmp_path):
    ledger = Ledger(tmp_path / "rows.jsonl")
    ledger.append({"q": np.array([0.1, np.nan]), "rows": (1, 2)})
    assert ledger.rows == Ledger(tmp_path / "rows.jsonl").rows == [{"q": [0.1, None], "rows": [1, 2]}]


@pytest.fixture
def recording(tmp_path):
    """Of the four-bar, as dynamics_node writes it."""
    model, q = mechanisms.four_bar()
    sim = ada.Simulation(model, q, log_every=4)
    sim.run(0.4, record=tmp_path / "loop.mcap")
    return tmp_path / "loop.mcap"


def test_a_recording_is_read_whole_and_one_that_is_damaged_or_cut_short_is_a_problem(recording):
    whole = recordings.read_simulation(recording)
    assert whole["rows"] == (101, 101) and whole["problems"] == []
    raw = recording.read_bytes()
    recording.write_bytes(raw[: len(raw) // 2])
    assert recordings.read_simulation(recording)["problems"]
    recording.write_bytes(raw[:500] + bytes(400) + raw[900:])
    assert recordings.read_simulation(recording)["problems"]


def test_rows_that_are_missing_are_a_problem_unless_the_recording_counts_them(tmp_path):
    model, q = mechanisms.four_bar()
    log = ada.Simulation(model, q, log_every=4).run(0.4)
    for counted, problems in ((0, 1), (1, 0)):
        with McapRecorder(tmp_path / "loop.mcap", model) as recorder:
            for i in (*range(50), *range(51, 101)):
                recorder.append(log.t[i], log.q[i], log.v[i], log.a[i], log.tau[i])
            recorder.close({"complete": not counted, "lost": counted})
        found = recordings.read_simulation(tmp_path / "loop.mcap")
        assert (found["rows"], len(found["problems"])) == ((101, 100), problems)


def test_energy_that_was_lost_between_slices_is_a_problem(tmp_path):
    model, q = mechanisms.four_bar(crank=0.74 * np.pi)
    ada.Simulation(model, q, log_every=4).run(0.04, record=tmp_path / "loop.mcap")
    assert "energy" in recordings.read_simulation(tmp_path / "loop.mcap")["problems"][0]


@pytest.mark.ros
def test_messages_that_are_not_in_the_file_are_a_problem(tmp_path):
    pytest.importorskip("rclpy")
    path = tmp_path / "arm.mcap"
    with TopicWriter(path) as writer:
        for i in range(10):
            writer.add(Topic("/some", "std_msgs/msg/String"), i, i, bytes(8))
    assert recordings.read_topics(path, "/x/arm.mcap: 10 messages, 0 MiB", 0, 9)["problems"] == []
    assert recordings.read_topics(path, "/x/arm.mcap: 11 messages, 0 MiB", 0, 9)["problems"]
    assert recordings.read_topics(path, "it was killed", 0, 9)["problems"]
    said = "arm.mcap: 10 messages, 0 MiB.\n[WARN] arm.mcap: 3 messages are not in the recording."
    found = recordings.read_topics(path, said, 0, 9)
    assert found["problems"] == [] and found["delays"] == ["[WARN] arm.mcap: 3 messages are not in the recording."]


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


def test_steps_that_are_too_long_break_the_bound(tmp_path, monkeypatch):
    case = steps.four_bars()
    monkeypatch.setattr(steps, "CASES", {"four_bar": lambda: case._replace(step=0.02)})
    assert not steps.run("four_bar", 8e3, tmp_path)


def test_the_closed_form_of_the_rhombus_is_where_a_fine_simulation_goes():
    amplitude = np.radians([30.0, 75.0])
    for angle in amplitude:
        model, q = mechanisms.four_bar(crank=float(np.pi - angle))
        sim = ada.Simulation(model, q, integrator="dop853", tolerance=1e-13)
        sim.step(1500)
        assert np.pi - sim.q[0] == pytest.approx(steps.swing(np.array([angle]), 1.5)[0], abs=1e-11)


def test_no_two_days_of_the_path_are_the_same_and_it_stays_within_the_limits_of_the_arm():
    arm = ada.load("pa10_7c")
    phases = np.linspace(0.0, 86400.0, 20_001)
    angles = np.array([nodes.path(phase) for phase in phases])
    limits = [joint.limits for joint in arm.joints.values() if joint.kind == "revolute"]
    for column, limit in zip(angles.T, limits, strict=True):
        assert limit.lower < column.min() and column.max() < limit.upper
    assert np.abs(angles[1:] - angles[0]).max(axis=1).min() > 1e-3


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
    assert second["state"]["phase"] == 2.0 * first["state"]["phase"] == 4.0
    assert second["state"]["t"] > first["state"]["t"] + 2.0
    for row in (first, second):
        assert row["problems"] == []
        assert {"hardware_node", "controller_node", "dynamics_node", "ada_hardware.emulation"} <= set(row["processes"])
        assert row["rows"]["topics"][0] > 100
        assert row["simulation"]["energy [J]"] < 1e-10, "of a motion that goes on"
