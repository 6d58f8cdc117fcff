# SPDX-License-Identifier: Apache-2.0
"""Simulation of a pushed HOAP-2 with fixed or free feet, and measures of its balance (Takahashi 2012, sec. 6.3).

Push force by eq. 6.5 of Takahashi 2012, from the centre of mass and the centre of pressure.

    f = (m g / l) (r_c - r_p),  l: height of the pushed point

The moment balance about the ground below the ankle with the angular momentum H is m g (r_c - r_p) = Ḣ - f l. Eq. 6.5
thus gives the push with the opposite sign plus a term of the motion of the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ada_controllers import make
from ada_controllers.in_simulation import InSimulation, by_joint_names
from ada_dynamics.analysis.balance import fixed_feet_of, ground_wrench, margins, soles_of, zmp_of_motion
from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, Material
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.model.tree import WORLD
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.robots.mechanisms.parts import turned_y
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.simulation.forces import WrenchProfile, half_sine
from ada_tools.scenario.registry import measure
from ada_tools.scenario.scenario import Scenario

TRUNK = "body"
REACTION = 0.6  # [s] from the start of a push: interval in which the angular momenta are compared
FALLEN = 0.05  # [m] drop of the centre of mass of a fallen robot of 0.5 m height


@measure("momentum_phase")
def momentum_phase(scenario: Scenario, log: Log) -> float:
    """Correlation of the angular momenta about y and z after a push: 1 in phase, -1 in opposite phase."""
    if not scenario.disturbances:
        raise InputError(f"scenario {scenario.name!r} has no disturbance.")
    return phase(log, max(0.0, min(one.start for one in scenario.disturbances)))  # 0 if it acts from the beginning


@measure("zmp_margin", unit="m")
def zmp_margin(scenario: Scenario, log: Log) -> float:
    """Smallest distance of the zero-moment point from the border of the soles; negative outside."""
    return float(np.min(fixed_feet_of(log).margin))


@measure("zmp_margin_of_motion", unit="m")
def zmp_margin_of_motion(scenario: Scenario, log: Log) -> float:
    """As zmp_margin, from the rate of momentum; also valid with joint friction, where foot wrenches are unknown."""
    dynamics, model = dynamics_of(log), log.model
    zmp = zmp_of_motion(dynamics, log.q, log.v, log.a, external=log.external)[:, :2]
    _, ground = ground_wrench(dynamics, log.q, log.v, log.a, log.external)
    places, frames = link_poses(model, log.q[0]), model.tree.frames
    fixed = [(one, *places[name]) for name, one in model.links.items() if frames[name].body == WORLD]
    # Fixed links, here one foot, do not move, and press on the ground by their weight.
    mass = sum(link.mass for link, _, _ in fixed)
    centre = np.sum([link.mass * (place + R @ link.com) for link, R, place in fixed], axis=0) / mass
    weight = mass * -model.gravity[2]
    share = (weight / (weight + ground[:, 2]))[:, None]
    zmp += share * (centre[:2] - zmp)
    found = margins(zmp, soles_of(model, log.q[0]))
    return float(np.min(np.where(np.isnan(found), -np.inf, found)))


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


STANDING, REACHING, FREE = "hoap2_standing", "hoap2_reaching", "hoap2_10dof"
STEP = 1e-3  # [s]


@dataclass(frozen=True)
class Push:
    """A push: half a sine wave along the world x axis."""

    name: str  # for tables
    robot: str  # catalogue name of the robot, on fixed feet
    link: str  # pushed link, at its origin
    force: float  # peak [N]
    start: float = 1.0  # [s]
    duration: float = 0.1  # [s]

    @property
    def profile(self) -> WrenchProfile:
        """The force over time."""
        wrench = [self.force, 0.0, 0.0, 0.0, 0.0, 0.0]
        return half_sine(self.link, wrench, self.start, self.duration, frame="world")

    @property
    def impulse(self) -> float:
        """Impulse of the push [N s]."""
        return 2.0 / np.pi * self.force * self.duration


AT_THE_HAND = Push("-7 N at the left hand", REACHING, "left_hand", -7.0)  # T6.1
AT_THE_SHOULDER = Push("10 N at the right shoulder, from behind", STANDING, "right_shoulder", 10.0)  # T6.2


@cache
def robot(name: str) -> Model:
    """Load a robot of the catalogue."""
    return load(name)


def on_fixed_feet(push: Push, settings: Mapping[str, Any] | None, duration: float) -> Log:
    """Simulate the robot with its feet fixed to the ground.

    Args:
        push: on the robot.
        settings: of the controller `balance`; None: motors off.
        duration: [s].
    """
    model = robot(push.robot)
    q = np.zeros(model.nq)
    options: dict[str, Any] = {"step": STEP, "external": [push.profile]}
    if settings is None:
        return Simulation(model, q, **options).run(duration)
    loop = InSimulation(make("balance", model, settings), period=STEP)
    return loop.simulation(model, q, **options).run(duration)


def on_free_feet(
    push: Push, settings: Mapping[str, Any], duration: float, *, stiffness: float, step: float = STEP
) -> Log:
    """Simulate the robot with contacts between feet and ground; the controller assumes fixed feet.

    Args:
        push: on the robot.
        settings: of the controller.
        duration: [s].
        stiffness: of each of the eight sole corners [N/m].
        step: of simulation and control [s].
    """
    known = robot(push.robot)
    model = free_robot(push.robot == REACHING)
    loop = InSimulation(make("balance", known, settings), period=step, state=by_joint_names(known, model))
    material = replace(Material.for_weight(model.total_mass, points=8, step=step), stiffness=stiffness)
    contact = Contact.of_soles(model, ["right_foot", "left_foot"], material=material)
    start = start_of(FREE, model)
    simulation = loop.simulation(
        model, start, step=step, integrator="semi_implicit", contact=contact, external=[push.profile]
    )
    return simulation.run(duration)


@cache
def free_robot(is_reaching: bool) -> Model:
    """The robot with floating base and rotors; when reaching, with its left arm raised and bent."""
    parts = Parts.of(load(FREE))
    if is_reaching:
        for name in ("left_shoulder_pitch", "left_elbow"):
            parts.joints[name] = replace(parts.joints[name], rotation=turned_y(-np.pi / 3.0))
    return parts.build()


def survives(log: Log) -> bool:
    """True if a robot on fixed feet does not fall and its zero-moment point is always in the soles."""
    return not np.isfinite(time_of_fall(log)) and float(np.min(fixed_feet_of(log).margin)) >= 0.0


def heights_of_corners(log: Log) -> Array:
    """Height of the highest corner of each sole over time, (N, 2) [m]."""
    found = []
    for foot in ("right_foot", "left_foot"):
        pose = log.dynamics.pose(foot, log.q)
        corners = np.array([place[1] for place in log.contact_frames.values() if place[0] == foot])
        found.append(np.max(pose[:, 2, 3, None] + pose[:, 2, :3] @ corners.T, axis=1))
    return np.array(found).T
