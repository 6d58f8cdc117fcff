# SPDX-License-Identifier: Apache-2.0
"""Measures of a four-link robot that moves like a closed chain (Takahashi 2012, chapter 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_tools.scenario.registry import measure

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log
    from ada_tools.scenario.scenario import Scenario


TIP = "tip"
SAME_WAY = np.array([1.0, -1.0, 1.0, -1.0])  # rotation directions of the joints of a parallel four-bar (fig. 7.7)


@measure("parallel_relation", unit="rad")
def parallel_relation(scenario: Scenario, log: Log) -> float:
    """Largest deviation of the angle changes from θ1 = -θ2 = θ3 = -θ4, the relation of a parallel four-bar."""
    turned = (log.q - log.q[0]) * SAME_WAY
    return _largest(turned - turned[:, :1])


@measure("tip_moved", unit="m")
def tip_moved(scenario: Scenario, log: Log) -> float:
    """Largest distance of the tip from its start."""
    at = _tip(log)
    return float(np.max(np.linalg.norm(at - at[0], axis=1)))


@measure("tip_height_change", unit="m")
def tip_height_change(scenario: Scenario, log: Log) -> float:
    """Largest change of the tip height."""
    return _largest(_tip(log)[:, 2] - _tip(log)[0, 2])


@measure("tip_height_left", unit="m")
def tip_height_left(scenario: Scenario, log: Log) -> float:
    """Final distance of the tip from the height of the guide."""
    return abs(float(_tip(log)[-1, 2]) + 0.5)


@measure("rod_bend", unit="rad")
def rod_bend(scenario: Scenario, log: Log) -> float:
    """Largest change of θ3, the angle between links 2 and 3, which should form a rigid rod."""
    return _largest(log.q[:, 2] - log.q[0, 2])


@measure("joint_1_error_left", unit="rad")
def joint_1_error_left(scenario: Scenario, log: Log) -> float:
    """Final error of θ1."""
    return abs(float(log.signals["joint_error"][-1, 0]))


@measure("tip_x_error_left", unit="m")
def tip_x_error_left(scenario: Scenario, log: Log) -> float:
    """Final x error of the tip."""
    return abs(float(_tip(log)[-1, 0]) - _wanted_x(scenario))


@measure("asked_travel", unit="m")
def asked_travel(scenario: Scenario, log: Log) -> float:
    """Desired distance of the tip along -x, from start to target."""
    return float(_tip(log)[0, 0]) - _wanted_x(scenario)


@measure("tip_effort_share")
def tip_effort_share(scenario: Scenario, log: Log) -> float:
    """Largest torque of the last joint divided by the largest joint torque."""
    return _largest(log.signals["effort"][:, -1]) / _largest(log.signals["effort"])


@measure("joint_2_left", unit="deg")
def joint_2_left(scenario: Scenario, log: Log) -> float:
    """Final |θ2|; zero at the dead point of the slider."""
    return abs(float(np.degrees(log.q[-1, 1])))


@measure("joint_2_past_zero", unit="deg")
def joint_2_past_zero(scenario: Scenario, log: Log) -> float:
    """Largest excursion of θ2 below zero, the dead point of the slider."""
    return max(0.0, float(-np.degrees(log.q[:, 1].min())))


@measure("tip_comes_back", unit="m")
def tip_comes_back(scenario: Scenario, log: Log) -> float:
    """Largest return of the slider from its farthest position."""
    x = _tip(log)[:, 0]
    out = int(np.argmax(x))
    return float(x[out] - x[out:].min())


@measure("speed_left", unit="rad/s")
def speed_left(scenario: Scenario, log: Log) -> float:
    """Largest final joint velocity."""
    return _largest(log.v[-1])


@measure("peak_effort", unit="N m")
def peak_effort(scenario: Scenario, log: Log) -> float:
    """Largest joint torque."""
    return _largest(log.signals["effort"])


@measure("effort_by_weight")
def effort_by_weight(scenario: Scenario, log: Log) -> float:
    """Largest joint torque divided by the largest gravity torque of the motion."""
    return _largest(log.signals["effort"]) / _largest(np.asarray(dynamics_of(log).gravity(log.q)))


@measure("effort_step", unit="N m")
def effort_step(scenario: Scenario, log: Log) -> float:
    """Largest change of a torque between two commands."""
    return _largest(np.diff(log.signals["effort"], axis=0))


@measure("acceleration_step", unit="rad/s²")
def acceleration_step(scenario: Scenario, log: Log) -> float:
    """Largest change of a desired acceleration between two commands."""
    return _largest(np.diff(log.signals["acceleration"], axis=0))


@measure("near_singular", unit="ms")
def near_singular(scenario: Scenario, log: Log) -> float:
    """Time spent near singular poses, where the controller solves its equations numerically."""
    period = float(log.signal_times[1] - log.signal_times[0])
    return float(np.sum(log.signals["singular"])) * period * 1e3


def _wanted_x(scenario: Scenario) -> float:
    if scenario.control is None:
        raise InputError(f"{scenario.file}: the position error requires a controller with a reference.")
    return scenario.control.reference.part("pose", None).vector("position", ("m",) * 3)[0]


def _tip(log: Log) -> Array:
    return np.asarray(dynamics_of(log).pose(TIP, log.q))[:, :3, 3]


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
