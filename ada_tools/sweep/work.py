# SPDX-License-Identifier: Apache-2.0
"""Worker of a sweep: executes runs individually or in batches and returns one row per run."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics._version import __version__
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_tools.scenario.run import checked_start, measure, simulate, simulation_of
from ada_tools.scenario.scenario import Scenario
from ada_tools.sweep.side_by_side import prepare, rows_side_by_side
from ada_tools.sweep.worker_memory import (
    Changes,
    Row,
    Task,
    done_row,
    failed_row,
    forget_simulation,
    own_device,
    scenario_of,
    simulation_for,
    take_turn,
    without_initial_state,
)

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


@dataclass(frozen=True)
class Chunk:
    """Runs submitted together."""

    task: Task
    runs: tuple[int, ...]
    seconds: float  # no further run is started after this time


def ping() -> str:
    """Library version of a worker."""
    return __version__


def look(task: Task, run: int) -> str:
    """Check that a worker has the device and can execute such runs; return the reason if not, else ""."""
    assert task.device is not None
    try:
        prepare(task, without_initial_state(task.runs.changes(run)), own_device(task.device))
    except AdaError as problem:
        return str(problem)
    return ""


def begin(life: Connection, turns: Any) -> None:
    """Initialize a worker process.

    Ctrl-C is handled by the main process. When the main process ends, the worker exits immediately; rows that were not
    returned are recomputed on resume.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with turns.get_lock():
        take_turn(turns.value)
        turns.value += 1

    def watch() -> None:
        life.poll(None)  # until the other end is closed
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="sweep-life").start()


def work(chunk: Chunk, clock: Clock = SYSTEM_CLOCK) -> list[Row]:
    """Execute runs until the time of the chunk is over, at least one; batched runs are all executed.

    Raises:
        DeviceError: the device is unavailable or failed.
    """
    task, began, rows = chunk.task, clock.now(), list[Row]()
    if task.device is not None:
        rows, alone = rows_side_by_side(task, chunk.runs, own_device(task.device), clock=clock)
        for row in rows:
            forget_log(task, row["run"])
        return rows + [_row(task, run, task.runs.changes(run), clock) for run in alone]
    for run in chunk.runs:
        rows.append(_row(task, run, task.runs.changes(run), clock))
        if clock.now() - began > chunk.seconds:
            break
    return rows


def _row(task: Task, run: int, changes: Changes, clock: Clock) -> Row:
    began = clock.now()
    log: Log | None = None
    try:
        scenario = scenario_of(task).with_changes(changes)
        log = _simulated(task, scenario, changes)
        measures = measure(scenario, log, task.measures)
        if task.keep == "all":
            _keep(task, run, log)
        else:
            forget_log(task, run)
    except Exception as problem:  # a failure, including that of a user's measure, concerns this run only
        row = failed_row(run, changes, problem, clock.now() - began)
        row["error"]["text"] += _keep_partial(task, run, getattr(problem, "log", log))
        return row
    return done_row(run, changes, measures, clock.now() - began)


def _simulated(task: Task, scenario: Scenario, changes: Changes) -> Log:
    """Motion of a run, using a cached simulation if only the initial state differs.

    A controller holds joints without a reference at the initial state, so it is created for each run.
    """
    assert scenario.simulation is not None
    if scenario.control is not None:
        return simulate(scenario)
    others = without_initial_state(changes)
    simulation = simulation_for(task, others)
    if simulation is None:
        simulation = simulation_of(scenario)
    else:
        simulation.reset(*checked_start(scenario, simulation.model))
    try:
        return simulation.run(scenario.simulation.duration)
    except BaseException:
        forget_simulation(task, others)
        raise


def log_path(folder: Path, run: int) -> Path:
    """Path of the log of a run."""
    return folder / f"run_{run:07d}.npz"


def _keep(task: Task, run: int, log: Log) -> None:
    task.logs.mkdir(parents=True, exist_ok=True)
    log.to_npz(log_path(task.logs, run))  # written atomically


def _keep_partial(task: Task, run: int, log: Log | None) -> str:
    """Keep the log of a failed run if requested; return a remark if that fails."""
    try:
        forget_log(task, run)
        if log is not None and task.keep != "none":
            _keep(task, run, log)
    except (AdaError, OSError) as problem:
        return f" (its log cannot be stored: {problem})"
    return ""


def forget_log(task: Task, run: int) -> None:
    """Delete an earlier log of a run."""
    log_path(task.logs, run).unlink(missing_ok=True)
