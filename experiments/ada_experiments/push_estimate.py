# SPDX-License-Identifier: Apache-2.0
"""Push force by eq. 6.5 of Takahashi 2012, from the centre of mass and the centre of pressure.

    f = (m g / l) (r_c - r_p),  l: height of the pushed point

The moment balance about the ground below the ankle with the angular momentum H is m g (r_c - r_p) = Ḣ - f l. Eq. 6.5
thus gives the push with the opposite sign plus a term of the motion of the body.
"""

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
