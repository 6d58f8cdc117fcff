# SPDX-License-Identifier: Apache-2.0
"""T7.7: benefit of a hand on a wall for the standing HOAP-2, with the control of Takahashi 2012, chapter 7.

The document proposes this as future work (sec. 8.2, 4 and 5): floating bases, three dimensions, unilateral contacts.
The robot is controlled as a closed chain over ground and wall.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from ada_controllers import StateRefused
from ada_controllers.in_simulation import InSimulation
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, Material, Plane
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit.joints import reduce
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load, with_loops
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.simulation.control import ControllerError
from ada_dynamics.simulation.forces import half_sine
from ada_dynamics.spatial.orientation import to_rpy
from ada_experiments.push_sweep import SIDES, largest_survived, search
from ada_experiments.pushed_humanoid import FALLEN
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

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
    """Environment of the robot, and the model used by the control."""

    name: str  # name for tables
    has_wall: bool  # whether there is a wall in front of the hand
    knows_wall: bool  # whether the virtual closed chain includes the wall in addition to the ground


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
    feet = with_loops(model, [fixed_to_world(link, link_poses(model, q)[link]) for link in SOLES])
    for name, angle in wanted.items():
        q[model.q_index(name)] = angle
    held = [*wanted, *(name for name in HIPS if not name.endswith("roll"))]
    return InitialPose(model, np.array(closed_configuration(feet, q, hold=held)))


def chain_over(stand: InitialPose, wall: bool) -> Model:
    """Robot with loops from the ground to both soles, and from the wall to the tip of the hand."""
    poses = link_poses(*stand)
    loops = [fixed_to_world(link, poses[link]) for link in SOLES]
    if wall:
        place = {"link": "world", "xyz": tip_of(stand).tolist(), "rpy": list(OUT_OF_THE_WALL)}
        loops.append({"name": "hand", "type": "spherical", "parent": place, "child": {"link": HAND, "xyz": list(TIP)}})
    return with_loops(stand.model, loops)


def fixed_to_world(link: str, pose: tuple[Array, Array]) -> dict[str, Any]:
    """Loop that fixes a link to the world in a pose."""
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


FLOWN_APART = (ControllerError, StateRefused)  # unphysical states of a fallen robot
_PART = 0.25  # [s] interval of simulation checks

Bearable: TypeAlias = dict[tuple[str, str, str, str], float]  # by configuration, chain, side and point [N s]


class WallSettings(NamedTuple):
    """Settings of the scenario."""

    upright: Annotated[float, "rad"]  # lean of the ankles
    leaning: Annotated[float, "rad"]
    points: tuple[str, ...]
    largest: Annotated[float, "N s"]  # largest tested impulse
    spacing: Annotated[float, "N s"]  # of the grid
    resolution: Annotated[float, "N s"]
    horizon: Annotated[float, "s"]
    stiffness: Annotated[float, "N/m"]  # of each contact point
    shown: Annotated[float, "N s"]  # impulse after which the robot is back where it was
    whole: bool = True  # also cases that neither claims nor statements are about

    @property
    def poses(self) -> dict[str, float]:
        """Ankle angles by the name of the pose [rad]."""
        return {"upright": self.upright, "leaning": self.leaning}


def stays_up(chosen: WallSettings, lean: float, chain: HumanoidChain, point: str, impulse: float) -> bool:
    """Return True if the centre of mass does not drop within the horizon."""
    simulation = pushed(lean, chain, point, impulse, chosen.stiffness)
    stand = leaning(lean)
    floor = float(Dynamics(stand.model).com(stand.q)[2]) - FALLEN
    for _ in range(round(chosen.horizon / _PART)):
        try:
            log = simulation.run(_PART)
        except FLOWN_APART:
            return False
        if float(np.asarray(log.com)[:, 2].min()) < floor:
            return False
    return True


@experiment("hand_on_wall")
def hand_on_wall(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Push the robot in two configurations, with and without a wall, with the chain over the ground and over both."""
    chosen = read_settings(scenario, WallSettings)
    found: Bearable = {}
    keys = [
        (pose, key, side, point)
        for pose in chosen.poses
        for key in CHAINS
        for side in SIDES
        for point in chosen.points
        if chosen.whole or key != "ground" or (pose, side, point) == ("leaning", "from behind", "body")
    ]
    for i, (pose, key, side, point) in enumerate(keys):
        progress(i / len(keys), f"{pose}, {CHAINS[key].name}, {point}, {side}")
        lean = chosen.poses[pose]
        found[pose, key, side, point] = (
            bearable(chosen, lean, CHAINS[key], point, SIDES[side])
            if stays_up(chosen, lean, CHAINS[key], point, 0.0)
            else 0.0
        )
    leant, free = _shown(chosen, "leaning", "wall", 0.0), _shown(chosen, "upright", "free", chosen.shown)
    figures = []
    if leant is not None:
        figures.append(output / "t7_7_snapshots.png")
        plot_snapshots(leant, figures[-1], count=4, columns=4, plane="xz", title="Leaning on a wall, from the side")
    return Outcome([], figures, [_table(found, chosen)], quantities=_quantities(found, leant, free, chosen))


