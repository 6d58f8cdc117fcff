# SPDX-License-Identifier: Apache-2.0
"""Motion of a sensor and its tool, computed from joint states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of


class ToolMotion(NamedTuple):
    """Motion of the sensor frame, in its own axes.

    Attributes:
        time: time on the monotonic clock [s].
        acceleration: acceleration of the origin minus gravity; at rest 9.81 upwards [m/s^2].
        angular_velocity: angular velocity [rad/s].
        angular_acceleration: angular acceleration [rad/s^2].
    """

    time: float
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array

    @classmethod
    def at_rest(cls, rotation: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81), time: float = 0.0) -> ToolMotion:
        """Motion of a sensor at rest.

        Args:
            rotation: rotation matrix from the sensor frame to the world frame.
            gravity: gravity in the world frame [m/s^2].
            time: time on the monotonic clock [s].

        Raises:
            InputError: `rotation` is not a rotation matrix.
        """
        R = np.asarray(rotation, dtype=np.float64)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise InputError(
                f"rotation is {R.tolist()!r:.200}; required is a 3x3 rotation matrix.", field="rotation", value=R
            )
        up = -(R.T @ np.asarray(gravity, dtype=np.float64))
        return cls(time, up, np.zeros(3), np.zeros(3))


class SensorMotion:
    """Computes the motion of a sensor on a link from joint states."""

    def __init__(
        self, dynamics: Dynamics, link: str, xyz: Sequence[float] = (0.0,) * 3, rpy: Sequence[float] = (0.0,) * 3
    ) -> None:
        """Use a robot model.

        Args:
            dynamics: dynamics of the robot.
            link: link with the sensor.
            xyz: position of the sensor in the link frame [m].
            rpy: roll, pitch and yaw of the sensor in the link frame [rad].

        Raises:
            InputError: the link is unknown.
        """
        require_link(dynamics, link)
        self._dynamics, self._link = dynamics, link
        self._sensor = pose_of(xyz, rpy)
        self._gravity = np.array(dynamics.model.gravity, dtype=np.float64)

    def of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, time: float = 0.0) -> ToolMotion:
        """Compute the motion of the sensor frame.

        Args:
            q: configuration of the robot.
            v: velocities; None: at rest.
            a: accelerations; None: zero, so that only gravity and centrifugal terms remain.
            time: time on the monotonic clock [s].
        """
        R = (self._dynamics.pose(self._link, q) @ self._sensor)[:3, :3]
        if v is None:
            return ToolMotion.at_rest(R, self._gravity, time)
        zero = np.zeros(self._dynamics.model.nv)
        w = self._dynamics.velocity(self._link, q, v)[3:]
        rate = self._dynamics.acceleration(self._link, q, v, zero if a is None else a)
        arm = self._dynamics.pose(self._link, q)[:3, :3] @ self._sensor[:3, 3]
        origin = rate[:3] + np.cross(rate[3:], arm) + np.cross(w, np.cross(w, arm))
        return ToolMotion(time, R.T @ (origin - self._gravity), R.T @ w, R.T @ rate[3:])
