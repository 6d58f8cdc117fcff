# SPDX-License-Identifier: Apache-2.0
"""Measures of the balance of a pushed humanoid (Takahashi 2012, sec. 6.3).

Push force by eq. 6.5 of Takahashi 2012, from the centre of mass and the centre of pressure.

    f = (m g / l) (r_c - r_p),  l: height of the pushed point

The moment balance about the ground below the ankle with the angular momentum H is m g (r_c - r_p) = Ḣ - f l. Eq. 6.5
thus gives the push with the opposite sign plus a term of the motion of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.analysis.balance import fixed_feet_of
from ada_dynamics.analysis.motion import dynamics_of
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


ANKLE = "joint_1"  # at the ground, on the standing foot
TURNED = 1  # index of the y axis


@measure("estimated_push")
def estimated_push(scenario: Scenario, log: Log) -> float:
    """Force by eq. 6.5 divided by the push force, at the peak of the push."""
    force = _push(scenario, log)[0]
    peak = int(np.argmax(np.abs(force)))
    return float(_estimate(scenario, log)[peak] / force[peak])


@measure("estimated_steady_push")
def estimated_steady_push(scenario: Scenario, log: Log) -> float:
    """Force by eq. 6.5 divided by the push force, at the end of a constant push."""
    force = _push(scenario, log)[0]
    if not force[-1]:
        raise InputError(f"{scenario.file}: no push at the end; use a constant push.")
    return float(_estimate(scenario, log)[-1] / force[-1])


@measure("estimate_unexplained")
def estimate_unexplained(scenario: Scenario, log: Log) -> float:
    """Largest difference of eq. 6.5 from (Ḣ - f l)/l with the actual ground force, divided by the push force."""
    force, heights = _push(scenario, log)
    beyond = _ground(log)[:, 2] - _weight(log)  # the moment is N r_p; eq. 6.5 uses m g r_p
    wanted = (_momentum_rate(log)[:, TURNED] - force * heights + beyond * _pressure(log)) / heights[0]
    return float(np.max(np.abs(_estimate(scenario, log) - wanted)) / np.max(np.abs(force)))


def _estimate(scenario: Scenario, log: Log) -> Array:
    """Force by eq. 6.5 [N]."""
    _, heights = _push(scenario, log)
    return np.asarray(_weight(log) / heights[0] * (np.asarray(log.com)[:, 0] - _pressure(log)))


def _push(scenario: Scenario, log: Log) -> tuple[Array, Array]:
    """Force of the single disturbance along x [N] and the height of its point [m]."""
    if len(scenario.disturbances) != 1:
        raise InputError(f"{scenario.file}: eq. 6.5 requires one disturbance, found {len(scenario.disturbances)}.")
    one = scenario.disturbances[0]
    poses = np.asarray(dynamics_of(log).pose(one.link, log.q))
    force = np.einsum("nij,nj->ni", poses[:, :3, :3], log.external[one.link][:, :3])
    places = poses @ np.array([*one.point, 1.0])
    return force[:, 0], places[:, 2]


def _momentum_rate(log: Log) -> Array:
    """Rate of the angular momentum about the origin, summed over the links, (N, 3)."""
    dynamics, total = dynamics_of(log), np.zeros((len(log.t), 3))
    for name, link in log.model.links.items():
        pose = np.asarray(dynamics.pose(name, log.q))
        rate, change = dynamics.velocity(name, log.q, log.v)[:, 3:], dynamics.acceleration(name, log.q, log.v, log.a)
        R, arm = pose[:, :3, :3], pose[:, :3, :3] @ link.com
        moved = change[:, :3] + np.cross(change[:, 3:], arm) + np.cross(rate, np.cross(rate, arm))
        inertia = R @ link.inertia @ np.swapaxes(R, 1, 2)
        turned, turning = (np.einsum("nij,nj->ni", inertia, x) for x in (change[:, 3:], rate))
        total += link.mass * np.cross(pose[:, :3, 3] + arm, moved) + turned + np.cross(rate, turning)
    return total


def _ground(log: Log) -> Array:
    """Force and moment of the ground on the robot at the ankle, in the world frame, (N, 6)."""
    wrench = log.wrenches[ANKLE]
    turned = np.asarray(dynamics_of(log).pose(log.model.joints[ANKLE].child, log.q))[:, :3, :3]
    parts = [np.einsum("nij,nj->ni", turned, wrench[:, rows]) for rows in (slice(3), slice(3, 6))]
    return np.concatenate(parts, axis=1)


def _pressure(log: Log) -> Array:
    """Centre of pressure along x [m]."""
    ground = _ground(log)
    return np.asarray(-ground[:, 3 + TURNED] / ground[:, 2])


def _weight(log: Log) -> float:
    return float(log.model.total_mass * -log.model.gravity[2])
