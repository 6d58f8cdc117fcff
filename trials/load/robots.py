# SPDX-License-Identifier: Apache-2.0
"""50 robots in one graph: how many keep their rate on this machine, and what the others say."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from benchmarks.ros.world import cpus
from trials.graph.graph import Graph
from trials.load.figure import Figure, Trial, memory

COUNTS = (5, 10, 20, 50)
RATE = 250.0  # [Hz] of the physics
KEPT = 0.95  # real-time factor that counts as keeping the rate
_SAYS = 2.5  # [s] until each has said what happened


def graph_of(counts: Sequence[int], rate: float = RATE) -> Trial:
    """Robots in one graph, more and more of them, spread over as many processes as there are processors."""

    def run(seconds: float) -> Sequence[Figure]:
        found, kept = [], 0
        for count in counts:
            factors, silent, megabytes = _run(count, rate, seconds)
            keeps = int((factors >= KEPT).sum())
            kept = count if keeps == count else kept
            found += [
                Figure(f"{count} robots: real-time factor, least", factors.min()),
                Figure(f"{count} robots: real-time factor, median", float(np.median(factors))),
                Figure(f"{count} robots: too slow without saying so", silent, 0),
                Figure(f"{count} robots: memory [MB]", megabytes),
            ]
        return [*found, Figure(f"robots that keep {rate:g} Hz on {len(cpus())} processors", kept)]

    return Trial(f"{counts[-1]} robots in one graph", run)


def _run(count: int, rate: float, seconds: float) -> tuple[Array, int, float]:
    with Graph() as graph:
        graph.eye()
        groups = np.array_split(np.arange(count), min(len(cpus()), count))
        names = [f"robots_{group[0]}" for group in groups]
        processes = [
            graph.program("trials.graph.robots", str(group[0]), str(len(group)), str(rate), name=name)
            for name, group in zip(names, groups, strict=True)
        ]
        for one in processes:
            one.ready()
        begin = time.monotonic()
        time.sleep(seconds + _SAYS)
        told = [[one["factors"] for one in graph.told[name] if one["at"] > begin + 1.0] for name in names]
        factors = np.concatenate([np.mean(rows, axis=0) for rows in told])
        said = {
            one["diagnostics"]["name"].partition("/")[0]
            for one in graph.seen
            if one["at"] > begin and one.get("diagnostics", {}).get("level", 0) > 0
        }
        silent = [i for i in np.flatnonzero(factors < KEPT).tolist() if f"robot_{i:02}" not in said]
        megabytes = sum(memory(one.pid) for one in processes)
    return factors, len(silent), megabytes


TRIALS = (graph_of(COUNTS),)
