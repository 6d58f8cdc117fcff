# SPDX-License-Identifier: Apache-2.0
"""Motions of models with Euler joints that pass gimbal lock by the singularity-consistent method.

Beside the angles stand angular velocities, not rates of angles: so the equations of motion are those of a quaternion
joint, which have no singular pose, and only the angles themselves need the method. Steps are even in its parameter s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import consistent_rates
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.quantities.base import position_rates
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.small import with_parts
from ada_dynamics.model.joints import Spherical, SphericalEuler
from ada_dynamics.model.model import Model
from ada_dynamics.model.turns import Turns

MOST_STEPS = 1_000_000
_ZYZ = Turns("zyz")
_WITHIN = 1e-13  # of the duration, by which the end may be missed


@dataclass(frozen=True, eq=False)
class SingularityConsistentTrajectory:
    """A motion by steps of the parameter s.

    Attributes:
        model: with Euler joints.
        twin: the same with quaternion joints, which has the equations of motion.
        t: times, (N,) [s].
        q: positions of the model, (N, nq).
        w: velocities of the twin, (N, nv): angular velocities in place of the rates of Euler angles.
        reached: whether the end was; false where the motion stands in gimbal lock.
    """

    model: Model
    twin: Model
    t: Array
    q: Array
    w: Array
    reached: bool

    def twin_positions(self) -> Array:
        """Positions of the twin, (N, nq)."""
        return np.array([_twin_positions(self.model, self.twin, q) for q in self.q])


def integrate_singularity_consistent(
    model: Model, q: ArrayLike, w: ArrayLike, duration: float, step: float, most_steps: int = MOST_STEPS
) -> SingularityConsistentTrajectory:
    """The motion under weight and springs alone, by steps of fourth order (Runge and Kutta) in s.

    Args:
        model: with `spherical_euler` joints; where none of them is near its lock, s is time but for their sines.
        q: positions to start from; Euler angles may be as near to their lock as they like, but not in it.
        w: velocities; of Euler joints the angular velocity in the child's frame.
        duration: of the motion [s].
        step: of s [s].
        most_steps: until it is given up.

    Raises:
        InputError: there is no Euler joint, or a value is unusable.
    """
    system = _TwinSystem(model)
    if not duration > 0.0 or not step > 0.0:
        raise InputError(f"duration is {duration!r}, step {step!r}; both must be above zero [s].")
    x = np.concatenate([[0.0], model.as_positions(q), model.as_velocities(w, "w")])
    rows = [x]
    while x[0] < duration * (1.0 - _WITHIN) and len(rows) <= most_steps:
        following = system.after(x, step)
        if following[0] > duration:
            following = _ending(system, x, step, duration)
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
            raise InputError(
                f"model {model.name!r} has no joint of type {SphericalEuler.kind!r}; simulate it as it is."
            )
        if model.loops:
            raise InputError(f"model {model.name!r} has loops; the singularity-consistent march takes trees only.")
        self.model = model
        self.twin = with_parts(model, *(replace(model.joints[name], kind=Spherical.kind) for name in euler))
        self._dynamics = Dynamics(self.twin)
        self._joints = [(model.q_index(name), model.v_index(name)) for name in euler]
        self._still = np.zeros(model.nv)

    def rate(self, x: Array) -> Array:
        """dx/ds."""
        q, w = x[1 : 1 + self.model.nq], x[1 + self.model.nq :]
        own = [consistent_rates(q[at].tolist(), w[by].tolist()) for at, by in self._joints]
        pace = np.prod([rates.time for rates in own])  # dt/ds
        slope = np.array(position_rates(self.model.tree, q.tolist(), w.tolist())) * pace
        for k, ((at, _), rates) in enumerate(zip(self._joints, own, strict=True)):
            slope[at] = np.array(rates.angles) * np.prod([other.time for i, other in enumerate(own) if i != k])
        a = self._dynamics.forward(_twin_positions(self.model, self.twin, q), w, self._still)
        return np.concatenate([[pace], slope, pace * np.asarray(a)])

    def after(self, x: Array, h: float) -> Array:
        """x one step later."""
        first = self.rate(x)
        second = self.rate(x + 0.5 * h * first)
        third = self.rate(x + 0.5 * h * second)
        fourth = self.rate(x + h * third)
        return np.asarray(x + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth))


def _ending(system: _TwinSystem, x: Array, step: float, duration: float) -> Array:
    """The part of a step that ends in time; t rises with s."""
    low, high, h = 0.0, step, step
    for _ in range(100):
        end = system.after(x, h)
        off = end[0] - duration
        if abs(off) <= _WITHIN * duration:
            break
        low, high = (h, high) if off < 0.0 else (low, h)
        newton = h - off / system.rate(end)[0] if system.rate(end)[0] > 0.0 else low
        h = newton if low < newton < high else 0.5 * (low + high)
    return end


def _twin_positions(model: Model, twin: Model, q: Array) -> Array:
    found = np.zeros(twin.nq)
    for name in model.joint_names:
        own = q[model.q_index(name)]
        found[twin.q_index(name)] = _ZYZ.position(own) if model.joints[name].kind == SphericalEuler.kind else own
    return found
