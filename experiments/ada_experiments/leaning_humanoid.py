# SPDX-License-Identifier: Apache-2.0
"""HOAP-2 with a hand on a wall, in unilateral contact, controlled as a closed chain over ground and wall."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.in_simulation import InSimulation
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, Material, Plane
from ada_dynamics.model.edit.joints import reduce
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load, with_loops
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.profiles import half_sine
from ada_dynamics.spatial.orientation import to_rpy

STEP = 1e-3  # [s], of the simulation and the control
PUSH_LASTS = 0.1  # [s]
SLIP_SPEED = 1e-3  # [m/s] of regularised friction: at the default of 20 mm/s feet and hand slide apart by 3 mm/s
HAND = "left_hand"
TIP = (0.0, 0.0, -0.035)  # of the hand in its link frame [m]
SOLES = ("right_sole", "left_sole")
HIPS = tuple(f"{side}_hip_{axis}" for side in ("right", "left") for axis in ("yaw", "roll", "pitch"))
ANKLES = tuple(f"{side}_ankle_{axis}" for side in ("right", "left") for axis in ("pitch", "roll"))
ARM = {"left_shoulder_pitch": -1.0, "left_shoulder_roll": 0.0, "left_shoulder_yaw": 0.0, "left_elbow": -0.9}  # [rad]
# Rotation to world axes: z is the normal of the wall, which is perpendicular to x in front of the robot.
OUT_OF_THE_WALL = (0.0, -np.pi / 2.0, 0.0)


class InitialPose(NamedTuple):
    """Initial configuration of the robot with 14 actuated joints: hips, ankles and left arm."""

    model: Model
    q: Array


class HumanoidChain(NamedTuple):
    """Environment of the robot, and the model used by the control.

    Attributes:
        name: name for tables.
        has_wall: whether there is a wall in front of the hand.
        knows_wall: whether the virtual closed chain includes the wall in addition to the ground.
    """

    name: str
    has_wall: bool
    knows_wall: bool


CHAINS = {
    "free": HumanoidChain("no wall", False, False),
    "ground": HumanoidChain("wall, chain over the ground alone", True, False),
    "wall": HumanoidChain("wall, chain over ground and wall", True, True),
}
# High loop gains, since contacts creep; sec. 7.1 has no such feedback.
GAINS = {
    "joint_stiffness": [30.0],  # [N m/rad]
    "joint_damping": [3.0],  # [N m s/rad]
    "loop_stiffness": 1e4,  # [1/s²]
    "loop_damping": 200.0,  # [1/s]
    "contacts": "pressed",
    "hold": STEP,
}


@cache
def leaning(lean: float) -> InitialPose:
    """Configuration with flat feet and the body leaning forward about the ankles.

    Args:
        lean: ankle angle [rad].
    """
    whole, upright = load("hoap2"), start_of("hoap2")
    assert upright is not None
    model = reduce(whole, ["root_joint", *HIPS, *ANKLES, *ARM])
    q = model.neutral()
    q[:7] = upright[:7]
    wanted = ARM | {f"{side}_ankle_pitch": -lean for side in ("right", "left")}
    feet = with_loops(model, [_on(link, link_poses(model, q)[link]) for link in SOLES])
    for name, angle in wanted.items():
        q[model.q_index(name)] = angle
    held = [*wanted, *(name for name in HIPS if not name.endswith("roll"))]
    return InitialPose(model, np.array(closed_configuration(feet, q, hold=held)))


def chain_over(stand: InitialPose, wall: bool) -> Model:
    """Robot with loops from the ground to both soles, and from the wall to the tip of the hand."""
    poses = link_poses(*stand)
    loops = [_on(link, poses[link]) for link in SOLES]
    if wall:
        place = {"link": "world", "xyz": tip_of(stand).tolist(), "rpy": list(OUT_OF_THE_WALL)}
        loops.append({"name": "hand", "type": "spherical", "parent": place, "child": {"link": HAND, "xyz": list(TIP)}})
    return with_loops(stand.model, loops)


def _on(link: str, pose: tuple[Array, Array]) -> dict[str, Any]:
    place = {"link": "world", "xyz": pose[1].tolist(), "rpy": list(to_rpy(pose[0]))}
    return {"name": link, "type": "fixed", "parent": place, "child": {"link": link}}


def tip_of(stand: InitialPose) -> Array:
    """Contact point of the hand on the wall [m]."""
    R, p = link_poses(*stand)[HAND]
    return np.asarray(p + R @ TIP, dtype=np.float64)


@cache
def controller_of(lean: float, knows_wall: bool) -> VirtualClosedChain:
    """Virtual closed chain controller for a configuration."""
    stand = leaning(lean)
    return VirtualClosedChain(stand.model, GAINS, virtual=chain_over(stand, knows_wall))


def contact_of(stand: InitialPose, has_wall: bool, stiffness: float) -> Contact:
    """Contact of eight sole corners with the ground, and of the hand tip with the wall.

    Args:
        stand: robot and configuration.
        has_wall: whether there is a wall.
        stiffness: stiffness of each contact point [N/m].
    """
    usual = Material.for_weight(stand.model.total_mass, points=8, step=STEP)
    material = replace(usual, stiffness=stiffness, slip_speed=SLIP_SPEED)
    feet = Contact.of_soles(stand.model, ["right_foot", "left_foot"], q=stand.q, material=material)
    if not has_wall:
        return feet
    wall = Plane("world", (tip_of(stand)[0], 0.0, 0.0), (-1.0, 0.0, 0.0))
    return replace(feet, pairs=[ContactPair("hand", ContactPoint("tip", HAND, TIP), wall)])


def pushed(
    lean: float, chain: HumanoidChain, link: str, impulse: float, stiffness: float, start: float = 0.3
) -> Simulation:
    """Simulation of the robot pushed along x.

    Args:
        lean: ankle angle [rad].
        chain: environment and control model.
        link: link pushed at its origin.
        impulse: impulse of half a sine wave of 0.1 s, positive from behind [N s].
        stiffness: stiffness of each contact point [N/m].
        start: start of the push [s].
    """
    stand = leaning(lean)
    wrench = [impulse * np.pi / (2.0 * PUSH_LASTS), 0.0, 0.0, 0.0, 0.0, 0.0]
    push = half_sine(link, wrench, start, PUSH_LASTS, frame="world")
    loop = InSimulation(controller_of(lean, chain.knows_wall), period=STEP)
    contact = contact_of(stand, chain.has_wall, stiffness)
    options: dict[str, Any] = {"step": STEP, "integrator": "semi_implicit", "log_every": 4}
    return loop.simulation(stand.model, stand.q, contact=contact, external=[push] if impulse else [], **options)
