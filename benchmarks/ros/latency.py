# SPDX-License-Identifier: Apache-2.0
"""How long it takes from a command to the first joint_states that shows it, in another process, over DDS."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Report
from benchmarks.ros.figures import quantiles, undisturbed
from benchmarks.ros.timing import Plan, bare_rows
from benchmarks.ros.world import Processes

PERIODS, ALLOWANCE = 2, 1e-3  # [s]
_EACH = 1.1  # [s] that a command takes at most


def run(report: Report, plan: Plan, count: int) -> None:
    """Measure the node that publishes each step, and the one that publishes as planned.

    Args:
        report: gets table and target.
        plan: what is measured.
        count: commands.
    """
    report.begin("latency", f"{count} commands, from publish() to its effort in the joint states of another process")
    limit = PERIODS * plan.period * 1e-9 + ALLOWANCE
    rows = []
    judged = None
    for name, publish in (("latency", plan.rate), ("latency_published", plan.publish)):
        seen, quiet, lost = _phase(plan, name, publish, count)
        found = quantiles(seen)
        rows.append([f"joint_states at {publish:g} Hz", *(found * 1e3), quantiles(seen[quiet])[1] * 1e3, lost])
        if judged is None:
            judged = float(quantiles(seen[quiet])[1] if quiet.any() else np.nan)
    columns = ["ms", "p50", "p99", "p99.9", "max", "p99, undisturbed", "lost"]
    report.table(f"target: p99 within {PERIODS} periods + {ALLOWANCE * 1e3:g} ms = {limit * 1e3:g} ms", columns, rows)
    report.note(
        "a state is published each so many steps: at a lower rate than the physics' a command waits for that, "
        f"up to {1e3 / plan.publish:g} ms at {plan.publish:g} Hz; undisturbed: no bare process was late meanwhile"
    )
    if judged is not None and count >= 1000:
        report.aim("p99 from command to joint_states, undisturbed, in ms", judged * 1e3, limit * 1e3, "ms")


def _phase(plan: Plan, name: str, publish: float, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Latencies [s], which of them nothing disturbed, and how many commands were never seen."""
    with Processes(plan.folder / name) as processes:
        node = plan.node(processes, publish)
        file = processes.folder / "latency.npy"
        probe = processes.start("benchmarks.ros.probe", str(count), str(file), name="probe").ready()
        bare = plan.bare(processes)
        probe.wait(count * _EACH + 60.0)
        for process in (probe, *bare, node):
            process.stop()
    sent = np.load(file)
    was_seen = sent[:, 1] > 0
    kept = sent[was_seen]
    quiet = undisturbed(kept, bare_rows(processes.folder))
    return (kept[:, 1] - kept[:, 0]) * 1e-9, quiet, int((~was_seen).sum())
