# SPDX-License-Identifier: Apache-2.0
"""Runs that differ by their start alone, side by side: rollouts in the lanes of a processor, or on a device."""

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
from ada_dynamics.simulation.scene import require_determinate
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.registry import find_measure
from ada_tools.scenario.run import checked_start, simulation_of
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.scenario.side_by_side import SideBySide
from ada_tools.sweep.bench import (
    Changes,
    Row,
    Task,
    beside_the_start,
    done_row,
    failed_row,
    scenario_of,
    simulation_for,
)

if TYPE_CHECKING:
    from ada_dynamics.simulation import Simulation

CPU, HOST = "cpu", "host"
BYTES = 2**28  # of the rows of motions that a worker makes at once
_COPIES = 3  # of each number: in rollouts, in logs, and in what is worked out from them
Member = tuple[int, Changes]


@dataclass(frozen=True)
class _Group:
    """Common parts of a group of runs."""

    scenario: Scenario  # at its own start
    simulation: Simulation
    fitting: int  # motions at once
    rows_every: int  # steps


def fitting(scenario: Scenario, model: Model, most: int = BYTES) -> int:
    """How many motions of a scenario go side by side in the memory that a worker takes for them.

    Raises:
        ScenarioError: not even one does, or the duration is not a whole number of rows.
    """
    part = scenario.simulation
    assert part is not None
    steps = round(part.duration / part.step)
    if steps % part.log_every or abs(steps * part.step - part.duration) > 1e-9 * part.step:
        text = (
            f"{scenario.file}: simulation: runs side by side last a whole number of rows, and {part.duration:g} s "
            f"is no multiple of {part.log_every} steps (log_every) of {part.step:g} s."
        )
        raise ScenarioError(text, file=scenario.file, field="simulation.duration", value=part.duration)
    of_row = 8 * _COPIES * (model.nq + 3 * model.nv)
    rows = steps // part.log_every + 1
    if rows * of_row > most:
        fewer = -(-steps // (most // of_row - 1))
        text = (
            f"{scenario.file}: simulation: a run has {rows} rows, which take {rows * of_row / 2**20:.0f} MiB; runs "
            f"side by side have {most // 2**20} MiB together. Keep fewer rows, with: {{simulation.log_every: N}}, "
            f"N from {fewer} on: measures look at those."
        )
        raise ScenarioError(text, file=scenario.file, field="simulation.log_every", allowed=f"{fewer} on")
    return most // (rows * of_row)


def prepare(task: Task, others: Changes, device: str) -> None:
    """Check that runs can go side by side, as far as that is known before the first one.

    Raises:
        AdaError: they cannot; the message says why.
    """
    group = _group(task, others, BYTES)
    simulation = group.simulation
    one = simulation.rollout(simulation.q[None], simulation.v[None], simulation.step_length, device=device)
    if np.isfinite(one.q).all():
        try:
            _measured(group, SideBySide(simulation, one), task.measures)
        except AdaError:
            raise
        except Exception:  # a measure's own, of this motion
            pass


def rows_side_by_side(
    task: Task, runs: Sequence[int], device: str, most: int = BYTES, clock: Clock = SYSTEM_CLOCK
) -> tuple[list[Row], list[int]]:
    """Rows of runs, and those of the runs that have to be made alone, since their motion could not go on.

    Motions are computed together as far as they fit into `most` bytes.

    Raises:
        DeviceError: the device cannot be used, or failed.
    """
    rows: list[Row] = []
    alone: list[int] = []
    members = ((run, task.runs.changes(run)) for run in runs)
    for others, together in groupby(members, key=lambda member: beside_the_start(member[1])):
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
    simulation = simulation_for(task, others) or simulation_of(scenario)  # which says why there is none
    assert scenario.simulation is not None
    return _Group(scenario, simulation, fitting(scenario, simulation.model, most), scenario.simulation.log_every)


def _make(task: Task, group: _Group, members: Sequence[Member], device: str, rows: list[Row], alone: list[int]) -> None:
    """Motions of some members: their rows, or among those that have to be made alone."""
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
    except InputError:  # of one of the starts
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
    """Rows of those whose start is impossible, and the starts of the others."""
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
    """Measures of each motion, or the error that it ran into."""
    try:
        yield from _measured(group, motions, names)
    except Exception:  # find the motion at which a measure fails, and keep the others
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
            f"measure {name!r} gave shape {numbers.shape} for {count} motions side by side; it must be ({count},): "
            "work along the axis of the rows, which is the one before the numbers of a row."
        )
        raise InputError(text, field="measure", value=name)
    found: list[float] = numbers.tolist()
    return found
