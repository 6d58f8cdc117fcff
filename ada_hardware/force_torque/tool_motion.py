# SPDX-License-Identifier: Apache-2.0
"""How a sensor and what hangs on it move, from the states of a robot's joints."""

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
    """Motion of a sensor's frame, in its own axes.

    Attributes:
        time: when it was so, on the steady clock [s].
        acceleration: of its origin less that of free fall; at rest it points up, 9.81 long [m/s^2].
        angular_velocity: [rad/s].
        angular_acceleration: [rad/s^2].
    """

    time: float
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array

    @classmethod
    def at_rest(cls, rotation: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81), time: float = 0.0) -> ToolMotion:
        """Motion of a sensor that stands still.

        Args:
            rotation: 3x3, from the sensor's axes to the world's.
            gravity: in the world's axes [m/s^2].
            time: when, on the steady clock [s].

        Raises:
            InputError: that is no rotation.
        """
        R = np.asarray(rotation, dtype=np.float64)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise InputError(
                f"rotation is {R.tolist()!r:.200}; it must be a 3x3 rotation matrix.", field="rotation", value=R
            )
        up = -(R.T @ np.asarray(gravity, dtype=np.float64))
        return cls(time, up, np.zeros(3), np.zeros(3))


class SensorMotion:
    """How a sensor on a link of a robot moves, from the states of the robot's joints."""

    def __init__(
        self, dynamics: Dynamics, link: str, xyz: Sequence[float] = (0.0,) * 3, rpy: Sequence[float] = (0.0,) * 3
    ) -> None:
        """Prepare.

        Args:
            dynamics: of the robot.
            link: that carries the sensor.
            xyz: place of the sensor in the link [m].
            rpy: its roll, pitch and yaw there [rad].

        Raises:
            InputError: there is no such link.
        """
        require_link(dynamics, link)
        self._dynamics, self._link = dynamics, link
        self._sensor = pose_of(xyz, rpy)
        self._gravity = np.array(dynamics.model.gravity, dtype=np.float64)

    def of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, time: float = 0.0) -> ToolMotion:
        """Motion of the sensor's frame.

        Args:
            q: positions of the robot.
            v: velocities; None: it stands still.
            a: accelerations; None: zero, so that only weight and centrifugal terms count.
            time: when it was so, on the steady clock [s].
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
