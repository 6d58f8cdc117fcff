# SPDX-License-Identifier: Apache-2.0
"""Motion of a revolute loop joint (θ4 of figs. 3.11 and 3.17, Takahashi 2012).

A loop joint has no coordinates; its angle follows from the poses of the two links that it joins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model

TURNING = "revolute"


def revolute_loops(model: Model) -> list[str]:
    """Names of the revolute loop joints."""
    return [name for name in model.loop_names if model.loops[name].kind == TURNING]


class LoopJointMotion:
    """Angle, velocity and acceleration of a revolute loop joint for configurations (N, nq) and velocities (N, nv)."""

    def __init__(self, dynamics: Dynamics, name: str) -> None:
        """Initialize with the dynamics of the robot and the name of the joint.

        Raises:
            InputError: no revolute loop joint has that name.
        """
        if name not in revolute_loops(dynamics.model):
            raise unknown_name("revolute joint that closes a loop", name, revolute_loops(dynamics.model))
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
