# SPDX-License-Identifier: Apache-2.0
"""Working memory of a sweep worker, and the result rows that it creates.

A worker caches its simulations by all values except the initial state, so that runs that differ only in the initial
state cost no more than their steps.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import AdaError
from ada_dynamics.structured_text.nodes import Node
from ada_tools.scenario.reader import read_node
from ada_tools.scenario.run import simulation_of
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.sweep.sweep import Runs, digest

if TYPE_CHECKING:
    from ada_dynamics.simulation import Simulation

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


@dataclass
class _WorkerMemory:
    """Working memory of one worker thread."""

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


def forget_simulation(task: Task, others: Changes) -> None:
    """Remove a simulation in an undefined state from the cache."""
    _memory(task).simulations.pop(digest(others), None)


_first_turn = 0  # number of this process on its machine
_turns = itertools.count()


def take_turn(turn: int) -> None:
    """Set the number of a worker process on its machine."""
    global _first_turn
    _first_turn = turn


def own_device(device: str, count: Callable[[], int] | None = None) -> str:
    """Device of this worker thread: workers are assigned to the devices of a machine in turn.

    Args:
        device: device of the sweep.
        count: returns the number of devices.

    Raises:
        NoDeviceError: the machine has no device.
    """
    if device != "cuda":
        return device
    if not hasattr(_here, "turn"):
        _here.turn = _turn_of_dask()
        if _here.turn is None:
            _here.turn = _first_turn + next(_turns)
    if count is None:
        from ada_dynamics.gpu import cuda_driver  # imported only if a device is used

        count = cuda_driver.count
    return f"cuda:{_here.turn % count()}"


def _turn_of_dask() -> int | None:
    """Number at the end of the dask worker name; dask-cuda makes the device of the worker the first one."""
    if "dask_cuda" in sys.modules:
        return 0
    distributed: Any = sys.modules.get("distributed")  # imported by dask workers
    if distributed is None:
        return None
    try:
        name = str(distributed.get_worker().name)
    except ValueError:  # not a dask worker
        return None
    last = name.rpartition("-")[2]
    return int(last) if last.isdecimal() else None


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
