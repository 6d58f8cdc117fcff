# SPDX-License-Identifier: Apache-2.0
"""How the node keeps its periods: alone, and while other processes send commands and requests."""

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
from benchmarks.ros.world import Process, Processes, cpus, stolen

CPU = 0.25  # of one core, by the idle node
REAL_TIME = 0.999
_SHORT = 60.0  # [s]: the busy phase


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        folder: for raw data.
        robot: name or file.
        rate: of the physics [Hz].
        publish: of joint_states [Hz].
        settle: how long all run before anything counts [s].
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

    def node(self, processes: Processes, publish: float | None = None) -> Process:
        """Start the dynamics node.

        Args:
            processes: it belongs to.
            publish: rate of joint_states, if not the plan's [Hz].
        """
        values = {"robot": self.robot, "physics_rate": self.rate, "publish_rate": publish or self.publish}
        parameters = [text for name, value in values.items() for text in ("-p", f"{name}:={value}")]
        return processes.start("ada_robot.node.dynamics_node", "--ros-args", *parameters, name="node")

    def bare(self, processes: Processes) -> list[Process]:
        """Start a bare process on each CPU."""
        return [
            processes.start(
                "benchmarks.ros.bare",
                str(self.period),
                str(cpu),
                str(bare_file(processes.folder, cpu)),
                name=f"bare{cpu}",
            ).ready()
            for cpu in cpus()
        ]


def bare_file(folder: Path, cpu: int) -> Path:
    """Wake-ups of the bare process on a CPU."""
    return folder / f"bare{cpu}.npy"


def bare_rows(folder: Path) -> list[Rows]:
    """Wake-ups of the bare processes."""
    return [np.load(bare_file(folder, cpu)) for cpu in cpus()]


@dataclass(frozen=True)
class Measured:
    """A node during a window of time."""

    node: Keeping
    bare: Sequence[Keeping]
    cpu: float  # share of one core
    waited: float  # share of one core that others had while the node wanted it
    stolen: float  # share of one core that the machine's host gave to others
    messages: float  # joint_states per second that arrived
    diagnostics: str


def run(report: Report, plan: Plan, seconds: float, quick: bool) -> None:
    """All phases.

    Args:
        report: gets tables and targets.
        plan: what is measured.
        seconds: of the idle node.
        quick: whether the other phases are as short.
    """
    report.begin("periods", f"{plan.robot}, physics at {plan.rate:g} Hz, joint_states and /tf at {plan.publish:g} Hz")
    short = min(seconds, _SHORT)
    idle = _phase(plan, "idle", seconds)
    _table(report, "idle", f"dynamics_node, {_minutes(seconds)}", idle)
    busy = _phase(plan, "asked", short, asked=True)
    _table(report, "200 commands and 200 requests for parameters per second", f"dynamics_node, {_minutes(short)}", busy)
    report.note(
        "shares of one core: CPU is what the node used, waited what others had while it could have run, "
        "stolen what the machine's host gave to others"
    )
    if idle.diagnostics:
        report.note(f"the node's own diagnostics: {idle.diagnostics}")
    if quick:
        report.note("quick: nothing is compared with targets")
        return
    report.aim("missed periods of the idle node that nothing explains", float(idle.node.unexplained), 0.0, "periods")
    report.aim("CPU of the idle node", idle.cpu, CPU, "cores")
    report.aim("steps of the idle node per period", idle.node.steps, _real_time(idle, seconds, plan), "", at_least=True)


def _real_time(measured: Measured, seconds: float, plan: Plan) -> float:
    """The real-time factor to be reached: what the machine gave no time for is taken off."""
    explained = (measured.node.missed - measured.node.unexplained) / (seconds * plan.rate)
    return REAL_TIME - explained


def _minutes(seconds: float) -> str:
    return f"{seconds / 60.0:g} min" if seconds >= 60.0 else f"{seconds:g} s"


def _phase(plan: Plan, name: str, seconds: float, *, asked: bool = False) -> Measured:
    """Start everything, let it settle, watch it."""
    with Processes(plan.folder / name) as processes:
        folder = processes.folder
        node = plan.node(processes)
        listener = processes.start("benchmarks.ros.listener", str(folder), name="listener").ready()
        asker = processes.start("benchmarks.ros.asker", name="asker").ready() if asked else None
        bare = plan.bare(processes)
        time.sleep(plan.settle)
        begin, cpu, waited, steal = time.monotonic_ns(), node.seconds(), node.waited(), stolen()
        time.sleep(seconds)
        cpu, waited, steal = node.seconds() - cpu, node.waited() - waited, stolen() - steal
        window = Window(begin, time.monotonic_ns())
        for process in (node, *bare, listener, *([asker] if asker else [])):
            process.stop()
    known = {"begin_ns": window.begin, "end_ns": window.end, "cpu_s": cpu, "waited_s": waited, "stolen_s": steal}
    (folder / "window.json").write_text(json.dumps(known), encoding="utf-8")
    rows = bare_rows(folder)
    came = np.load(folder / "came_joint_states.npy")
    inside = (came >= window.begin) & (came < window.end)
    return Measured(
        node=keeping(np.load(folder / "physics.npy"), window, plan.period, rows),
        bare=[keeping(one, window, plan.period, []) for one in rows],
        cpu=cpu / window.seconds,
        waited=waited / window.seconds,
        stolen=steal / window.seconds,
        messages=float(inside.sum()) / window.seconds,
        diagnostics=_diagnostics(folder, window),
    )


def _diagnostics(folder: Path, window: Window) -> str:
    """What the node said last about its physics."""
    lines = (folder / "diagnostics.jsonl").read_text(encoding="utf-8").splitlines()
    said: list[dict[str, Any]] = [json.loads(line) for line in lines]
    physics = [one for one in said if one["name"].endswith(": physics") and one["ns"] < window.end]
    if not physics:
        return ""
    return "; ".join([physics[-1]["message"], *(f"{key} {value}" for key, value in physics[-1]["values"].items())])


def _table(report: Report, title: str, label: str, measured: Measured) -> None:
    columns = ["period [ms]", "p50", "p99", "p99.9", "max", "late p99", "late max", "missed", "unexplained"]
    columns += ["steps", "joint_states/s", "CPU", "waited", "stolen"]
    rows: list[list[Any]] = []
    node = measured.node
    shares = [measured.cpu, measured.waited, measured.stolen]
    counts = [node.missed, node.unexplained, node.steps, measured.messages]
    rows.append([label, *_milliseconds(node), *counts, *shares])
    for cpu, one in zip(cpus(), measured.bare, strict=True):
        rows.append([f"  bare, CPU {cpu}", *_milliseconds(one), one.missed, "", one.steps, "", "", "", ""])
    report.table(title, columns, rows)


def _milliseconds(one: Keeping) -> list[float]:
    return [float(t) * 1e3 for t in (*one.periods, one.late[1], one.late[3])]
