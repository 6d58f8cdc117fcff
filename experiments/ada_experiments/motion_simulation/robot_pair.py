# SPDX-License-Identifier: Apache-2.0
"""The two simulated robots and their relative motion (Tarao et al., eqs. 8, 9 and sec. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_experiments.motion_simulation.frames import HALF, Motion, Mounting, opposite, seen_from
from ada_experiments.motion_simulation.free_robot import ALGORITHMS, FreeRobot, JointHold, WrenchPoint, with_masses
from ada_robot.settings import setting

FREE, BASE, LAST = "root_joint", "base", "link_4"
ARM = ("joint_1", "joint_2", "joint_3", "joint_4")
LINKS = ("link_1", "link_2", "link_3", "link_4")
BENT = (0.25 * np.pi, -0.5 * np.pi, 0.5 * np.pi, -0.25 * np.pi)


@dataclass(frozen=True)
class PairSettings:
    """Initial state of the two robots; arm angles and gap are not given in the document and are those of S1."""

    algorithm: str = setting("order_n", "forward dynamics algorithm; order_n in the document", choices=ALGORITHMS)
    step: float = setting(2e-3, "step of the dynamics and period of the table servo", unit="s", lower=1e-4, upper=0.02)
    approach: float = setting(0.01, "speed of robot 2 towards robot 1", unit="m/s", lower=0.0, upper=0.5)
    gap: float = setting(2e-3, "initial gap between tip and face", unit="m", lower=0.0, upper=0.2)
    offset: float = setting(0.0, "offset of the tip from the middle of the face", unit="m", lower=-0.4, upper=0.4)
    arm_1: tuple[float, ...] = setting(BENT, "arm angles of robot 1", unit="rad")
    arm_2: tuple[float, ...] = setting(BENT, "arm angles of robot 2", unit="rad")
    link_mass_1: float = setting(10.0, "mass of each link of robot 1", unit="kg", lower=0.1, upper=1e4)
    link_mass_2: float = setting(1.0, "mass of each link of robot 2", unit="kg", lower=0.1, upper=1e4)
    base_mass_1: float = setting(50.0, "base mass of robot 1", unit="kg", lower=0.1, upper=1e5)
    base_mass_2: float = setting(50.0, "base mass of robot 2", unit="kg", lower=0.1, upper=1e5)
    hold_stiffness: float = setting(3e5, "stiffness of the joint control of robot 1", unit="N m/rad", lower=0.0)
    hold_damping: float = setting(800.0, "damping of the joint control of robot 1", unit="N m s/rad", lower=0.0)

    def __post_init__(self) -> None:
        """Check the arm angles."""
        for name in ("arm_1", "arm_2"):
            if len(getattr(self, name)) != len(ARM):
                text = f"{name} has {len(getattr(self, name))} angles; it requires {len(ARM)}, one per joint."
                raise InputError(text, field=name, value=len(getattr(self, name)), allowed=len(ARM))


class RobotPair:
    """Robot 1 with controlled joints, and robot 2 with free joints that approaches it.

    Attributes:
        settings: settings in use.
        mounting: poses of the real models.
        one: robot 1.
        two: robot 2.
    """

    def __init__(self, settings: PairSettings, mounting: Mounting | None = None) -> None:
        """Create both robots in their initial state."""
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
        hold = JointHold(s.hold_stiffness, s.hold_damping)
        place_1, place_2 = WrenchPoint(LAST, self.mounting.tip_on_robot), WrenchPoint(BASE, self.mounting.face_on_robot)
        still, algorithm = np.zeros(model_1.nv), cast("Algorithm", s.algorithm)
        self.one = FreeRobot(model_1, q_1, still, place_1, step=s.step, algorithm=algorithm, hold=hold)
        self.two = FreeRobot(model_2, q_2, v_2, place_2, step=s.step, algorithm=algorithm)
        self._start = self.one.q, self.one.v, self.two.q, self.two.v

    def reset(self) -> None:
        """Restart from the initial state."""
        q_1, v_1, q_2, v_2 = self._start
        self.one.reset(q_1, v_1)
        self.two.reset(q_2, v_2)

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.one.time

    def in_world(self, on_tip: Array) -> tuple[Array, Array]:
        """Wrenches on robots 1 and 2 in world axes, from a wrench on the tip in tip axes.

        They are opposite at one point: the second acts on the face at the position of the tip.
        """
        return opposite(*self._places(), on_tip)

    def relative(self, on_tip: Array) -> Motion:
        """Motion of the face relative to the tip, with the accelerations caused by a wrench on the tip."""
        first, second = self.in_world(on_tip)
        one, two = (robot.motion(robot.accelerations(w)) for robot, w in ((self.one, first), (self.two, second)))
        return seen_from(one, two)

    def step(self, on_tip: Array) -> None:
        """Advance both robots by one step under a constant wrench on the tip, in tip axes."""
        first, second = self.in_world(on_tip)
        self.one.step(first)
        self.two.step(second)

    def energy(self) -> float:
        """Energy of both robots, including spring energy and dissipation of robot 1 [J]."""
        moving = self.one.kinetic_energy() + self.two.kinetic_energy()
        return moving + self.one.stored_energy() + self.one.lost

    def momentum(self) -> Array:
        """Momentum of both robots: linear, and angular about the world origin [N s, N m s]."""
        return self.one.momentum() + self.two.momentum()

    def effective_mass(self) -> float:
        """Effective mass m_e of a contact along the tip axis, 1/m_e = Σ J M⁻¹ Jᵀ, with the arm of robot 1 locked [kg].

        A contact converts at most ½ m_e v² of kinetic energy into elastic energy.
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
