# SPDX-License-Identifier: Apache-2.0
"""Sweeps on a dask cluster: a scheduler and worker processes that talk over TCP on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refused import refused
from waiting import until

from ada_tools import sweep
from ada_tools.cli import main

SWEEP = """
scenario: T3.1
with: {simulation.duration: 5 ms}
parameters:
  start.joints.joint_1: {uniform: [10 deg, 80 deg]}
  simulation.step: [1 ms, 0.5 ms]
random: {count: 30, seed: 1}
measures: [energy_drift]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP)
    return path


@pytest.mark.slow
def test_a_cluster_goes_on_with_what_threads_began_and_gives_the_same(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("dask.distributed")
    found = sweep.load(file)
    here = list(sweep.run_sweep(found, tmp_path / "here", "threads", 1).rows())
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tcp://127.0.0.1:")
        output = tmp_path / "s"
        assert sweep.run_sweep(found, output, "threads", 1, limit=7).left == 53
        with distributed.Client(cluster) as client:
            # An executor of somebody else's.
            assert sweep.run_sweep(found, output, client.get_executor(pure=False), limit=13).left == 40
            cluster.scale(0)  # not retired by hand as well: the cluster stumbles over workers that are gone twice
            until(lambda: not client.nthreads(), "a cluster without workers")
            with refused(sweep.SweepError, field="workers"):
                sweep.run_sweep(found, output, address=address)
            cluster.scale(2)
            client.wait_for_workers(2, timeout=120)
        assert main(["sweep", str(file), "--output", str(output), "--address", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 60
    there = list(sweep.read_result(output).rows())
    assert [row["measures"] for row in there] == [row["measures"] for row in here]
    assert len((output / "runs.jsonl").read_bytes().splitlines()) == 61
