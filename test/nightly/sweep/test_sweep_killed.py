# SPDX-License-Identifier: Apache-2.0
"""Sweeps whose processes die: nothing that was finished is lost or made twice; their memory is bounded."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import descendants, is_alive
from waiting import ended, until

from ada_tools import sweep

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")

PATIENCE = 120.0  # [s]; a worker is there after one or two
SWEEP = """
scenario: T3.1
with: {simulation.duration: 100 ms, simulation.log_every: 20}
parameters:
  start.joints.joint_1: {uniform: [10 deg, 80 deg]}
  simulation.step: [1 ms, 0.05 ms]
random: {count: COUNT, seed: 1}
measures: [energy_drift]
"""

# Runs whose measure ends the worker: always, or only as long as a file is not there.
KILLERS = """
import os, sys, time
from pathlib import Path
from ada_tools import sweep
from ada_tools.scenario import registry

folder = Path(sys.argv[1])

@registry.measure("deadly")
def deadly(scenario, log):
    angle = round(log.q[0, 0], 6)
    if angle == 0.7:
        end = time.monotonic() + 20.0  # lest the other one, cut off by this, has its only death when it is tried alone
        while not (folder / "once").exists() and time.monotonic() < end:
            time.sleep(0.01)
        os._exit(3)
    if angle == 0.4 and not (folder / "once").exists():
        (folder / "once").touch()
        os._exit(3)
    return angle

if __name__ == "__main__":
    found = sweep.load({"scenario": "T3.1", "with": {"duration": "2 ms"}, "measures": ["deadly"],
                        "parameters": {"start.joints.joint_1": {"from": 0.0, "to": 1.9, "count": 20}}})
    sweep.run_sweep(found, folder / "out", jobs=2)
"""


def ada(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ada_tools.cli", "sweep", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], Any]) -> Any:
    return until(condition, "another process", PATIENCE)


def rows_in(path: Path) -> list[dict[str, Any]]:
    lines = path.read_bytes().splitlines(keepends=True)[1:] if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def begun(tmp_path: Path, runs: int = 200) -> tuple[subprocess.Popen[str], list[int], Path]:
    file, out = tmp_path / "s.yaml", tmp_path / "out"
    file.write_text(SWEEP.replace("COUNT", str(runs // 2)))
    process = ada(file, "--output", out, "--jobs", 2)
    wait_for(lambda: len(rows_in(out / "runs.jsonl")) > 20 or process.poll() is not None)
    return process, descendants(process.pid), out


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    runs = 200
    process, workers, out = begun(tmp_path, runs)
    assert len(workers) >= 2
    process.kill()
    ended(process, PATIENCE)
    wait_for(lambda: not any(map(is_alive, workers)))
    before = rows_in(out / "runs.jsonl")
    assert 20 < len(before) < runs

    again = ada(tmp_path / "s.yaml", "--output", out, "--jobs", 2, "--json")
    text, errors = ended(again, PATIENCE)
    assert again.returncode == 0, errors
    assert json.loads(text)["done"] == runs
    after = rows_in(out / "runs.jsonl")
    assert after[: len(before)] == before
    assert sorted(row["run"] for row in after) == list(range(runs))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    process, workers, out = begun(tmp_path, runs=20_000)  # not done before this process runs again
    process.send_signal(signal.SIGINT)
    _, errors = ended(process, PATIENCE)
    assert process.returncode == 130
    wait_for(lambda: not any(map(is_alive, workers)))
    rows = rows_in(out / "runs.jsonl")
    assert f"{len(rows)} of 20000 runs are stored in {out}; the same command resumes." in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_run_that_ends_its_worker_is_tried_twice_and_no_other_one_suffers(tmp_path: Path) -> None:
    script = tmp_path / "killers.py"
    script.write_text(KILLERS)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = {row["run"]: row for row in sweep.read_result(tmp_path / "out").rows()}
    assert len(rows) == 20
    failed = [run for run, row in rows.items() if row["status"] == "failed"]
    assert failed == [7]
    assert rows[7]["error"]["type"] == "WorkerDied"
    assert (tmp_path / "once").exists()
    assert rows[4]["measures"]["deadly"] == 0.4
