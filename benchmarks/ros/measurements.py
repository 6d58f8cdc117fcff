# SPDX-License-Identifier: Apache-2.0
"""Periods of the dynamics node, alone and while others send commands; time from a command to joint_states."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.ros.figures import Keeping, Rows, Window, keeping, quantiles, undisturbed
from benchmarks.ros.world import Process, Processes, cpus, stolen

CPU = 0.25  # of one core, by the idle node
REAL_TIME = 0.999
BUSY_SECONDS = 60.0
PERIODS, ALLOWANCE = 2, 1e-3  # [s], of the latency
EACH = 1.1  # [s] that a command takes at most
PARTICIPANTS = "benchmarks.ros.participants"
COLUMNS = [
    "period [ms]", "p50", "p99", "p99.9", "max", "late p99", "late max", "missed", "unexplained", "steps",
    "joint_states/s", "CPU", "waited", "stolen",
]  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Settings of a measurement.

    Attributes:
        folder: for raw data.
        robot: name or file.
        rate: of the physics [Hz].
        publish: of joint_states [Hz].
        settle: time that all run before anything counts [s].
    """

    folder: Path
    robot: str
    rate: float
    publish: float
    settle: float = 3.0

    @property
    def period(self) -> int:
        """Of the physics [ns]."""
        return round(1e9 / self.rate)

    def node(self, processes: Processes, publish: float) -> Process:
        """Start the dynamics node, which publishes joint_states at a rate [Hz]."""
        values = {"robot": self.robot, "physics_rate": self.rate, "publish_rate": publish}
        parameters = [text for name, value in values.items() for text in ("-p", f"{name}:={value}")]
        return processes.start("ada_robot.node.dynamics_node", "--ros-args", *parameters, name="node")

    def bare(self, processes: Processes) -> list[Process]:
        """Start a bare process on each CPU."""
        made = []
        for cpu in cpus():
            words = str(self.period), str(cpu), str(processes.folder / f"bare{cpu}.npy")
            made.append(processes.start("benchmarks.ros.bare", *words, name=f"bare{cpu}").ready())
        return made


def bare_rows(folder: Path) -> list[Rows]:
    """Wake-ups of the bare processes."""
    return [np.load(folder / f"bare{cpu}.npy") for cpu in cpus()]


# --- periods --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Measured:
    """A node during a window of time."""

    node: Keeping
    bare: Sequence[Keeping]
    messages: float  # joint_states per second that arrived
    cpu: float  # share of one core
    waited: float  # share of one core that others had while the node wanted it
    stolen: float  # share of one core that the machine's host gave to others


def timing(report: Report, plan: Plan, seconds: float, quick: bool) -> None:
    """Measure the idle node for some time, and for a minute while others send; a quick run has no targets."""
    report.begin("periods", f"{plan.robot}, physics at {plan.rate:g} Hz, joint_states and /tf at {plan.publish:g} Hz")
    short = min(seconds, BUSY_SECONDS)
    idle = _phase(plan, "idle", seconds)
    _table(report, "idle", seconds, idle)
    busy = _phase(plan, "asked", short, asked=True)
    _table(report, "200 commands and 200 requests for parameters per second", short, busy)
    report.note(
        "shares of one core: CPU is what the node used, waited what others had while it could have run, "
        "stolen what the machine's host gave to others"
    )
    if quick:
        report.note("quick: nothing is compared with targets")
        return
    # Steps for which the machine gave no time do not count.
    explained = (idle.node.missed - idle.node.unexplained) / (seconds * plan.rate)
    report.aim("missed periods of the idle node that nothing explains", float(idle.node.unexplained), 0.0, "periods")
    report.aim("CPU of the idle node", idle.cpu, CPU, "cores")
    report.aim("steps of the idle node per period", idle.node.steps, REAL_TIME - explained, "", at_least=True)


