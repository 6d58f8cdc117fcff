# SPDX-License-Identifier: Apache-2.0
"""The working memory of a worker, and the rows that it makes.

A worker keeps the simulations that it has built, by everything but the start, so that runs that differ in their start
alone cost no more than their steps.
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

KEPT = 8  # simulations per worker
DONE, FAILED = "done", "failed"
Row = dict[str, Any]
Changes = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """The part of a sweep that every worker needs; fit for pickling.

    Attributes:
        token: differs for any two sweeps.
        tree: the scenario as it was read.
        file: its source, for messages.
        folder: where its relative paths start.
        runs: values by number.
        measures: names of what is measured.
        keep: of which runs the logs are kept.
        logs: folder for them.
        device: where runs go side by side; None: one after the other.
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
class _Bench:
    """The working memory of one thread of a worker."""

    token: str = ""
    scenario: Scenario | None = None
    simulations: OrderedDict[str, Simulation | None] = field(default_factory=OrderedDict)


_here = threading.local()


def _bench(task: Task) -> _Bench:
    bench: _Bench | None = getattr(_here, "bench", None)
    if bench is None or bench.token != task.token:
        bench = _here.bench = _Bench(task.token)
    return bench


def scenario_of(task: Task) -> Scenario:
    """The scenario of a sweep."""
    bench = _bench(task)
    if bench.scenario is None:
        bench.scenario = read_node(task.tree, task.file, task.folder)
    return bench.scenario


def beside_the_start(changes: Mapping[str, Any]) -> Changes:
    """Values of a run that do not belong to its start."""
    return {key: value for key, value in changes.items() if not key.startswith(START)}


def simulation_for(task: Task, others: Changes) -> Simulation | None:
    """The simulation that runs share, at the start of the scenario itself, so that it does not depend on the first run.

    None where that start is impossible: then each run has a simulation of its own.
    """
    simulations, key = _bench(task).simulations, digest(others)
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
    """Forget a simulation in an unknown state."""
    _bench(task).simulations.pop(digest(others), None)


_first_turn = 0  # of this process among those of its machine
_turns = itertools.count()


def take_turn(turn: int) -> None:
    """Set the number of a worker process on its machine."""
    global _first_turn
    _first_turn = turn


def own_device(device: str, count: Callable[[], int] | None = None) -> str:
    """Device of this worker thread: the workers of a machine use its devices in turn; `count` is the number of devices.

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
        from ada_dynamics.gpu import cuda_driver  # imported where a device is used

        count = cuda_driver.count
    return f"cuda:{_here.turn % count()}"


def _turn_of_dask() -> int | None:
    """The number at the end of the name of dask's worker; dask-cuda puts the worker's own device first."""
    if "dask_cuda" in sys.modules:
        return 0
    distributed: Any = sys.modules.get("distributed")  # which a worker of dask's has imported
    if distributed is None:
        return None
    try:
        name = str(distributed.get_worker().name)
    except ValueError:  # no worker of dask's
        return None
    last = name.rpartition("-")[2]
    return int(last) if last.isdecimal() else None


def done_row(run: int, changes: Changes, measures: Mapping[str, Any], seconds: float) -> Row:
    """The row of a run that has figures."""
    return {"run": run, "status": DONE, "changes": changes, "measures": measures, "seconds": round(seconds, 6)}


def failed_row(run: int, changes: Changes, problem: BaseException, seconds: float = 0.0) -> Row:
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
