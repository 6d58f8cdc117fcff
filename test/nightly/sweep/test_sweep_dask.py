# SPDX-License-Identifier: Apache-2.0
"""Sweeps on a dask cluster: a scheduler and worker processes that talk over TCP on this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ada_tools import sweep

SWEEP = {
    "scenario": "T3.1",
    "with": {"simulation.duration": "5 ms"},
    "parameters": {"start.joints.joint_1": {"uniform": ["10 deg", "80 deg"]}, "simulation.step": ["1 ms", "0.5 ms"]},
    "random": {"count": 30, "seed": 1},
    "measures": ["energy_drift"],
}


@pytest.mark.slow
def test_a_cluster_goes_on_with_what_threads_began_and_gives_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("dask.distributed")
    found = sweep.load(SWEEP)
    with ThreadPoolExecutor(1) as threads:
        here = list(sweep.run_sweep(found, tmp_path / "here", threads).rows())
        assert sweep.run_sweep(found, tmp_path / "s", threads, limit=7).left == 53
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert sweep.run_sweep(found, tmp_path / "s", client.get_executor(pure=False, retries=0), jobs=2).done == 60
    there = list(sweep.read_result(tmp_path / "s").rows())
    assert [row["measures"] for row in there] == [row["measures"] for row in here]
    assert len((tmp_path / "s" / "runs.jsonl").read_bytes().splitlines()) == 61
