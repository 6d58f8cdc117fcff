# SPDX-License-Identifier: Apache-2.0
"""The force of a push as eq. 6.5 of Takahashi 2012 takes it from the centre of mass and the centre of pressure.

    f = (m g / l) (r_c - r_p),  l: height of the place that is pushed

Moments about the ground below the ankle say what that is: with H the angular momentum about it, and weight carried,
m g (r_c - r_p) = Ḣ - f l. So eq. 6.5 has the push with the other sign, and what the body's own motion adds to it.
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

ANKLE = "joint_1"  # at the ground, on a foot that stands
TURNED = 1  # about y, forward


@measure("estimated_push")
def estimated_push(scenario: Scenario, log: Log) -> float:
    """The force by eq. 6.5 when the push is at its peak, by that peak."""
    force = _push(scenario, log)[0]
    peak = int(np.argmax(np.abs(force)))
    return float(_estimate(scenario, log)[peak] / force[peak])


@measure("estimated_steady_push")
def estimated_steady_push(scenario: Scenario, log: Log) -> float:
    """The force by eq. 6.5 in the end, by the force of a push that is still there."""
    force = _push(scenario, log)[0]
    if not force[-1]:
        raise InputError(f"{scenario.file}: nothing pushes in the end; let the push be constant.")
    return float(_estimate(scenario, log)[-1] / force[-1])


@measure("estimate_unexplained")
def estimate_unexplained(scenario: Scenario, log: Log) -> float:
    """Largest difference of eq. 6.5 from (Ḣ - f l)/l with what the ground carries beyond the weight, by the push."""
    force, heights = _push(scenario, log)
    beyond = _ground(log)[:, 2] - _weight(log)  # N r_p is the moment; of it eq. 6.5 takes m g r_p
    wanted = (_momentum_rate(log)[:, TURNED] - force * heights + beyond * _pressure(log)) / heights[0]
    return float(np.max(np.abs(_estimate(scenario, log) - wanted)) / np.max(np.abs(force)))


def _estimate(scenario: Scenario, log: Log) -> Array:
    """Eq. 6.5."""
    _, heights = _push(scenario, log)
    return np.asarray(_weight(log) / heights[0] * (np.asarray(log.com)[:, 0] - _pressure(log)))


def _push(scenario: Scenario, log: Log) -> tuple[Array, Array]:
    """Force of the scenario's one disturbance along x, and how high it acts [N, m]."""
    if len(scenario.disturbances) != 1:
        raise InputError(f"{scenario.file}: eq. 6.5 is about one push; there are {len(scenario.disturbances)}.")
    one = scenario.disturbances[0]
    poses = np.asarray(dynamics_of(log).pose(one.link, log.q))
    force = np.einsum("nij,nj->ni", poses[:, :3, :3], log.external[one.link][:, :3])
    places = poses @ np.array([*one.point, 1.0])
    return force[:, 0], places[:, 2]


def _momentum_rate(log: Log) -> Array:
    """Rate of the angular momentum about the origin, link by link from how they move, (N, 3)."""
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
    """Force and moment of the ground on the robot at the ankle, in the axes of the world, (N, 6)."""
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
