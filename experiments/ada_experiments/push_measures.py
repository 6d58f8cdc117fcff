# SPDX-License-Identifier: Apache-2.0
"""Measures of the balance of a pushed humanoid (Takahashi 2012, sec. 6.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.analysis.fixed_feet import fixed_feet_of
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_tools.scenario.registry import measure

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log
    from ada_tools.scenario.scenario import Scenario


TRUNK = "body"
REACTION = 0.6  # [s] from the start of a push: interval in which the angular momenta are compared
FALLEN = 0.05  # [m] drop of the centre of mass of a fallen robot of 0.5 m height


@measure("momentum_phase")
def momentum_phase(scenario: Scenario, log: Log) -> float:
    """Correlation of the angular momenta about y and z after a push: 1 in phase, -1 in opposite phase."""
    return phase(log, push_start(scenario))


@measure("zmp_margin", unit="m")
def zmp_margin(scenario: Scenario, log: Log) -> float:
    """Smallest distance of the zero-moment point from the border of the soles; negative outside."""
    return float(np.min(fixed_feet_of(log).margin))


@measure("trunk_yaw", unit="deg")
def trunk_yaw(scenario: Scenario, log: Log) -> float:
    """Largest yaw angle of the upper body."""
    return float(np.max(np.abs(trunk_angles(log)[:, 2])))


@measure("trunk_yaw_per_pitch")
def trunk_yaw_per_pitch(scenario: Scenario, log: Log) -> float:
    """Largest yaw angle of the upper body divided by its largest pitch angle."""
    angles = np.max(np.abs(trunk_angles(log)), axis=0)
    return float(angles[2] / angles[1])


@measure("trunk_at_the_end", unit="deg")
def trunk_at_the_end(scenario: Scenario, log: Log) -> float:
    """Largest angle of the upper body in the last second."""
    return swing_at_the_end(log)


@measure("centre_of_mass_drop", unit="m")
def centre_of_mass_drop(scenario: Scenario, log: Log) -> float:
    """Largest drop of the centre of mass."""
    return drop(log)


def push_start(scenario: Scenario) -> float:
    """Start of the first push of a scenario [s]; 0 if it acts from the beginning."""
    if not scenario.disturbances:
        raise InputError(f"scenario {scenario.name!r} has no disturbance.")
    return max(0.0, min(one.start for one in scenario.disturbances))


def phase(log: Log, start: float) -> float:
    """Correlation of the angular momenta about y and z about the centre of mass during `REACTION` after `start`."""
    reacting = (log.t >= start) & (log.t <= start + REACTION)
    about_y, about_z = np.asarray(log.momentum)[reacting, 4:].T
    return float(about_y @ about_z / np.sqrt((about_y @ about_y) * (about_z @ about_z)))


def trunk_angles(log: Log) -> Array:
    """Roll, pitch and yaw of the upper body, (N, 3) [deg]."""
    R = log.dynamics.pose(TRUNK, log.q)[:, :3, :3]
    roll, yaw = np.arctan2(R[:, 2, 1], R[:, 2, 2]), np.arctan2(R[:, 1, 0], R[:, 0, 0])
    pitch = np.arctan2(-R[:, 2, 0], np.hypot(R[:, 0, 0], R[:, 1, 0]))
    return np.asarray(np.degrees(np.column_stack([roll, pitch, yaw])), dtype=np.float64)


def swing_at_the_end(log: Log) -> float:
    """Largest angle of the upper body in the last second [deg]."""
    return float(np.max(np.abs(trunk_angles(log)[log.t >= log.t[-1] - 1.0])))


def drop(log: Log) -> float:
    """Largest drop of the centre of mass below its start [m]."""
    heights = np.asarray(log.com)[:, 2]
    return float(heights[0] - heights.min())


def time_of_fall(log: Log) -> float:
    """Time at which the centre of mass is `FALLEN` below its start [s]; NaN if it is not."""
    heights = np.asarray(log.com)[:, 2]
    down = np.flatnonzero(heights < heights[0] - FALLEN)
    return float(log.t[down[0]]) if len(down) else float("nan")
