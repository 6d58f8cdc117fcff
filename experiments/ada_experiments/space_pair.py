# SPDX-License-Identifier: Apache-2.0
"""Two free-flying space robots in one model, and the contact between them (Tarao et al., secs. 4.1, 4.2).

Both are floating trees of one world: each stage of an integrator evaluates both in the same state and applies opposite
forces at one point, so that the method conserves momentum. Two simulations in lock step would exchange the forces with
one step delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, Plane
from ada_dynamics.contact.geometry import Material
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit import merge, with_gravity
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.spatial.vector import Scalar
from ada_experiments.motion_simulation.free_robot import JointHold

WORLD, FREE, BASE = "world", "free", "base"
FIRST, SECOND = "one_", "two_"  # name prefixes of robots 1 and 2
ARM = ("joint_1", "joint_2", "joint_3", "joint_4")
LAST, LENGTH = "link_4", 1.0  # [m]
TOUCH = "touch"
HALF = 0.5  # [m], from the centre of mass of the base to its side (|r2| of link 0, table 1)
WEIGHTLESS = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RobotPairModel:
    """Both robots as one model, and their initial state."""

    model: Model
    q: Array
    v: Array
    approach: float  # [m/s]

    def columns(self, robot: str) -> Array:
        """Velocity columns of a robot's arm; FIRST or SECOND."""
        return np.array([self.model.v_index(robot + joint).start for joint in ARM])

    def contact(self, stiffness: float) -> Contact:
        """Tip of robot 1 against a side of robot 2's base: a spring without damping and friction (sec. 4.2)."""
        spring = Material(stiffness=stiffness, dissipation=0.0, friction=0.0)
        tip = ContactPoint("tip", FIRST + LAST, (LENGTH, 0.0, 0.0))
        side = Plane(SECOND + BASE, xyz=(-HALF, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
        return Contact(pairs=[ContactPair(TOUCH, tip, side)], material=spring)

    def holding(self, hold: JointHold) -> CompiledController:
        """Controller that holds the arm of robot 1, as part of the equations; the joints of robot 2 are free."""
        at = [(self.model.q_index(FIRST + joint).start, self.model.v_index(FIRST + joint).start) for joint in ARM]
        home = [float(self.q[i]) for i, _ in at]

        def law(t: Scalar, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
            efforts: list[Scalar] = [0.0] * self.model.nv
            for (i, j), angle in zip(at, home, strict=True):
                efforts[j] = hold.stiffness * (angle - q[i]) - hold.damping * v[j]
            return efforts

        return CompiledController(law)

    def hold_energy(self, hold: JointHold, t: Array, q: Array, v: Array) -> Array:
        """Energy stored in the springs of `hold` and dissipated in its dampers, over time [J]."""
        angles = np.array([self.model.q_index(FIRST + joint).start for joint in ARM])
        stored = 0.5 * hold.stiffness * np.sum((q[:, angles] - self.q[angles]) ** 2, axis=1)
        power = hold.damping * np.sum(v[:, self.columns(FIRST)] ** 2, axis=1)
        lost = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
        return np.asarray(stored + lost, dtype=np.float64)

    def effective_mass(self, dynamics: Dynamics) -> float:
        """m_e of the contact at the start, 1/m_e = J M⁻¹ Jᵀ, with the arm of robot 1 locked [kg]."""
        moving = np.setdiff1d(np.arange(self.model.nv), self.columns(FIRST))
        M = dynamics.mass_matrix(self.q)[np.ix_(moving, moving)]
        J = self.gap_rate(dynamics, self.q)[moving]
        return 1.0 / float(J @ np.linalg.solve(M, J))

    def gap_rate(self, dynamics: Dynamics, q: Array) -> Array:
        """Jacobian of the gap (nv,): the normal of the side times the velocity of the tip relative to the side."""
        tip, side = dynamics.pose(FIRST + LAST, q), dynamics.pose(SECOND + BASE, q)
        at = tip[:3, 3] + tip[:3, 0] * LENGTH
        rows = np.zeros(self.model.nv)
        for sign, link, pose in ((1.0, FIRST + LAST, tip), (-1.0, SECOND + BASE, side)):
            J = dynamics.jacobian(link, q)
            lever = np.cross(J[3:].T, at - pose[:3, 3])
            rows += sign * (J[:3].T + lever) @ -side[:3, 0]
        return rows


def pair_of(
    one: Model, two: Model, angles_one: Array, angles_two: Array, approach: float, gap: float, offset: float = 0.0
) -> RobotPairModel:
    """Robot 1 at rest, and robot 2 in front of its tip, approaching along -x with free joints.

    Args:
        one: robot 1.
        two: robot 2.
        angles_one: joint angles of robot 1 [rad].
        angles_two: joint angles of robot 2 [rad].
        approach: speed of robot 2 [m/s].
        gap: between the tip and the base of robot 2 [m].
        offset: of the tip from the middle of the side along y [m].
    """
    world = Builder("two_space_robots").link(WORLD).build(gravity=WEIGHTLESS)
    model = merge(world, with_gravity(one, WEIGHTLESS), WORLD, joint=FREE, kind="floating", prefix=FIRST)
    model = merge(model, with_gravity(two, WEIGHTLESS), WORLD, joint=FREE, kind="floating", prefix=SECOND)
    parts = Parts.of(model)
    parts.name = "two_space_robots"
    model = parts.build()
    q, v = model.neutral(), np.zeros(model.nv)
    for robot, angles in ((FIRST, angles_one), (SECOND, angles_two)):
        for joint, angle in zip(ARM, angles, strict=True):
            q[model.q_index(robot + joint)] = angle
    tip = Dynamics(model).pose(FIRST + LAST, q) @ np.array([LENGTH, 0.0, 0.0, 1.0])
    q[model.q_index(SECOND + FREE)][:3] = np.add(tip[:3], (gap + HALF, -offset, 0.0))
    v[model.v_index(SECOND + FREE)][0] = -approach
    return RobotPairModel(model, q, v, approach)