def bearable(chosen: WallSettings, lean: float, chain: HumanoidChain, point: str, side: float) -> float:
    """Largest survived impulse such that all smaller tested ones are survived [N s]."""
    grid = chosen.largest, chosen.spacing, chosen.resolution
    return largest_survived(search(lambda impulse: stays_up(chosen, lean, chain, point, side * impulse), *grid))


def _shown(chosen: WallSettings, pose: str, key: str, impulse: float) -> Log | None:
    """Motion after a push from behind at the waist; None if the simulation diverges."""
    simulation = pushed(chosen.poses[pose], CHAINS[key], "body", impulse, chosen.stiffness)
    try:
        return simulation.run(chosen.horizon)
    except FLOWN_APART:
        return None


# --- what is claimed --------------------------------------------------------------------------------------------------
def _ratios(found: Bearable, pose: str, side: str, points: tuple[str, ...]) -> list[float]:
    return [found[pose, "wall", side, point] / found[pose, "free", side, point] for point in points]


def _quantities(found: Bearable, leant: Log | None, free: Log | None, chosen: WallSettings) -> dict[str, Quantity]:
    behind, front = SIDES
    waist, side_of_the_hand = _ratios(found, "upright", behind, ("body", "left_shoulder"))
    pushes = [(side, point) for side in SIDES for point in chosen.points]
    leaning_on, leaning_by = (found["leaning", key, behind, "body"] for key in ("wall", "ground"))
    return {
        "with_wall_by_without": Quantity(waist),
        "hand_side_ratio": Quantity(side_of_the_hand),
        "front_ratio": Quantity(max(_ratios(found, "upright", front, chosen.points))),
        "leaning_without_wall": Quantity(max(found["leaning", "free", side, point] for side, point in pushes), "N s"),
        "leaning_on_wall": Quantity(min(found["leaning", "wall", side, point] for side, point in pushes), "N s"),
        "leaning_motion": Quantity(_moved(leant), "m"),
        "over_the_wall_less_ground_alone": Quantity(leaning_on - leaning_by, "N s"),
        "back_where_it_was": Quantity(_moved(free, at_the_end=True), "m"),
    }


def _moved(log: Log | None, at_the_end: bool = False) -> float:
    """Displacement of the centre of mass, maximum or final [m]."""
    if log is None:
        return float("inf")
    way = np.linalg.norm(np.asarray(log.com) - np.asarray(log.com)[0], axis=1)
    return float(way[-1] if at_the_end else way.max())


def _table(found: Bearable, chosen: WallSettings) -> Table:
    columns = ("pose", "", *(f"{point.replace('_', ' ')}, {side}" for side in SIDES for point in chosen.points))
    pushes = [(side, point) for side in SIDES for point in chosen.points]
    rows = [
        (pose, chain.name, *(f"{found.get((pose, key, *push), np.nan):.2f}" for push in pushes))
        for pose in chosen.poses
        for key, chain in CHAINS.items()
    ]
    return Table("Largest survived impulse [N s]", columns, rows, f"to {chosen.resolution:g} N s")
