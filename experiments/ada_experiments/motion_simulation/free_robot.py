# SPDX-License-Identifier: Apache-2.0
"""A free-flying robot simulated in real time, with a wrench at one point (Tarao et al., eqs. 1-9).

The equations of motion, with the wrench at the mounting of the real model, are one compiled kernel; a step takes about
ten microseconds. Within a step the wrench is constant in world axes and acts at a constant point of the link, so that
two robots with opposite wrenches conserve momentum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.applied_wrench import PARAMETERS, AppliedWrench
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import System, tree_of
from ada_dynamics.spatial.vector import Scalar, Vec3
from ada_experiments.motion_simulation.frames import Motion, carried, cross

ALGORITHMS = ("order_n", "ada", "aba", "auto")
NOTHING = np.zeros(6)
_METHOD = "rkf45"  # Fehlberg's method with fixed steps, as in S1
_INTEGRAL_AT = 8  # c0 of a profile segment; preceded by t0 and ω


@dataclass(frozen=True)
class JointHold:
    """Springs and dampers that hold the joints at their initial positions ("some suitable control", sec. 4.1)."""

    stiffness: float = 3e5  # [N m/rad]
    damping: float = 800.0  # [N m s/rad]

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("stiffness", "damping"):
            value: float = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise InputError(f"hold: {name} is {value!r}; it must be a finite number, not negative.", field=name)


class WrenchPoint(NamedTuple):
    """Point at which the wrench acts.

    Attributes:
        link: link of the robot.
        frame: frame of the real model in the link; the wrench acts at its origin.
    """

    link: str
    frame: Array


class FreeRobot:
    """A robot with a floating base and without gravity, simulated with fixed steps.

    Attributes:
        model: robot model.
        dynamics: dynamics with the selected algorithm.
        place: point at which the wrench acts.
        hold: joint control; None for free joints.
        time: simulated time [s].
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        place: WrenchPoint,
        *,
        step: float = 2e-3,
        algorithm: Algorithm = "order_n",
        hold: JointHold | None = None,
    ) -> None:
        """Set up the simulation.

        Args:
            model: floating-base robot without loops; gravity is removed.
            q: initial configuration.
            v: initial velocity.
            place: point at which the wrench acts.
            step: [s].
            algorithm: order_n (Rosenthal, as in the document), ada, aba or auto.
            hold: joint control.

        Raises:
            InputError: invalid algorithm or step, or unknown link.
        """
        if algorithm not in ALGORITHMS:
            words = f"algorithm is {algorithm!r}; it must be one of {', '.join(ALGORITHMS)}."
            raise InputError(words, field="algorithm", allowed=ALGORITHMS)
        if not 0.0 < step <= 0.1:
            raise InputError(f"step is {step!r}; it must be positive, at most 0.1 s.", field="step", value=step)
        self.model = with_gravity(model, (0.0, 0.0, 0.0))
        if place.link not in self.model.links:
            words = f"robot {model.name!r} has no link {place.link!r}; it has {', '.join(model.links)}."
            raise InputError(words, link=place.link)
        self.place, self.hold, self._step_length = place, hold, float(step)
        self.dynamics = Dynamics(self.model, algorithm)
        self._home = np.array(q, dtype=np.float64)
        self._joints = _turning(self.model)
        tree = tree_of(self.dynamics)
        at = tree.frames[place.link]
        point = at.pose.point(Vec3(*place.frame[:3, 3].tolist()))
        applied = AppliedWrench(at.body, at.pose.rotation.matrix(), point, True)
        law = None if hold is None else self._holding(hold)
        loads = Loads(
            applied=(applied,), law=None if law is None else law.law, tag="" if law is None else law.tag(self.model)
        )
        self._system = System(self.model, self.dynamics, loads)
        self._integrator = Integrator(self._system, METHODS[_METHOD])
        self._tau = np.zeros(self.model.nv)
        self._profile = np.zeros(PARAMETERS)
        self.lost = 0.0
        self.reset(q, v)

    def _holding(self, hold: JointHold) -> CompiledController:
        home, nv, joints = self._home.tolist(), self.model.nv, self._joints

        def law(t: Scalar, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
            efforts: list[Scalar] = [0.0] * nv
            for i, j in joints:
                efforts[j] = hold.stiffness * (home[i] - q[i]) - hold.damping * v[j]
            return efforts

        return CompiledController(law)

    # --- state --------------------------------------------------------------------------------------------------
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
        return self._done * self._step_length

    def reset(self, q: ArrayLike, v: ArrayLike) -> None:
        """Restart; the joints are still held at the positions given at construction."""
        x = np.concatenate([np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)])
        if x.shape != (self.model.nq + self.model.nv,) or not np.isfinite(x).all():
            text = f"robot {self.model.name!r} needs {self.model.nq} positions and {self.model.nv} velocities."
            raise InputError(text, field="state", allowed=(self.model.nq, self.model.nv))
        self._integrator.restart(x)
        self._done, self.lost = 0, 0.0

    # --- motion -------------------------------------------------------------------------------------------------
    def accelerations(self, wrench: Array = NOTHING) -> Array:
        """Accelerations at the present state under a wrench at its point, in world axes."""
        rate, _ = self._system.robust_rate(self._integrator.x, self._input(wrench), self.time)
        return np.asarray(rate[self.model.nq :])

    def step(self, wrench: Array = NOTHING) -> None:
        """Advance by one step under a wrench [f, n] at its point, in world axes.

        Raises:
            IntegrationError: the motion cannot be computed further.
        """
        before = self._damping_power()
        self._integrator.u = self._input(wrench)
        self._integrator.advance(0.0, self._done, 1, self._step_length, 0)
        self._done += 1
        self.lost += 0.5 * self._step_length * (before + self._damping_power())

    def motion(self, a: Array) -> Motion:
        """Motion of the frame at the point of the wrench.

        Args:
            a: accelerations, from `accelerations`.
        """
        x = self._integrator.x
        q, v = x[: self.model.nq], x[self.model.nq :]
        link, d = self.place.link, self.dynamics
        return carried(Motion(d.pose(link, q), d.velocity(link, q, v), d.acceleration(link, q, v, a)), self.place.frame)

    def _input(self, wrench: Array) -> Array:
        self._profile[2:_INTEGRAL_AT] = wrench
        return self._system.inputs(self._tau, self._profile)

    # --- what is kept -------------------------------------------------------------------------------------------
    def kinetic_energy(self) -> float:
        """Kinetic energy [J]."""
        return float(self.dynamics.energy(self.q, self.v).kinetic)

    def stored_energy(self) -> float:
        """Energy stored in the springs of the joints [J]; `lost` is the energy dissipated since the start."""
        if self.hold is None:
            return 0.0
        q = self._integrator.x
        return 0.5 * self.hold.stiffness * float(sum((q[i] - self._home[i]) ** 2 for i, _ in self._joints))

    def momentum(self) -> Array:
        """Linear momentum, and angular momentum about the world origin [N s, N m s]."""
        q, v = self.q, self.v
        p = self.dynamics.momentum(q, v)
        return np.concatenate([p[:3], p[3:] + cross(self.dynamics.com(q), p[:3])])

    def _damping_power(self) -> float:
        if self.hold is None:
            return 0.0
        v = self._integrator.x[self.model.nq :]
        return float(self.hold.damping * sum(v[j] ** 2 for _, j in self._joints))


def _turning(model: Model) -> tuple[tuple[int, int], ...]:
    """Position and velocity indices of the joints with one coordinate."""
    found = []
    for name in model.joint_names:
        at, rate = model.q_index(name), model.v_index(name)
        if at.stop - at.start == 1 == rate.stop - rate.start:
            found.append((at.start, rate.start))
    return tuple(found)


def with_masses(model: Model, masses: dict[str, float]) -> Model:
    """Copy of the robot with other link masses [kg] and unchanged moments of inertia, as for fig. 15."""
    parts = Parts.of(model)
    for name, mass in masses.items():
        if name not in parts.links:
            words = f"robot {model.name!r} has no link {name!r}; it has {', '.join(parts.links)}."
            raise InputError(words, link=name)
        parts.links[name] = replace(parts.links[name], mass=mass)
    return parts.build()
