# SPDX-License-Identifier: Apache-2.0
"""Simulation of models with Euler joints through gimbal lock by the singularity-consistent method.

The velocities are angular velocities instead of rates of Euler angles. The equations of motion are then those of a
spherical joint with quaternions, which is never singular, and the method applies to the angles alone. Steps have a
constant length in its parameter s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import with_parts
from ada_dynamics.model.joints import Spherical, SphericalEuler
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.events import zero_between
from ada_dynamics.simulation.integrator import explicit_step
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.rotation import from_quaternion
from ada_dynamics.spatial.vector import Vec3, cross

MOST_STEPS = 1_000_000
_EULER = SphericalEuler()
_WITHIN = 1e-13  # tolerance of the final time, relative to the duration


class ConsistentRates(NamedTuple):
    """Rates of Euler angles with respect to the parameter s."""

    angles: tuple[float, float, float]  # dθ/ds
    time: float  # dt/ds, never negative


def consistent_rates(q: Sequence[float], w: Sequence[float]) -> ConsistentRates:
    """Rates of z-y-z Euler angles by the singularity-consistent method (Takahashi 2012, sec. 3.4.2).

    θ̇ = S⁻¹ ω divides by det S, which vanishes in gimbal lock. The method (Nenchev et al. 2000) parametrizes the same
    path by s,

        dθ/ds = adj(S) ω,    dt/ds = det S,

    without a division: near gimbal lock the rate of time decreases to zero, and the rates of the angles remain finite.

    Args:
        q: the angles [rad].
        w: angular velocity in the child's frame [rad/s].
    """
    a, b, c = (column.angular for column in _EULER.subspace(q))
    turning = Vec3(*w)
    determinant = a @ cross(b, c)
    side = -1.0 if determinant < 0.0 else 1.0
    first, second, third = (side * (row @ turning) for row in (cross(b, c), cross(c, a), cross(a, b)))
    return ConsistentRates((first, second, third), side * determinant)


@dataclass(frozen=True, eq=False)
class SingularityConsistentTrajectory:
    """A trajectory with constant steps of the parameter s.

    Attributes:
        model: model with Euler joints.
        twin: the same model with quaternion joints, which has the equations of motion.
        t: times, (N,) [s].
        q: configurations of the model, (N, nq).
        w: velocities of the twin, (N, nv), with angular velocities instead of rates of Euler angles.
        reached: False if the trajectory stops in gimbal lock before its end.
    """

    model: Model
    twin: Model
    t: Array
    q: Array
    w: Array
    reached: bool

    def twin_positions(self) -> Array:
        """Return the configurations of the twin, (N, nq)."""
        return np.array([_twin_positions(self.model, self.twin, q) for q in self.q])


def quaternion_of(angles: Array) -> Array:
    """Quaternion (x, y, z, w) of z-y-z angles."""
    return upper_quaternion(np.array(_EULER.pose(angles.tolist()).rotation.matrix(), dtype=np.float64))


def angles_of(quaternion: Array) -> Array:
    """The z-y-z angles of a quaternion, the second one within 0 and 180 deg."""
    R = np.array(from_quaternion(*quaternion.tolist()), dtype=np.float64)
    return _EULER.positions_at(R, np.zeros(3))


def integrate_singularity_consistent(
    model: Model, q: ArrayLike, w: ArrayLike, duration: float, step: float, most_steps: int = MOST_STEPS
) -> SingularityConsistentTrajectory:
    """Integrate the equations of motion with gravity and springs by the Runge-Kutta method of order 4 in s.

    Args:
        model: model with `spherical_euler` joints.
        q: initial configuration; Euler angles may be close to gimbal lock, but not in it.
        w: initial velocity; for Euler joints the angular velocity in the child frame.
        duration: simulated time [s].
        step: step length of s [s].
        most_steps: maximum number of steps.

    Raises:
        InputError: the model has no Euler joint, or an argument is invalid.
    """
    system = _TwinSystem(model)
    if not duration > 0.0 or not step > 0.0:
        raise InputError(
            f"duration is {duration!r}, step is {step!r}; both must be positive [s].",
            field="step" if duration > 0.0 else "duration",
        )
    x = np.concatenate([[0.0], model.as_positions(q), model.as_velocities(w, "w")])
    rows = [x]
    while x[0] < duration * (1.0 - _WITHIN) and len(rows) <= most_steps:
        following = system.after(x, step)
        if following[0] > duration:  # a shorter step ends there: t increases with s
            end = lambda h: float(system.after(x, h)[0]) - duration  # noqa: B023, E731
            h = zero_between(end, 0.0, step, float(x[0]) - duration, float(following[0]) - duration)
            following = system.after(x, h)
        x = following
        rows.append(x)
    found = np.array(rows)
    reached = bool(x[0] >= duration * (1.0 - _WITHIN))
    positions, velocities = found[:, 1 : 1 + model.nq], found[:, 1 + model.nq :]
    return SingularityConsistentTrajectory(model, system.twin, found[:, 0], positions, velocities, reached)


class _TwinSystem:
    """dx/ds of x = [t; q; w]."""

    def __init__(self, model: Model) -> None:
        euler = [name for name in model.joint_names if model.joints[name].kind == SphericalEuler.kind]
        if not euler:
            raise InputError(f"model {model.name!r} has no joint of type {SphericalEuler.kind!r}; use Simulation.")
        if model.loops:
            raise InputError(f"model {model.name!r} has loops; the singularity-consistent method is limited to trees.")
        self.model = model
        self.twin = with_parts(model, *(replace(model.joints[name], kind=Spherical.kind) for name in euler))
        self._dynamics = Dynamics(self.twin)
        self._joints = [(model.q_index(name), model.v_index(name)) for name in euler]
        self._still = np.zeros(model.nv)

    def rate(self, x: Array) -> Array:
        """Return dx/ds."""
        q, w = x[1 : 1 + self.model.nq], x[1 + self.model.nq :]
        own = [consistent_rates(q[at].tolist(), w[by].tolist()) for at, by in self._joints]
        pace = np.prod([rates.time for rates in own])  # dt/ds
        slope = np.array(position_rates(self.model.tree, q.tolist(), w.tolist())) * pace
        for k, ((at, _), rates) in enumerate(zip(self._joints, own, strict=True)):
            slope[at] = np.array(rates.angles) * np.prod([other.time for i, other in enumerate(own) if i != k])
        a = self._dynamics.forward(_twin_positions(self.model, self.twin, q), w, self._still)
        return np.concatenate([[pace], slope, pace * np.asarray(a)])

    def after(self, x: Array, h: float) -> Array:
        """Return x after a step."""
        return explicit_step(METHODS["rk4"], lambda x, _: self.rate(x), x, 0.0, h)


def _twin_positions(model: Model, twin: Model, q: Array) -> Array:
    found = np.zeros(twin.nq)
    for name in model.joint_names:
        own = q[model.q_index(name)]
        found[twin.q_index(name)] = quaternion_of(own) if model.joints[name].kind == SphericalEuler.kind else own
    return found
