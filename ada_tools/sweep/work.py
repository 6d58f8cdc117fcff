# SPDX-License-Identifier: Apache-2.0
"""A worker of a sweep: it makes some runs, one after the other, each of which gives a row.

A worker keeps the simulations that it has built, by everything but the start, so that runs that differ in their start
alone cost no more than their steps.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError
from ada_dynamics.structured_text.nodes import Node
from ada_tools.scenario.reader import read_node
from ada_tools.scenario.run import measure, simulation_of
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.states import start_state
from ada_tools.sweep.sweep import START, digest

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log, Simulation

KEPT = 8  # simulations per worker
DONE, FAILED = "done", "failed"


@dataclass(frozen=True)
class Task:
    """The part of a sweep that every worker needs; fit for pickling.

    Attributes:
        token: differs for any two sweeps.
        tree: the scenario as it was read.
        file: its source, for messages.
        folder: where its relative paths start.
        measures: names of what is measured.
        keep: of which runs the logs are kept.
        logs: folder for them.
    """

    token: str
    tree: Node
    file: str
    folder: Path | None
    measures: tuple[str, ...]
    keep: str
    logs: Path


@dataclass(frozen=True)
class Chunk:
    """Some runs.

    Attributes:
        task: what they belong to.
        runs: numbers and values.
        seconds: after which no further one is begun.
    """

    task: Task
    runs: tuple[tuple[int, dict[str, Any]], ...]
    seconds: float


@dataclass
class _Bench:
    """The working memory of one thread of a worker."""

    token: str = ""
    scenario: Scenario | None = None
    simulations: OrderedDict[str, Simulation | None] = field(default_factory=OrderedDict)


_here = threading.local()


def ping() -> str:
    """Shows that a worker has the library, and which version of it."""
    return __version__


def begin(life: Connection) -> None:
    """Prepare a worker process.

    Ctrl-C is for the process that hands out the work. When that one says so, or is gone, however it ended, the worker
    ends at once: rows that it has not handed over are made anew when the sweep goes on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        life.poll(None)  # something is there, or the other end is closed
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="sweep-life").start()


def work(chunk: Chunk) -> list[dict[str, Any]]:
    """Rows of as many runs as fit into the time, at least one."""
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for run, changes in chunk.runs:
        rows.append(_row(chunk.task, run, changes))
        if time.perf_counter() - began > chunk.seconds:
            break
    return rows


def failed_row(run: int, changes: dict[str, Any], problem: BaseException, seconds: float = 0.0) -> dict[str, Any]:
    """The row of a run that has no result."""
    kind = type(problem).__name__
    text = " ".join(str(problem).split()) or kind
    return {
        "run": run,
        "status": FAILED,
        "changes": changes,
        "error": {"type": kind, "text": text[:1000]},
        "seconds": round(seconds, 6),
    }


def _row(task: Task, run: int, changes: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    log: Log | None = None
    try:
        scenario = _scenario(task).with_changes(changes)
        log = _simulated(task, scenario, changes)
        measures = measure(scenario, log, task.measures)
        if task.keep == "all":
            _keep(task, run, log)
    except Exception as problem:  # whatever fails, a measure of the user's own among it, is this run's alone
        row = failed_row(run, changes, problem, time.perf_counter() - began)
        if task.keep != "none":
            row["error"]["text"] += _keep_partial(task, run, getattr(problem, "log", log))
        return row
    seconds = round(time.perf_counter() - began, 6)
    return {"run": run, "status": DONE, "changes": changes, "measures": measures, "seconds": seconds}


# --- simulations ----------------------------------------------------------------------------------------------------
def _bench(task: Task) -> _Bench:
    bench: _Bench | None = getattr(_here, "bench", None)
    if bench is None or bench.token != task.token:
        bench = _here.bench = _Bench(task.token)
    return bench


def _scenario(task: Task) -> Scenario:
    bench = _bench(task)
    if bench.scenario is None:
        bench.scenario = read_node(task.tree, task.file, task.folder)
    return bench.scenario


def _simulated(task: Task, scenario: Scenario, changes: dict[str, Any]) -> Log:
    """The motion; by a simulation that is there already where only the start is another one."""
    assert scenario.simulation is not None
    simulations = _bench(task).simulations
    others = {key: value for key, value in changes.items() if not key.startswith(START)}
    key = digest(others)
    if key not in simulations:
        simulations[key] = _simulation(task, others)
        if len(simulations) > KEPT:
            simulations.popitem(last=False)
    simulations.move_to_end(key)
    simulation = simulations[key]
    if simulation is None:
        simulation = simulation_of(scenario)
    else:
        simulation.reset(*start_state(scenario, simulation.model))
    try:
        return simulation.run(scenario.simulation.duration)
    except BaseException:
        simulations.pop(key, None)  # nobody knows in which state it is
        raise


def _simulation(task: Task, others: dict[str, Any]) -> Simulation | None:
    """The simulation that runs share, at the start that the scenario itself has, lest it depend on who came first.

    None where that start is impossible: then each run has a simulation of its own.
    """
    try:
        return simulation_of(_scenario(task).with_changes(others))
    except AdaError:
        return None


# --- logs -----------------------------------------------------------------------------------------------------------
def log_path(folder: Path, run: int) -> Path:
    """Where the log of a run is kept."""
    return folder / f"run_{run:07d}.npz"


def _keep(task: Task, run: int, log: Log) -> None:
    task.logs.mkdir(parents=True, exist_ok=True)
    log.to_npz(log_path(task.logs, run))  # in one step: a killed worker leaves no half log under the name


def _keep_partial(task: Task, run: int, log: Log | None) -> str:
    """Keep what there is of a run that failed; what is to be said where that fails, too."""
    if log is None:
        return ""
    try:
        _keep(task, run, log)
    except (AdaError, OSError) as problem:
        return f" (Its log cannot be kept: {problem})"
    return ""
