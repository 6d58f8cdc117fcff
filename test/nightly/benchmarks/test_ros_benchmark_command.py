# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the dynamics node runs with a real node and writes its raw data; figures are not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.soak
def test_a_quick_run_measures_the_node_and_writes_all_raw_data(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.ros", "--quick", "--json", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert "clock_gettime" in figures["machine"]["clock"]
    (table,) = figures["tables"]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert sum("dynamics_node" in row[0] for row in table["rows"]) == 1
    assert len(np.load(tmp_path / "physics.npy")) > 200
    assert len(np.load(tmp_path / "came_joint_states.npy")) > 50
