# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the nodes runs with real nodes and leaves what it promises; figures are nobody's business here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[3]


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.ros", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


def figures_of(folder: Path, *sections: str) -> dict[str, Any]:
    done = benchmark(*sections, "--quick", "--json", str(folder))
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert "clock_gettime" in figures["machine"]["clock"]
    for table in figures["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["title"]
    return figures


@pytest.mark.soak
def test_a_quick_run_measures_the_nodes_and_writes_all_raw_data(tmp_path: Path) -> None:
    figures = figures_of(tmp_path)
    labels = [row[0] for table in figures["tables"] for row in table["rows"]]
    assert sum("dynamics_node" in label for label in labels) == 2
    for phase in ("idle", "asked"):
        assert len(np.load(tmp_path / phase / "physics.npy")) > 200
        assert len(np.load(tmp_path / phase / "came_joint_states.npy")) > 50
    for phase in ("latency", "latency_published"):
        assert np.load(tmp_path / phase / "latency.npy").shape == (20, 2)
