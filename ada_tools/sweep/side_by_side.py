# SPDX-License-Identifier: Apache-2.0
"""Batched execution of runs that differ only in the initial state: rollouts on processor lanes or on a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, DeviceError, InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.context import require_determinate
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.registry import find_measure
from ada_tools.scenario.run import checked_start, simulation_of
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.scenario.side_by_side import SideBySide
from ada_tools.sweep.worker import (
    Changes,
    Chunk,
    Row,
    Task,
    done_row,
    failed_row,
    own_device,
    row_of,
    scenario_of,
    simulation_for,
    without_initial_state,
)

if TYPE_CHECKING:
    from ada_dynamics.simulation import Simulation

CPU, HOST = "cpu", "host"
BYTES = 2**28  # maximum memory of the motions that a worker computes at once
_COPIES = 3  # copies of each number: in rollouts, logs and derived quantities
Member = tuple[int, Changes]


@dataclass(frozen=True)
class _Group:
    """Common data of batched runs."""

    scenario: Scenario  # at its initial state
    simulation: Simulation
    fitting: int  # motions per batch
    rows_every: int  # steps


def fitting(scenario: Scenario, model: Model, most: int = BYTES) -> int:
    """Number of motions of a scenario that fit into the memory of a batch.

    Raises:
        ScenarioError: not even one fits, or the duration is not a whole number of rows.
    """
    part = scenario.simulation
    assert part is not None
    steps = round(part.duration / part.step)
    if steps % part.log_every or abs(steps * part.step - part.duration) > 1e-9 * part.step:
        text = (
            f"{scenario.file}: simulation: batched runs require a whole number of rows, but {part.duration:g} s "
            f"is not a multiple of {part.log_every} steps (log_every) of {part.step:g} s."
        )
        raise ScenarioError(text, file=scenario.file, field="simulation.duration", value=part.duration)
    of_row = 8 * _COPIES * (model.nq + 3 * model.nv)
    rows = steps // part.log_every + 1
    if rows * of_row > most:
        fewer = -(-steps // (most // of_row - 1))
        text = (
            f"{scenario.file}: simulation: a run has {rows} rows ({rows * of_row / 2**20:.0f} MiB); the limit of "
            f"batched runs is {most // 2**20} MiB. Reduce the rows by with: {{simulation.log_every: N}}, "
            f"N at least {fewer}; measures use these rows."
        )
        raise ScenarioError(text, file=scenario.file, field="simulation.log_every", allowed=f"{fewer} on")
    return most // (rows * of_row)


def obstacle(task: Task, run: int) -> str:
    """Reason why this worker cannot execute such runs in batches, as far as known before the first one, else ""."""
    assert task.device is not None
    try:
        group = _group(task, without_initial_state(task.runs.changes(run)), BYTES)
        simulation, device = group.simulation, own_device(task.device)
        one = simulation.rollout(simulation.q[None], simulation.v[None], simulation.step_length, device=device)
        if np.isfinite(one.q).all():
            _measured(group, SideBySide(simulation, one), task.measures)
    except AdaError as problem:
        return str(problem)
    except Exception:  # error of a measure for this motion
        pass
    return ""


def work(chunk: Chunk, clock: Clock = SYSTEM_CLOCK) -> list[Row]:
    """Execute all runs of a chunk in batches.

    Raises:
        DeviceError: the device is unavailable or failed.
    """
    task = chunk.task
    rows, alone = rows_side_by_side(task, chunk.runs, own_device(str(task.device)), clock=clock)
    for row in rows:
        task.forget_log(row["run"])
    return rows + [row_of(task, run, clock) for run in alone]


def rows_side_by_side(
    task: Task, runs: Sequence[int], device: str, most: int = BYTES, clock: Clock = SYSTEM_CLOCK
) -> tuple[list[Row], list[int]]:
    """Rows of batched runs, and the runs to be repeated individually because their motion failed.

    Motions are computed in batches of at most `most` bytes.

    Raises:
        DeviceError: the device is unavailable or failed.
    """
    rows: list[Row] = []
    alone: list[int] = []
    members = ((run, task.runs.changes(run)) for run in runs)
    for others, together in groupby(members, key=lambda member: without_initial_state(member[1])):
        everyone = list(together)
        try:
            group = _group(task, others, most)
        except AdaError as problem:
            rows += [failed_row(run, changes, problem) for run, changes in everyone]
            continue
        for first in range(0, len(everyone), group.fitting):
            members_now, began, before = everyone[first : first + group.fitting], clock.now(), len(rows)
            _make(task, group, members_now, device, rows, alone)
            seconds = round((clock.now() - began) / len(members_now), 6)
            for row in rows[before:]:
                row["seconds"] = seconds
    return rows, alone


def _group(task: Task, others: Changes, most: int) -> _Group:
    scenario = scenario_of(task).with_changes(others)
    simulation = simulation_for(task, others) or simulation_of(scenario)  # raises with the reason
    assert scenario.simulation is not None
    return _Group(scenario, simulation, fitting(scenario, simulation.model, most), scenario.simulation.log_every)


def _make(task: Task, group: _Group, members: Sequence[Member], device: str, rows: list[Row], alone: list[int]) -> None:
    """Compute the motions of a batch; append rows, or runs to be repeated individually."""
    failures, starts = _starts(group, members)
    rows += failures
    if not starts:
        return
    simulation, part = group.simulation, group.scenario.simulation
    assert part is not None
    q, v = (np.array(x) for x in zip(*(state for _, state in starts), strict=True))
    try:
        found = simulation.rollout(q, v, part.duration, rows_every=group.rows_every, device=device)
    except DeviceError:
        raise
    except InputError:  # from one of the initial states
        alone += [run for (run, _), _ in starts]
        return
    whole = np.asarray(np.isfinite(found.q).all(axis=(1, 2)) & np.isfinite(found.v).all(axis=(1, 2)))
    alone += [run for ((run, _), _), is_whole in zip(starts, whole, strict=True) if not is_whole]
    kept = [member for (member, _), is_whole in zip(starts, whole, strict=True) if is_whole]
    if not kept:
        return
    motions = SideBySide(simulation, found._replace(q=found.q[whole], v=found.v[whole]))
    results = list(_results(group, motions, task.measures))
    for (run, changes), result in zip(kept, results, strict=True):
        is_error = isinstance(result, Exception)
        rows.append(failed_row(run, changes, result) if is_error else done_row(run, changes, result, 0.0))


def _starts(group: _Group, members: Sequence[Member]) -> tuple[list[Row], list[tuple[Member, tuple[Array, Array]]]]:
    """Rows of runs with invalid initial states, and the initial states of the others."""
    failures, found = [], []
    simulation, own = group.simulation, group.scenario
    for run, changes in members:
        try:
            scenario = own.with_changes({key: value for key, value in changes.items() if key.startswith(START)})
            state = checked_start(scenario, simulation.model)
            require_determinate(simulation.model, simulation.dynamics, *state)
        except AdaError as problem:
            failures.append(failed_row(run, changes, problem))
        else:
            found.append(((run, changes), state))
    return failures, found


def _results(group: _Group, motions: SideBySide, names: Sequence[str]) -> Iterator[Any]:
    """Measures of each motion, or the error of its evaluation."""
    try:
        yield from _measured(group, motions, names)
    except Exception:  # evaluate the motions individually to isolate the failure
        for i in range(len(motions)):
            try:
                yield from _measured(group, motions.of(i), names)
            except Exception as problem:
                yield problem


def _measured(group: _Group, motions: SideBySide, names: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{} for _ in range(len(motions))]
    for name in names:
        value: Any = find_measure(name).function(group.scenario, motions)  # type: ignore[arg-type]
        if isinstance(value, Mapping):
            parts = {part: _numbers(name, numbers, len(motions)) for part, numbers in value.items()}
            for i, measures in enumerate(found):
                measures[name] = {part: numbers[i] for part, numbers in parts.items()}
        else:
            for measures, number in zip(found, _numbers(name, value, len(motions)), strict=True):
                measures[name] = number
    return found


def _numbers(name: str, value: Any, count: int) -> list[float]:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape != (count,):
        text = (
            f"measure {name!r} returned shape {numbers.shape} for a batch of {count} motions instead of ({count},): "
            "reduce along the row axis, which precedes the axis of coordinates."
        )
        raise InputError(text, field="measure", value=name)
    found: list[float] = numbers.tolist()
    return found
