# SPDX-License-Identifier: Apache-2.0
"""Y1: measures of a joint motion under the trajectory controller (Yamada, sec. 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_tools.scenario.registry import measure

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log
    from ada_tools.scenario.scenario import Scenario


_MOVES = 1e-9  # [rad/s] below which a commanded joint is at rest


@measure("profile_error", unit="rad")
def profile_error(scenario: Scenario, log: Log) -> float:
    """Largest difference of the commanded angles from the three parts of sec. 4.1, with θ_f in the last part."""
    t, told = log.signal_times, _signal(log, "position")
    start, end = told[0], told[-1]
    t1, tf = _acceleration_time(scenario), float(_signal(log, "remaining")[0, 0])
    return float(np.max(np.abs(told - _document(t, start, end, t1, tf, end))))


@measure("jump_as_printed", unit="rad")
def jump_as_printed(scenario: Scenario, log: Log) -> float:
    """Largest jump of a joint at t_f - t_1 if the last part uses θ_0, as printed."""
    told = _signal(log, "position")
    start, end = told[0], told[-1]
    t1, tf = _acceleration_time(scenario), float(_signal(log, "remaining")[0, 0])
    around = np.array([tf - t1 - 1e-9, tf - t1 + 1e-9])
    before, after = _document(around, start, end, t1, tf, start)
    return float(np.max(np.abs(after - before)))


@measure("ends_apart", unit="s")
def ends_apart(scenario: Scenario, log: Log) -> float:
    """Time between the end of the first and of the last joint motion."""
    moves = np.abs(_signal(log, "velocity")) > _MOVES
    last = [log.signal_times[np.flatnonzero(column)[-1]] for column in moves.T if column.any()]
    return float(np.max(last) - np.min(last))


@measure("speed_by_limit")
def speed_by_limit(scenario: Scenario, log: Log) -> float:
    """Largest ratio of commanded speed to the speed limit of the joint."""
    return float(np.max(np.abs(_signal(log, "velocity")) / log.model.velocity_limit))


@measure("acceleration_jump", unit="rad/s²")
def acceleration_jump(scenario: Scenario, log: Log) -> float:
    """Largest change of a commanded acceleration between two updates."""
    return float(np.max(np.abs(np.diff(_signal(log, "acceleration"), axis=0))))


@measure("plan_duration", unit="s")
def plan_duration(scenario: Scenario, log: Log) -> float:
    """Duration of the planned motion."""
    return float(_signal(log, "remaining")[0, 0])


@measure("plan_error", unit="rad")
def plan_error(scenario: Scenario, log: Log) -> float:
    """Largest difference between the commanded and actual joint angles."""
    return float(np.max(np.abs(_signal(log, "error"))))


def _document(t: Array, start: Array, end: Array, t1: float, tf: float, third: Array) -> Array:
    """Formulas of sec. 4.1 (times, joints); `third` is the angle in the last part."""
    t = t[:, None]
    k = (end - start) / (2.0 * t1**3 * (tf - t1))
    first = start + k * t**3 * (2.0 * t1 - t)
    second = end + k * t1**3 * (2.0 * (t - tf) + t1)
    last = third + k * (t - tf) ** 3 * (2.0 * t1 + t - tf)
    return np.where(t <= t1, first, np.where(t <= tf - t1, second, np.where(t <= tf, last, end)))


def _signal(log: Log, name: str) -> Array:
    if name not in log.signals:
        raise InputError(f"the log has no signal {name!r}; this measure requires the controller joint_trajectory.")
    return np.asarray(log.signals[name], dtype=np.float64)


def _acceleration_time(scenario: Scenario) -> float:
    settings: Any = {} if scenario.control is None else scenario.control.settings
    t1 = settings.get("acceleration_time", 0.0)
    if not t1:
        raise InputError("this measure requires the controller setting acceleration_time (t_1 of sec. 4.1).")
    return float(t1)
