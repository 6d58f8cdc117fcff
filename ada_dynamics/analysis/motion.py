# SPDX-License-Identifier: Apache-2.0
"""Motions for analysis and plots: states over time, their energy and momentum."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.centroidal import moving_mass
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model


class StateTrajectory(Protocol):
    """States of a model over time, one row each, such as a `Log`."""

    @property
    def model(self) -> Model:
        """Model of the robot."""

    @property
    def t(self) -> Array:
        """Times, (N,) [s]."""

    @property
    def q(self) -> Array:
        """Configurations, (N, nq)."""

    @property
    def v(self) -> Array:
        """Velocities, (N, nv)."""


def dynamics_of(motion: StateTrajectory) -> Dynamics:
    """`Dynamics` of a motion, or a new one in the assembly mode of its first row."""
    own = getattr(motion, "dynamics", None)
    if isinstance(own, Dynamics):
        return own
    start = tuple(float(x) for x in motion.q[0]) if motion.model.loops and len(motion.q) else None
    return _cached_dynamics(motion.model, start)


@lru_cache(maxsize=8)
def _cached_dynamics(model: Model, start: tuple[float, ...] | None) -> Dynamics:
    return Dynamics(model) if start is None else Dynamics(model, q0=np.array(start))


def motion_array(motion: Any, name: str, what: str) -> Array:
    """Optional array of a motion, such as its accelerations.

    Args:
        motion: the motion.
        name: attribute, "a" or "tau".
        what: description for the error message.

    Raises:
        InputError: the motion has no such array.
    """
    rows = getattr(motion, name, None)
    if rows is None:
        raise InputError(
            f"this motion of {motion.model.name!r} has no {what} (attribute {name!r}); a Log of a simulation has them.",
            field=name,
            value=motion.model.name,
        )
    return np.asarray(rows, dtype=np.float64)


def energy_of(motion: StateTrajectory) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) each [J]."""
    own = getattr(motion, "energy", None)
    if own is None:
        own = dynamics_of(motion).energy(motion.q, motion.v)
    kinetic, potential = own
    return np.asarray(kinetic, dtype=np.float64), np.asarray(potential, dtype=np.float64)


def momentum_rate(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Rate of the centroidal momentum [linear, angular], A a + Ȧ v, (6,) or (N, 6)."""
    A, rate = dynamics.momentum_matrix(q), dynamics.derivatives.momentum_matrix_rate(q, v)
    velocity, acceleration = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    return np.asarray(np.einsum("...ij,...j", A, acceleration) + np.einsum("...ij,...j", rate, velocity))


def mass_of(dynamics: Dynamics) -> float:
    """Mass of the movable bodies [kg]."""
    return float(moving_mass(dynamics.model.tree))


# --- revolute loop joints ------------------------------------------------------------------------------------------
def revolute_loops(model: Model) -> list[str]:
    """Names of the revolute loop joints."""
    return [name for name in model.loop_names if model.loops[name].kind == "revolute"]


class LoopJointMotion:
    """Angle, velocity and acceleration of a revolute loop joint for configurations (N, nq) and velocities (N, nv)."""

    def __init__(self, dynamics: Dynamics, name: str) -> None:
        """Initialize with the dynamics of the robot and the name of the joint.

        Raises:
            InputError: no revolute loop joint has that name.
        """
        check_name("revolute joint that closes a loop", name, revolute_loops(dynamics.model))
        self._dynamics, self._loop = dynamics, dynamics.model.loops[name]

    def angle(self, q: Array) -> Array:
        """Angle, continuous over full turns, the first one within (-π, π], (N,) [rad]."""
        loop = self._loop
        parent = self._rotation(loop.parent, q) @ loop.parent_rotation
        R = np.swapaxes(parent, 1, 2) @ self._rotation(loop.child, q) @ loop.child_rotation
        twice = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
        return np.asarray(np.unwrap(np.arctan2(twice @ loop.axis, np.trace(R, axis1=1, axis2=2) - 1.0)))

    def rate(self, q: Array, v: Array) -> Array:
        """Velocity, (N,) [rad/s]."""
        return self._along(q, lambda link: self._dynamics.velocity(link, q, v))

    def acceleration(self, q: Array, v: Array, a: Array) -> Array:
        """Acceleration, (N,) [rad/s²]. The axis is fixed in both links, so no other term has a component along it."""
        return self._along(q, lambda link: self._dynamics.acceleration(link, q, v, a))

    def _rotation(self, link: str, q: Array) -> Array:
        if link == WORLD_LINK:
            return np.broadcast_to(np.eye(3), (len(q), 3, 3))
        return np.asarray(self._dynamics.pose(link, q)[:, :3, :3])

    def _along(self, q: Array, of_link: Callable[[str], Array]) -> Array:
        """Component along the axis of the relative angular motion of child and parent."""
        loop = self._loop
        axis = self._rotation(loop.parent, q) @ loop.parent_rotation @ loop.axis
        parts = [0.0 if link == WORLD_LINK else of_link(link)[:, 3:] for link in (loop.parent, loop.child)]
        return np.asarray(np.sum(axis * (parts[1] - parts[0]), axis=1), dtype=np.float64)
