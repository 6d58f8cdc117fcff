# SPDX-License-Identifier: Apache-2.0
"""Weight of a tool on a force/torque sensor.

Inertial forces of the tool are not computed, since accelerations are not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of


class SensorGravity(NamedTuple):
    """Gravity in the axes of the sensor.

    Attributes:
        time: time on the monotonic clock [s].
        vector: gravity [m/s^2].
    """

    time: float
    vector: Array

    @classmethod
    def of(cls, rotation: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81), time: float = 0.0) -> SensorGravity:
        """Gravity for an orientation of the sensor.

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
        return cls(time, R.T @ np.asarray(gravity, dtype=np.float64))

    @classmethod
    def on_link(
        cls, dynamics: Dynamics, link: str, q: ArrayLike, rpy: Sequence[float] = (0.0,) * 3, time: float = 0.0
    ) -> SensorGravity:
        """Gravity for a sensor on a link of a robot.

        Args:
            dynamics: dynamics of the robot.
            link: link with the sensor.
            q: configuration of the robot.
            rpy: roll, pitch and yaw of the sensor in the link frame [rad].
            time: time on the monotonic clock [s].

        Raises:
            InputError: the link is unknown.
        """
        rotation = dynamics.pose(link, q)[:3, :3] @ pose_of((0.0, 0.0, 0.0), rpy)[:3, :3]
        return cls.of(rotation, dynamics.model.gravity, time)


def tool_weight(mass: float, com: Sequence[float], gravity: SensorGravity) -> Array:
    """Wrench [f, n] on the sensor by the weight of a tool at rest, in the sensor frame.

    Args:
        mass: mass [kg].
        com: centre of mass in the sensor frame [m].
        gravity: gravity in the axes of the sensor.
    """
    force = mass * gravity.vector
    return np.concatenate([force, np.cross(np.asarray(com), force)])
