# SPDX-License-Identifier: Apache-2.0
"""100 subscribers of joint_states and /tf: what they cost the node that publishes, and whether it keeps its time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from benchmarks.ros.world import Process
from trials.graph.graph import DYNAMICS, Graph, report_on
from trials.load.figure import Figure, Trial, Window, memory, periods

SUBSCRIBERS = 100
RATE = 250.0  # [Hz] of both topics
KEPT = 0.95  # real-time factor; below it the node must say so
_SAYS = 1.2  # [s] until a report says what happened


def subscribers(processes: int) -> Trial:
    """100 subscriptions in some processes."""
    name = f"{SUBSCRIBERS} subscribers in {processes} {'processes' if processes > 1 else 'process'}"
    return Trial(name, lambda seconds: _run(processes, seconds))


def _run(processes: int, seconds: float) -> Sequence[Figure]:
    with Graph() as graph:
        node = graph.node(DYNAMICS, {"robot": "pa10", "publish_rate": RATE, "marker_rate": 0.0})
        graph.eye()
        graph.wait(lambda one: "joints" in one and one["joints"]["stamp"] > 0.0)
        time.sleep(1.0)
        before, alone = _watched(node, seconds)
        heavy = memory(node.pid)
        share = SUBSCRIBERS // processes
        names = [f"listeners_{i}" for i in range(processes)]
        for one in [graph.program("trials.graph.listeners", str(share), name=name) for name in names]:
            one.ready()
        during, busy = _watched(node, seconds)
        grown = memory(node.pid) - heavy
        time.sleep(_SAYS)
        report = graph.newest(report_on("dynamics_node: physics"))["diagnostics"]
        rows = [one["got"] for name in names for one in graph.told[name] if _inside(one["at"], during)]
        got = np.concatenate(rows)
        node.stop()
        steps = [_steps(graph, window) for window in (before, during)]
        keeps = float(steps[1] >= KEPT or report["level"] > 0)
        return [
            Figure("processor of the node, none listen [cores]", alone),
            Figure("processor of the node, all listen [cores]", busy),
            Figure("memory of the node, more by [MB]", grown),
            *(
                Figure(f"period, {what}: p50 / p99 / max [ms]", " / ".join(f"{p:.2f}" for p in _periods(graph, window)))
                for what, window in (("none", before), ("all", during))
            ),
            Figure("steps done, none listen", steps[0]),
            Figure("steps done, all listen", steps[1]),
            Figure("it keeps its rate or says so (1: yes)", keeps, 1.0, at_least=True),
            Figure("the node says", report["message"]),
            Figure("messages each got, median [1/s]", float(np.median(got))),
            Figure("seconds in which one of them got nothing", int((got == 0).sum()), 0),
        ]


def _watched(node: Process, seconds: float) -> tuple[Window, float]:
    begin, used = time.monotonic(), node.seconds()
    time.sleep(seconds)
    end = time.monotonic()
    return (begin, end), (node.seconds() - used) / (end - begin)


def _inside(at: float, window: Window) -> bool:
    return window[0] + 1.0 <= at <= window[1]


def _periods(graph: Graph, window: Window) -> Sequence[float]:
    found: Sequence[float] = periods(graph.folder / "physics.npy", window).tolist()
    return found


def _steps(graph: Graph, window: Window) -> float:
    """Share of the steps of 1 ms that were done in their time."""
    woke, _, due = np.load(graph.folder / "physics.npy").T
    inside = (woke >= window[0] * 1e9) & (woke < window[1] * 1e9)
    return float(due[inside].sum() * 1e-3 / (window[1] - window[0]))


TRIALS = (subscribers(1), subscribers(10))
