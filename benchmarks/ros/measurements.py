# SPDX-License-Identifier: Apache-2.0
"""Periods of the dynamics node with a subscriber."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.ros.figures import Keeping, Rows, Window, keeping
from benchmarks.ros.world import MeasuredProcess, Processes, cpus, stolen

RATE, PUBLISH = 1000.0, 250.0  # [Hz] of the physics, and of joint_states
PERIOD = round(1e9 / RATE)  # [ns]
SETTLE = {True: 0.5, False: 3.0}  # [s] that all run before anything counts, in a quick run and otherwise
CPU = 0.25  # of one core, by the idle node
REAL_TIME = 0.999
COLUMNS = [
    "period [ms]", "p50", "p99", "p99.9", "max", "late p99", "late max", "missed", "unexplained", "steps",
    "joint_states/s", "CPU", "waited", "stolen",
]  # fmt: skip


def started_node(processes: Processes) -> MeasuredProcess:
    """Start the dynamics node with its default settings."""
    values = {"robot": "pa10", "physics_rate": RATE, "publish_rate": PUBLISH}
    parameters = [text for name, value in values.items() for text in ("-p", f"{name}:={value}")]
    return processes.start("ada_robot.node.dynamics_node", "--ros-args", *parameters, name="node")


def started_bare(processes: Processes) -> list[MeasuredProcess]:
    """Start a bare process on each CPU."""
    made = []
    for cpu in cpus():
        words = str(PERIOD), str(cpu), str(processes.folder / f"bare{cpu}.npy")
        made.append(processes.start("benchmarks.ros.bare", *words, name=f"bare{cpu}").ready())
    return made


def bare_rows(folder: Path) -> list[Rows]:
    """Wake-ups of the bare processes."""
    return [np.load(folder / f"bare{cpu}.npy") for cpu in cpus()]


@dataclass(frozen=True)
class Measured:
    """A node during a window of time."""

    node: Keeping
    bare: Sequence[Keeping]
    messages: float  # joint_states per second that arrived
    cpu: float  # share of one core
    waited: float  # share of one core that others had while the node wanted it
    stolen: float  # share of one core that the machine's host gave to others


def timing(report: Report, folder: Path, seconds: float, quick: bool) -> None:
    """Measure the node for some time; a quick run has no targets."""
    report.begin("periods", f"PA-10, physics at {RATE:g} Hz, joint_states and /tf at {PUBLISH:g} Hz")
    idle = _measured(folder, seconds, SETTLE[quick])
    _table(report, "with a subscriber", seconds, idle)
    report.note(
        "shares of one core: CPU is what the node used, waited what others had while it could have run, "
        "stolen what the machine's host gave to others"
    )
    if quick:
        report.note("quick: nothing is compared with targets")
        return
    # Steps for which the machine gave no time do not count.
    explained = (idle.node.missed - idle.node.unexplained) / (seconds * RATE)
    report.aim("missed periods of the idle node that nothing explains", float(idle.node.unexplained), 0.0, "periods")
    report.aim("CPU of the idle node", idle.cpu, CPU, "cores")
    report.aim("steps of the idle node per period", idle.node.steps, REAL_TIME - explained, "", at_least=True)


def _measured(folder: Path, seconds: float, settle: float) -> Measured:
    """Start all processes, let them settle, and watch them."""
    with Processes(folder) as processes:
        node = started_node(processes)
        listener = processes.start("benchmarks.ros.listener", str(folder), name="listener").ready()
        others = [listener, *started_bare(processes)]
        time.sleep(settle)
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
        keeping(np.load(folder / "physics.npy"), window, PERIOD, rows),
        [keeping(one, window, PERIOD, []) for one in rows],
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
