# SPDX-License-Identifier: Apache-2.0
"""A worker of a sweep: it makes some runs, one after the other or side by side, each of which gives a row."""

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
from ada_tools.sweep.bench import (
    Changes,
    Row,
    Task,
    beside_the_start,
    done_row,
    failed_row,
    forget_simulation,
    own_device,
    scenario_of,
    simulation_for,
    take_turn,
)
from ada_tools.sweep.side_by_side import prepare, rows_side_by_side

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


@dataclass(frozen=True)
class Chunk:
    """Some runs."""

    task: Task
    runs: tuple[int, ...]
    seconds: float  # after which no further one is begun


def ping() -> str:
    """Shows that a worker has the library, and which version of it."""
    return __version__


def look(task: Task, run: int) -> str:
    """Show that a worker has the device and can make runs of this kind; why not, or nothing."""
    assert task.device is not None
    try:
        prepare(task, beside_the_start(task.runs.changes(run)), own_device(task.device))
    except AdaError as problem:
        return str(problem)
    return ""


def begin(life: Connection, turns: Any) -> None:
    """Prepare a worker process.

    Ctrl-C is for the process that hands out the work. When that one is gone, however it ended, the worker ends at once:
    rows that it has not handed over are made anew when the sweep goes on.
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
    """Rows of as many runs as fit into the time, at least one; runs side by side are all made.

    Raises:
        DeviceError: the device cannot be used, or failed.
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
    except Exception as problem:  # any failure, also of a user's own measure, is this run's alone
        row = failed_row(run, changes, problem, clock.now() - began)
        row["error"]["text"] += _keep_partial(task, run, getattr(problem, "log", log))
        return row
    return done_row(run, changes, measures, clock.now() - began)


def _simulated(task: Task, scenario: Scenario, changes: Changes) -> Log:
    """The motion; by a simulation that is there already where only the start is another one.

    A controller holds joints that its reference does not name where they start, so it is made for each start.
    """
    assert scenario.simulation is not None
    if scenario.control is not None:
        return simulate(scenario)
    others = beside_the_start(changes)
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
    """Where the log of a run is kept."""
    return folder / f"run_{run:07d}.npz"


def _keep(task: Task, run: int, log: Log) -> None:
    task.logs.mkdir(parents=True, exist_ok=True)
    log.to_npz(log_path(task.logs, run))  # in one step: a killed worker leaves no half log under the name


def _keep_partial(task: Task, run: int, log: Log | None) -> str:
    """Keep what is wanted of a run that failed; what is to be said where that fails, too."""
    try:
        forget_log(task, run)
        if log is not None and task.keep != "none":
            _keep(task, run, log)
    except (AdaError, OSError) as problem:
        return f" (Its log cannot be kept: {problem})"
    return ""


def forget_log(task: Task, run: int) -> None:
    """Delete the log of a run that was made before, and whose new row has none."""
    log_path(task.logs, run).unlink(missing_ok=True)
