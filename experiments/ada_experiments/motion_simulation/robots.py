# SPDX-License-Identifier: Apache-2.0
"""The two free-flying space robots and their contact (Tarao et al., eqs. 1-9 and secs. 4.1, 4.2).

Both are floating trees of one model. Each stage of an integrator evaluates both in the same state and applies opposite
wrenches at one point, so that the method conserves momentum. The wrench is either that of a contact in the equations of
motion (S1), or constant within a step, as measured on a motion table (S2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ada_dynamics.algorithms.applied_wrench import PARAMETERS, AppliedWrench
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, Plane
from ada_dynamics.contact.geometry import Material
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit import merge, with_gravity
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import System, tree_of
from ada_dynamics.spatial.orientation import to_rpy
from ada_dynamics.spatial.vector import ZERO3, Scalar
from ada_experiments.motion_simulation.frames import HALF, LENGTH, FrameMotion, Mounting, cross, opposite, seen_from
from ada_robot.settings import setting

ALGORITHMS = ("order_n", "ada", "aba", "auto")
FIRST, SECOND = "one_", "two_"  # name prefixes of robots 1 and 2
FREE, BASE, LAST = "free", "base", "link_4"
ARM = ("joint_1", "joint_2", "joint_3", "joint_4")
LINKS = ("link_1", "link_2", "link_3", "link_4")
BENT = (0.25 * np.pi, -0.5 * np.pi, 0.5 * np.pi, -0.25 * np.pi)
TOUCH = "touch"
TIP, FACE = "tip", "face"  # frames of the real models
_METHOD = "rkf45"  # Fehlberg's method with fixed steps
_INTEGRAL_AT = 2  # c0 of a profile segment; preceded by t0 and ω


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
    base_mass_2: float = setting(50.0, "base mass of robot 2", unit="kg", lower=0.1, upper=1e5)
    hold_stiffness: float = setting(3e5, "stiffness of the joint control of robot 1", unit="N m/rad", lower=0.0)
    hold_damping: float = setting(800.0, "damping of the joint control of robot 1", unit="N m s/rad", lower=0.0)

    def __post_init__(self) -> None:
        """Check the arm angles."""
        for name in ("arm_1", "arm_2"):
            if len(getattr(self, name)) != len(ARM):
                text = f"{name} has {len(getattr(self, name))} angles; it requires {len(ARM)}, one per joint."
                raise InputError(text, field=name, value=len(getattr(self, name)), allowed=len(ARM))


def pair_model(settings: PairSettings) -> Model:
    """Both robots in one weightless world; the moments of inertia are those of table 1 for any masses."""
    model = Builder("two_space_robots").link("world").build(gravity=(0.0, 0.0, 0.0))
    for name, prefix in (("space_robot_a", FIRST), ("space_robot_b", SECOND)):
        robot = with_gravity(load(name), (0.0, 0.0, 0.0))
        model = merge(model, robot, "world", joint=FREE, kind="floating", prefix=prefix)
    masses = {FIRST + one: settings.link_mass_1 for one in LINKS} | {SECOND + BASE: settings.base_mass_2}
    parts = Parts.of(model)
    parts.name = "two_space_robots"
    for name, mass in masses.items():
        parts.links[name] = replace(parts.links[name], mass=mass)
    return parts.build()


class RobotPair:
    """Robot 1 with joints held by springs and dampers, and robot 2 with free joints that approaches it along -x.

    Attributes:
        settings: settings in use.
        mounting: poses of the real models.
        model: both robots.
        dynamics: their dynamics with the selected algorithm.
        start: initial configuration and velocity.
        lost: energy dissipated by the dampers since the start [J].
    """

    def __init__(self, settings: PairSettings, mounting: Mounting | None = None) -> None:
        """Create both robots in their initial state."""
        self.settings, self.mounting = settings, mounting or Mounting()
        model = pair_model(settings)
        for name, link, pose in (
            (TIP, FIRST + LAST, self.mounting.tip_on_robot),
            (FACE, SECOND + BASE, self.mounting.face_on_robot),
        ):
            model = model.add_frame(name, link, pose[:3, 3], to_rpy(pose[:3, :3]))
        self.model = model
        self.dynamics = Dynamics(model, cast("Algorithm", settings.algorithm))
        self._angles, self._rates = (
            np.array([index(FIRST + joint).start for joint in ARM]) for index in (model.q_index, model.v_index)
        )
        q, v = model.neutral(), np.zeros(model.nv)
        for prefix, angles in ((FIRST, settings.arm_1), (SECOND, settings.arm_2)):
            for joint, angle in zip(ARM, angles, strict=True):
                q[model.q_index(prefix + joint)] = angle
        tip = self.dynamics.pose(TIP, q)[:3, 3]
        q[model.q_index(SECOND + FREE)][:3] = np.add(tip, (settings.gap + HALF, -settings.offset, 0.0))
        v[model.v_index(SECOND + FREE)][0] = -settings.approach
        self.start = q, v
        self._system, self._integrator = self._equations()
        self.reset()

    def _equations(self) -> tuple[System, Integrator]:
        """Equations of motion with a wrench at each frame, and their integrator."""
        frames = [tree_of(self.dynamics).frames[name] for name in (TIP, FACE)]
        applied = [AppliedWrench(at.body, at.pose.rotation.matrix(), at.pose.point(ZERO3), True) for at in frames]
        hold = self.hold()
        loads = Loads(applied=tuple(applied), law=hold.law, tag=hold.kernel(self.model).key)
        system = System(self.model, self.dynamics, loads)
        return system, Integrator(system, METHODS[_METHOD])

    def hold(self) -> CompiledController:
        """Control of robot 1 ("some suitable control", sec. 4.1), as part of the equations."""
        places = list(zip(self._angles.tolist(), self._rates.tolist(), self.settings.arm_1, strict=True))
        stiffness, damping, nv = self.settings.hold_stiffness, self.settings.hold_damping, self.model.nv

        def law(t: Scalar, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
            efforts: list[Scalar] = [0.0] * nv
            for i, j, angle in places:
                efforts[j] = stiffness * (angle - q[i]) - damping * v[j]
            return efforts

        return CompiledController(law)

    def contact(self, stiffness: float) -> Contact:
        """Tip of robot 1 against a side of robot 2's base: a spring without damping and friction (sec. 4.2)."""
        spring = Material(stiffness=stiffness, dissipation=0.0, friction=0.0)
        tip = ContactPoint("tip", FIRST + LAST, (LENGTH, 0.0, 0.0))
        side = Plane(SECOND + BASE, xyz=(-HALF, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
        return Contact(pairs=[ContactPair(TOUCH, tip, side)], material=spring)

    # --- state ------------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """Restart from the initial state."""
        self._integrator.restart(np.concatenate(self.start))
        self._done, self.lost = 0, 0.0

    @property
    def q(self) -> Array:
        """Configuration."""
        return self._integrator.x[: self.model.nq]

    @property
    def v(self) -> Array:
        """Velocities."""
        return self._integrator.x[self.model.nq :]

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self._done * self.settings.step

    def frame_poses(self) -> tuple[Array, Array]:
        """Poses of tip and face in the world."""
        return self.dynamics.pose(TIP, self.q), self.dynamics.pose(FACE, self.q)

    # --- motion -----------------------------------------------------------------------------------------------------
    def in_world(self, on_tip: Array) -> tuple[Array, Array]:
        """Wrenches on robots 1 and 2 in world axes, from a wrench on the tip in tip axes.

        They are opposite at one point: the second acts on the face at the position of the tip.
        """
        return opposite(*self.frame_poses(), on_tip)

    def relative(self, on_tip: Array) -> FrameMotion:
        """Motion of the face relative to the tip, with the accelerations caused by a wrench on the tip."""
        q, v, dynamics = self.q, self.v, self.dynamics
        rate, _ = self._system.robust_rate(self._integrator.x, self._input(on_tip), self.time)
        a = rate[self.model.nq :]
        tip, face = (
            FrameMotion(dynamics.pose(name, q), dynamics.velocity(name, q, v), dynamics.acceleration(name, q, v, a))
            for name in (TIP, FACE)
        )
        return seen_from(tip, face)

    def step(self, on_tip: Array) -> None:
        """Advance both robots by one step under a constant wrench on the tip, in tip axes.

        Raises:
            IntegrationError: the motion cannot be computed further.
        """
        before = self._damping_power()
        self._integrator.u = self._input(on_tip)
        self._integrator.advance(0.0, self._done, 1, self.settings.step, 0)
        self._done += 1
        self.lost += 0.5 * self.settings.step * (before + self._damping_power())

    def _input(self, on_tip: Array) -> Array:
        profiles = np.zeros((2, PARAMETERS))
        profiles[:, _INTEGRAL_AT : _INTEGRAL_AT + 6] = self.in_world(on_tip)
        return self._system.inputs(np.zeros(self.model.nv), profiles.ravel())

    # --- what is kept -----------------------------------------------------------------------------------------------
    def energy(self) -> float:
        """Kinetic energy of both robots, spring energy and dissipation of robot 1 [J]."""
        stretch = self.q[self._angles] - np.array(self.settings.arm_1)
        stored = 0.5 * self.settings.hold_stiffness * float(stretch @ stretch)
        return float(self.dynamics.energy(self.q, self.v).kinetic) + stored + self.lost

    def hold_energy(self, t: Array, q: Array, v: Array) -> Array:
        """Energy stored in the springs of `hold` and dissipated in its dampers, over time [J]."""
        stretch = q[:, self._angles] - np.array(self.settings.arm_1)
        power = self.settings.hold_damping * np.sum(v[:, self._rates] ** 2, axis=1)
        lost = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
        return np.asarray(0.5 * self.settings.hold_stiffness * np.sum(stretch**2, axis=1) + lost, dtype=np.float64)

    def momentum(self) -> Array:
        """Momentum of both robots: linear, and angular about the world origin [N s, N m s]."""
        p = self.dynamics.momentum(self.q, self.v)
        return np.concatenate([p[:3], p[3:] + cross(self.dynamics.com(self.q), p[:3])])

    def effective_mass(self) -> float:
        """Effective mass m_e of a contact along the tip axis, 1/m_e = J M⁻¹ Jᵀ, with the arm of robot 1 locked [kg].

        A contact converts at most ½ m_e v² of kinetic energy into elastic energy.
        """
        moving = np.setdiff1d(np.arange(self.model.nv), self._rates)
        M = self.dynamics.mass_matrix(self.q)[np.ix_(moving, moving)]
        J = self.gap_jacobian()[moving]
        return 1.0 / float(J @ np.linalg.solve(M, J))

    def gap_jacobian(self) -> Array:
        """Rate of the gap per velocity (nv,): motion of the face relative to the tip, along the axis of the tip."""
        tip, face = self.frame_poses()
        J, of_face = self.dynamics.jacobian(TIP, self.q), self.dynamics.jacobian(FACE, self.q)
        at_the_tip = of_face[:3] + np.cross(of_face[3:].T, tip[:3, 3] - face[:3, 3]).T
        return np.asarray(tip[:3, 2] @ (at_the_tip - J[:3]))

    def _damping_power(self) -> float:
        return self.settings.hold_damping * float(np.sum(self.v[self._rates] ** 2))
