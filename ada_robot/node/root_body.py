# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of the root link of a robot in the world, and their change; no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.scene import floats
from ada_dynamics.spatial.orientation import quaternions
from ada_dynamics.spatial.rotation import from_quaternion
from ada_robot.simulated.bounds import StateBounds

_NOT_UNIT = 1e-2  # tolerance of the norm of quaternions
_WXYZ_TO_XYZW = [1, 2, 3, 0]
_AT_ORIGIN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class BodyState(NamedTuple):
    """State of the root link in the world frame.

    Attributes:
        pose: x, y, z [m] and unit quaternion x, y, z, w.
        twist: velocity of its origin and angular velocity, in world axes [m/s, rad/s].
    """

    pose: Array
    twist: Array


class PoseError(InputError):
    """Invalid pose."""


class RootBody:
    """Root link of a robot; for one thread.

    Attributes:
        is_free: whether the base is floating.
    """

    def __init__(self, model: Model, bounds: StateBounds) -> None:
        """Args: robot model; bounds of its states."""
        self._model, self._bounds = model, bounds
        self.is_free = floats(model)
        self._dynamics: Dynamics | None = None
        if self.is_free:
            self._joint = str(model.floating_joint)
            self._link = model.joints[self._joint].child
            self._body = next(body for body in model.tree.bodies if body.name == self._joint)

    def state(self, q: Array, v: Array) -> BodyState:
        """Return pose and twist."""
        if not self.is_free:
            return BodyState(_AT_ORIGIN.copy(), np.zeros(6))
        dynamics, root = self._own(q), self._link
        at = dynamics.pose(root, q)
        turn = quaternions(at[None, :3, :3])[0][_WXYZ_TO_XYZW]
        return BodyState(np.concatenate([at[:3, 3], turn]), dynamics.velocity(root, q, v))

    def moved(
        self, q: Array, v: Array, pose: Sequence[float] | None, twist: Sequence[float] | None
    ) -> tuple[Array, Array]:
        """Return configuration and velocities with another pose or twist of the root; the joints do not change.

        Args:
            q: configuration.
            v: velocities.
            pose: as in `BodyState`; None for no change.
            twist: as in `BodyState`; None for no change.

        Raises:
            PoseError: if the pose is invalid.
            InputError: if the base is fixed, or the twist is invalid.
        """
        if not self.is_free:
            text = (
                f"the root link {self._model.root!r} of {self._model.name!r} is fixed to the world. Start the node "
                "with -p base:=floating to make it floating."
            )
            raise InputError(text, link=self._model.root)
        requested = self.state(q, v).twist if twist is None else self._checked_twist(twist)
        if pose is not None:
            q = q.copy()
            q[self._model.q_index(self._joint)] = self._positions(pose)
        return q, self._with_twist(q, v, requested)

    def _positions(self, pose: Sequence[float]) -> Array:
        at = np.asarray(pose, dtype=np.float64)
        if not np.isfinite(at).all() or np.abs(at[:3]).max() > NO_LIMIT:
            text = f"pose {at.tolist()}: all values must be finite, and positions at most {NO_LIMIT:g} m."
            raise PoseError(text, field="pose", value=at, allowed=(-NO_LIMIT, NO_LIMIT))
        norm = float(np.linalg.norm(at[3:]))
        if abs(norm - 1.0) > _NOT_UNIT:
            text = f"quaternion {at[3:].tolist()} (x, y, z, w) has norm {norm:.3g}; it must be 1."
            raise PoseError(text, field="quaternion", value=at[3:])
        R = np.array(from_quaternion(*(at[3:] / norm).tolist()), dtype=np.float64).reshape(3, 3)
        own = self._body.joint.positions_at(R, at[:3])
        problem = self._body.joint.problem(own)
        if problem is not None:
            raise PoseError(f"pose {at.tolist()}: {problem}.", field="pose", value=at)
        return own

    def _with_twist(self, q: Array, v: Array, twist: Array) -> Array:
        """Return velocities for a twist of the root; the columns are its twists at unit velocities."""
        rows = np.arange(self._model.nv)[self._model.v_index(self._joint)]
        units = np.eye(self._model.nv)[rows]
        columns = [self._own(q).velocity(self._link, q, unit) for unit in units]
        v = v.copy()
        v[rows] = np.linalg.solve(np.column_stack(columns), twist)
        return v

    def _checked_twist(self, twist: Sequence[float]) -> Array:
        given = np.asarray(twist, dtype=np.float64)
        fastest = np.repeat([self._bounds.fastest_sliding, self._bounds.fastest_turning], 3)
        if not (np.abs(given) <= fastest).all():  # False for NaN
            text = f"twist {given.tolist()}: at most {fastest[0]:.4g} m/s and {fastest[3]:.4g} rad/s are allowed."
            raise InputError(text, field="twist", value=given)
        return given

    def _own(self, q: Array) -> Dynamics:
        if self._dynamics is None:  # created at first use
            self._dynamics = Dynamics(self._model, q0=q if self._model.loops else None)
        return self._dynamics
