# SPDX-License-Identifier: Apache-2.0
"""The two simulated robots, and what the one sees of the other (Tarao et al., eqs. 8, 9 and sec. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import Algorithm
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_experiments.motion_simulation.frames import HALF, Motion, Mounting, opposite, seen_from
from ada_experiments.motion_simulation.free_robot import ALGORITHMS, FreeRobot, Hold, Place, with_masses
from ada_robot.settings import setting

FREE, BASE, LAST = "root_joint", "base", "link_4"
ARM = ("joint_1", "joint_2", "joint_3", "joint_4")
LINKS = ("link_1", "link_2", "link_3", "link_4")
BENT = (0.25 * np.pi, -0.5 * np.pi, 0.5 * np.pi, -0.25 * np.pi)


@dataclass(frozen=True)
class PairSettings:
    """The two robots at their start; the arms' angles and the gap are not in the document, and as in S1 here."""

    algorithm: str = setting("order_n", "of forward dynamics; the document's is order_n", choices=ALGORITHMS)
    step: float = setting(2e-3, "of the dynamics, and of the table's servo", unit="s", lower=1e-4, upper=0.02)
    approach: float = setting(0.01, "speed of robot 2 towards robot 1", unit="m/s", lower=0.0, upper=0.5)
    gap: float = setting(2e-3, "between the tip and the face at the start", unit="m", lower=0.0, upper=0.2)
    offset: float = setting(0.0, "of the tip from the middle of the face", unit="m", lower=-0.4, upper=0.4)
    arm_1: tuple[float, ...] = setting(BENT, "angles of robot 1's arm", unit="rad")
    arm_2: tuple[float, ...] = setting(BENT, "angles of robot 2's arm", unit="rad")
    link_mass_1: float = setting(10.0, "of each link of robot 1", unit="kg", lower=0.1, upper=1e4)
    link_mass_2: float = setting(1.0, "of each link of robot 2", unit="kg", lower=0.1, upper=1e4)
    base_mass_1: float = setting(50.0, "of robot 1's base", unit="kg", lower=0.1, upper=1e5)
    base_mass_2: float = setting(50.0, "of robot 2's base", unit="kg", lower=0.1, upper=1e5)
    hold_stiffness: float = setting(3e5, "that holds each joint of robot 1", unit="N m/rad", lower=0.0)
    hold_damping: float = setting(800.0, "that holds each joint of robot 1", unit="N m s/rad", lower=0.0)

    def __post_init__(self) -> None:
        """Check the arms."""
        for name in ("arm_1", "arm_2"):
            if len(getattr(self, name)) != len(ARM):
                text = f"{name} has {len(getattr(self, name))} angles; it needs {len(ARM)}, one for each joint."
                raise InputError(text, field=name, value=len(getattr(self, name)), allowed=len(ARM))


class RobotPair:
    """Robot 1 with held joints, and robot 2 with free ones that comes nearer.

    Attributes:
        settings: in use.
        mounting: where the real models are.
        one: robot 1.
        two: robot 2.
    """

    def __init__(self, settings: PairSettings, mounting: Mounting | None = None) -> None:
        """Both at their start."""
        self.settings, self.mounting = settings, mounting or Mounting()
        s = settings
        model_1 = with_masses(load("space_robot_a"), {BASE: s.base_mass_1, **dict.fromkeys(LINKS, s.link_mass_1)})
        model_2 = with_masses(load("space_robot_b"), {BASE: s.base_mass_2, **dict.fromkeys(LINKS, s.link_mass_2)})
        q_1, q_2 = model_1.neutral(), model_2.neutral()
        for model, q, angles in ((model_1, q_1, s.arm_1), (model_2, q_2, s.arm_2)):
            for joint, angle in zip(ARM, angles, strict=True):
                q[model.q_index(joint)] = angle
        tip = (Dynamics(model_1).pose(LAST, q_1) @ self.mounting.tip_on_robot)[:3, 3]
        q_2[model_2.q_index(FREE)][:3] = np.add(tip, (s.gap + HALF, -s.offset, 0.0))
        v_2 = np.zeros(model_2.nv)
        v_2[model_2.v_index(FREE)][0] = -s.approach
        hold = Hold(s.hold_stiffness, s.hold_damping)
        place_1, place_2 = Place(LAST, self.mounting.tip_on_robot), Place(BASE, self.mounting.face_on_robot)
        still, algorithm = np.zeros(model_1.nv), cast("Algorithm", s.algorithm)
        self.one = FreeRobot(model_1, q_1, still, place_1, step=s.step, algorithm=algorithm, hold=hold)
        self.two = FreeRobot(model_2, q_2, v_2, place_2, step=s.step, algorithm=algorithm)
        self._start = self.one.q, self.one.v, self.two.q, self.two.v

    def reset(self) -> None:
        """Start anew."""
        q_1, v_1, q_2, v_2 = self._start
        self.one.reset(q_1, v_1)
        self.two.reset(q_2, v_2)

    @property
    def time(self) -> float:
        """Since the start [s]."""
        return self.one.time

    def in_world(self, on_tip: Array) -> tuple[Array, Array]:
        """The wrenches at the places of robots 1 and 2, in the world's axes, of one on the tip in the tip's axes.

        They are opposite at one point: the second is that on the face where the tip is.
        """
        return opposite(*self._places(), on_tip)

    def relative(self, on_tip: Array) -> Motion:
        """The face as the tip sees it, with the accelerations that a wrench on the tip gives."""
        first, second = self.in_world(on_tip)
        one, two = (robot.motion(robot.accelerations(w)) for robot, w in ((self.one, first), (self.two, second)))
        return seen_from(one, two)

    def step(self, on_tip: Array) -> None:
        """Move both on by one step under a wrench on the tip, in the tip's axes, that is held."""
        first, second = self.in_world(on_tip)
        self.one.step(first)
        self.two.step(second)

    def energy(self) -> float:
        """Of both, with what robot 1's springs store and its dampers have lost [J]."""
        moving = self.one.kinetic_energy() + self.two.kinetic_energy()
        return moving + self.one.stored_energy() + self.one.lost

    def momentum(self) -> Array:
        """Of both: linear, and angular about the world's origin [N s, N m s]."""
        return self.one.momentum() + self.two.momentum()

    def effective_mass(self) -> float:
        """m_e of a touch along the tip's axis at the start, 1/m_e = Σ J M⁻¹ Jᵀ, with robot 1's arm as if locked [kg].

        A touch can turn no more than ½ m_e v² of the energy of motion into that of a spring.
        """
        tip, _ = self._places()
        total = 0.0
        for robot, moves in ((self.one, slice(0, 6)), (self.two, slice(0, None))):
            q = robot.q
            M = robot.dynamics.mass_matrix(q)[moves, moves]
            J = robot.dynamics.jacobian(robot.place.link, q)
            arm = tip[:3, 3] - robot.dynamics.pose(robot.place.link, q)[:3, 3]
            row = ((J[:3].T + np.cross(J[3:].T, arm)) @ tip[:3, 2])[moves]
            total += float(row @ np.linalg.solve(M, row))
        return 1.0 / total

    def _places(self) -> tuple[Array, Array]:
        one, two = self.one, self.two
        return (
            np.asarray(one.dynamics.pose(LAST, one.q) @ one.place.frame),
            np.asarray(two.dynamics.pose(BASE, two.q) @ two.place.frame),
        )