def _phase(plan: Plan, name: str, seconds: float, *, asked: bool = False) -> Measured:
    """Start all processes, let them settle, and watch them."""
    with Processes(plan.folder / name) as processes:
        folder = processes.folder
        node = plan.node(processes, plan.publish)
        others = [processes.start(PARTICIPANTS, "listener", str(folder), name="listener").ready()]
        if asked:
            others.append(processes.start(PARTICIPANTS, "asker", name="asker").ready())
        others += plan.bare(processes)
        time.sleep(plan.settle)
        begin, counts = time.monotonic_ns(), np.array([node.seconds(), node.waited(), stolen()])
        time.sleep(seconds)
        counts = np.array([node.seconds(), node.waited(), stolen()]) - counts
        window = Window(begin, time.monotonic_ns())
        for process in (node, *others):
            process.stop()
    (folder / "window.json").write_text(json.dumps({"begin_ns": window.begin, "end_ns": window.end}), encoding="utf-8")
    rows = bare_rows(folder)
    came = np.load(folder / "came_joint_states.npy")
    inside = (came >= window.begin) & (came < window.end)
    return Measured(
        keeping(np.load(folder / "physics.npy"), window, plan.period, rows),
        [keeping(one, window, plan.period, []) for one in rows],
        float(inside.sum()) / window.seconds,
        *(counts / window.seconds).tolist(),
    )


def _table(report: Report, title: str, seconds: float, measured: Measured) -> None:
    node = measured.node
    label = f"dynamics_node, {seconds / 60.0:g} min" if seconds >= 60.0 else f"dynamics_node, {seconds:g} s"
    shares = [measured.messages, measured.cpu, measured.waited, measured.stolen]
    rows: list[list[Any]] = [[label, *node.milliseconds, node.missed, node.unexplained, node.steps, *shares]]
    for cpu, one in zip(cpus(), measured.bare, strict=True):
        rows.append([f"  bare, CPU {cpu}", *one.milliseconds, one.missed, "", one.steps, *[""] * 4])
    report.table(title, COLUMNS, rows)


# --- latency --------------------------------------------------------------------------------------------------------
def latency(report: Report, plan: Plan, count: int) -> None:
    """Measure the latency of some commands, for a node that publishes each step and as planned."""
    report.begin("latency", f"{count} commands, from publish() to its effort in the joint states of another process")
    limit = PERIODS * plan.period * 1e-9 + ALLOWANCE
    rows = []
    for name, publish in (("latency", plan.rate), ("latency_published", plan.publish)):
        seen, quiet, lost = _latencies(plan, name, publish, count)
        undisturbed_p99 = quantiles(seen[quiet])[1]
        rows.append([f"joint_states at {publish:g} Hz", *(quantiles(seen) * 1e3), undisturbed_p99 * 1e3, lost])
    columns = ["ms", "p50", "p99", "p99.9", "max", "p99, undisturbed", "lost"]
    report.table(f"target: p99 within {PERIODS} periods + {ALLOWANCE * 1e3:g} ms = {limit * 1e3:g} ms", columns, rows)
    report.note(
        f"at {plan.publish:g} Hz a command waits up to {1e3 / plan.publish:g} ms for the next message; undisturbed: no "
        "bare process was late meanwhile"
    )
    if count >= 1000:
        report.aim("p99 from command to joint_states, undisturbed, in ms", rows[0][5], limit * 1e3, "ms")


def _latencies(plan: Plan, name: str, publish: float, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Latencies [s], which of them nothing disturbed, and the number of commands that were never seen."""
    with Processes(plan.folder / name) as processes:
        node = plan.node(processes, publish)
        file = processes.folder / "latency.npy"
        probe = processes.start(PARTICIPANTS, "probe", str(count), str(file), name="probe").ready()
        bare = plan.bare(processes)
        probe.wait(count * EACH + 60.0)
        for process in (probe, *bare, node):
            process.stop()
    sent = np.load(file)
    was_seen = sent[:, 1] > 0
    kept = sent[was_seen]
    quiet = undisturbed(kept, bare_rows(processes.folder))
    return (kept[:, 1] - kept[:, 0]) * 1e-9, quiet, int((~was_seen).sum())
