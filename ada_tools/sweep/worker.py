# SPDX-License-Identifier: Apache-2.0
"""Worker of a sweep: executes runs one by one and returns one row per run.

A worker caches its simulations by all values except the initial state, so that runs that differ only in the initial
state cost no more than their steps.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics._version import __version__
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_dynamics.structured_text.nodes import Node
from ada_tools.scenario.run import checked_start, measure, simulate, simulation_of
from ada_tools.scenario.scenario import START, Scenario, read_node
from ada_tools.sweep.sweep import Runs, digest

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log, Simulation

KEPT = 8  # cached simulations per worker
DONE, FAILED = "done", "failed"
Row = dict[str, Any]
Changes = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """Sweep data required by every worker; can be pickled.

    Attributes:
        token: unique identifier of the sweep.
        tree: parsed scenario.
        file: source of the scenario, for messages.
        folder: base of relative paths.
        runs: values by run number.
        measures: names of the measures.
        keep: which logs to keep.
        logs: folder of the logs.
        device: device for batched runs; None for individual runs.
    """

    token: str
    tree: Node
    file: str
    folder: Path | None
    runs: Runs
    measures: tuple[str, ...]
    keep: str
    logs: Path
    device: str | None

    def log_path(self, run: int) -> Path:
        """Path of the log of a run."""
        return self.logs / f"run_{run:07d}.npz"

    def forget_log(self, run: int) -> None:
        """Delete an earlier log of a run."""
        self.log_path(run).unlink(missing_ok=True)


@dataclass(frozen=True)
class Chunk:
    """Runs submitted together."""

    task: Task
    runs: tuple[int, ...]
    seconds: float  # no further run is started after this time


def begin() -> None:
    """Initialize a worker process.

    Ctrl-C is handled by the main process. When the main process ends, the worker exits immediately; rows that were not
    returned are recomputed on resume.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="sweep-life").start()


def version() -> str:
    """Library version of a worker."""
    return __version__


def work(chunk: Chunk, clock: Clock = SYSTEM_CLOCK) -> list[Row]:
    """Execute runs until the time of the chunk is over, at least one."""
    began, rows = clock.now(), list[Row]()
    for run in chunk.runs:
        rows.append(row_of(chunk.task, run, clock))
        if clock.now() - began > chunk.seconds:
            break
    return rows


def row_of(task: Task, run: int, clock: Clock) -> Row:
    """Execute a run."""
    changes, began = task.runs.changes(run), clock.now()
    log: Log | None = None
    try:
        scenario = scenario_of(task).with_changes(changes)
        log = _simulated(task, scenario, changes)
        measures = measure(scenario, log, task.measures)
        if task.keep == "all":
            _keep(task, run, log)
        else:
            task.forget_log(run)
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
    except BaseException:  # leaves the simulation in an undefined state
        _memory(task).simulations.pop(digest(others), None)
        raise


def _keep(task: Task, run: int, log: Log) -> None:
    task.logs.mkdir(parents=True, exist_ok=True)
    log.to_npz(task.log_path(run))  # written atomically


def _keep_partial(task: Task, run: int, log: Log | None) -> str:
    """Keep the log of a failed run if requested; return a remark if that fails."""
    try:
        task.forget_log(run)
        if log is not None and task.keep != "none":
            _keep(task, run, log)
    except (AdaError, OSError) as problem:
        return f" (its log cannot be stored: {problem})"
    return ""


# --- rows -------------------------------------------------------------------------------------------------------------
def done_row(run: int, changes: Changes, measures: Mapping[str, Any], seconds: float) -> Row:
    """Row of a successful run."""
    return {"run": run, "status": DONE, "changes": changes, "measures": measures, "seconds": round(seconds, 6)}


def failed_row(run: int, changes: Changes, problem: BaseException, seconds: float = 0.0) -> Row:
    """Row of a failed run."""
    kind = type(problem).__name__
    text = " ".join(str(problem).split()) or kind
    return {
        "run": run,
        "status": FAILED,
        "changes": changes,
        "error": {"type": kind, "text": text[:1000]},
        "seconds": round(seconds, 6),
    }


# --- memory of a worker thread ----------------------------------------------------------------------------------------
@dataclass
class _WorkerMemory:
    token: str = ""
    scenario: Scenario | None = None
    simulations: OrderedDict[str, Simulation | None] = field(default_factory=OrderedDict)


_here = threading.local()


def _memory(task: Task) -> _WorkerMemory:
    memory: _WorkerMemory | None = getattr(_here, "memory", None)
    if memory is None or memory.token != task.token:
        memory = _here.memory = _WorkerMemory(task.token)
    return memory


def scenario_of(task: Task) -> Scenario:
    """Scenario of a sweep."""
    memory = _memory(task)
    if memory.scenario is None:
        memory.scenario = read_node(task.tree, task.file, task.folder)
    return memory.scenario


def without_initial_state(changes: Mapping[str, Any]) -> Changes:
    """Values of a run except those of the initial state."""
    return {key: value for key, value in changes.items() if not key.startswith(START)}


def simulation_for(task: Task, others: Changes) -> Simulation | None:
    """Simulation shared by runs, at the initial state of the scenario, so that it does not depend on the first run.

    None if that initial state is invalid: each run then creates a simulation.
    """
    simulations, key = _memory(task).simulations, digest(others)
    if key not in simulations:
        try:
            simulations[key] = simulation_of(scenario_of(task).with_changes(others))
        except AdaError:
            simulations[key] = None
        if len(simulations) > KEPT:
            simulations.popitem(last=False)
    simulations.move_to_end(key)
    return simulations[key]


def own_device(device: str, count: Callable[[], int] | None = None) -> str:
    """Device of this worker: workers are assigned to the devices of a machine in turn, by the number in their name.

    Args:
        device: device of the sweep.
        count: returns the number of devices.

    Raises:
        NoDeviceError: the machine has no device.
    """
    if device != "cuda":
        return device
    if count is None:
        from ada_dynamics.gpu import cuda_driver  # imported only if a device is used

        count = cuda_driver.count
    numbers = re.findall(r"\d+", _name())
    return f"cuda:{int(numbers[-1]) % count() if numbers else 0}"


def _name() -> str:
    """Name of this dask worker, thread or process; empty with dask-cuda, where the device of a worker is the first."""
    if "dask_cuda" in sys.modules:
        return ""
    distributed: Any = sys.modules.get("distributed")  # imported by dask workers
    if distributed is not None:
        try:
            return str(distributed.get_worker().name)
        except ValueError:  # not a dask worker
            pass
    thread = threading.current_thread()
    return multiprocessing.current_process().name if thread is threading.main_thread() else thread.name
