# SPDX-License-Identifier: Apache-2.0
"""Simulation of a pushed HOAP-2 with fixed or free feet, with and without balance control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ada_controllers import make
from ada_controllers.in_simulation import InSimulation, by_joint_names
from ada_dynamics.analysis.balance import fixed_feet_of
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, Material
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.robots.mechanisms.parts import turned_y
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.simulation.profiles import WrenchProfile, half_sine
from ada_experiments.push_measures import time_of_fall

STANDING, REACHING, FREE = "hoap2_standing", "hoap2_reaching", "hoap2_10dof"
STEP = 1e-3  # [s]


@dataclass(frozen=True)
class Push:
    """A push: half a sine wave along the world x axis.

    Attributes:
        name: for tables.
        robot: catalogue name of the robot, on fixed feet.
        link: pushed link, at its origin.
        force: peak [N].
        start: [s].
        duration: [s].
    """

    name: str
    robot: str
    link: str
    force: float
    start: float = 1.0
    duration: float = 0.1

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


def heights_of_corners(log: Log, feet: Sequence[str] = ("right_foot", "left_foot")) -> Array:
    """Height of the highest corner of each sole over time, (N, feet) [m]."""
    found = []
    for foot in feet:
        corners = [
            pose[:, :3, 3] + pose[:, :3, :3] @ np.asarray(place[1])
            for place in log.contact_frames.values()
            if place[0] == foot
            for pose in (log.dynamics.pose(foot, log.q),)
        ]
        found.append(np.max([corner[:, 2] for corner in corners], axis=0))
    return np.array(found).T
