# SPDX-License-Identifier: Apache-2.0
"""Tool on a force/torque sensor: its weight, and the identification of mass and centre of mass.

    samples = [(reading.raw, gravity), ...]     # six or more distinct orientations: gravity along ±x, ±y, ±z
    found = identify_tool(samples)
    found.mass, found.com, found.bias, found.force_residual, found.condition

The samples are taken at rest. Inertial forces of the tool are not computed, since accelerations are not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.errors import Refused

LARGEST_CONDITION = 300.0  # with columns scaled to equal norm; about 1 for six orientations along ±x, ±y, ±z
_MOMENT_WEIGHT = 10.0  # [1/m] of moments relative to forces
_STATIC = 4  # unknowns of the tool: mass and first moment
_AXES_POSES = "gravity along +x, -x, +y, -y, +z and -z of the sensor"


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


class IdentifiedTool(NamedTuple):
    """Result of the identification.

    Attributes:
        mass: mass [kg].
        com: centre of mass in the sensor frame [m].
        bias: zero of the sensor, in its frame [N, N m].
        force_residual: root mean square of the force residuals [N].
        moment_residual: root mean square of the moment residuals [N m].
        condition: condition number with columns scaled to equal norm, at most LARGEST_CONDITION.
        samples: number of readings used.
    """

    mass: float
    com: tuple[float, float, float]
    bias: Array
    force_residual: float
    moment_residual: float
    condition: float
    samples: int


def identify_tool(samples: Sequence[tuple[Array, SensorGravity]]) -> IdentifiedTool:
    """Estimate tool and sensor zero from readings.

    The wrench w = [m g, m c × g] + bias is linear in mass m, first moment m c and bias.

    Args:
        samples: raw wrench of the sensor at rest, and gravity in its axes.

    Raises:
        InputError: fewer than three samples, or an invalid wrench.
        Refused: the orientations are too similar, or the mass is not positive.
    """
    if len(samples) < 3:
        text = f"{len(samples)} samples; required are three or more, best six: {_AXES_POSES}."
        raise InputError(text, field="samples", value=len(samples), allowed="3 or more")
    rows, seen = _equations(samples)
    weights = np.tile([1.0] * 3 + [_MOMENT_WEIGHT] * 3, len(samples))
    weighted = rows * weights[:, None]
    sizes = np.linalg.norm(weighted, axis=0)
    is_determined = np.min(sizes) > 1e-9 * np.max(sizes)
    condition = float(np.linalg.cond(weighted / sizes)) if is_determined else math.inf
    if condition > LARGEST_CONDITION:
        text = (
            f"the orientations are too similar (condition {condition:.3g}, at most {LARGEST_CONDITION:g}): tool and "
            f"zero cannot be separated. Use {_AXES_POSES}."
        )
        raise Refused(text, field="condition", value=condition, allowed=LARGEST_CONDITION)
    found = np.linalg.lstsq(weighted / sizes, seen * weights, rcond=None)[0] / sizes
    left = (seen - rows @ found).reshape(-1, 6)
    mass = float(found[0])
    if mass <= 1e-6:
        text = (
            f"the estimated mass is {mass:.3g} kg: no tool on the sensor, or its axes differ from those of the given "
            "directions of gravity (z reversed?). Check rpy of the sensor."
        )
        raise Refused(text, field="mass", value=mass, allowed="positive")
    x, y, z = (found[1:4] / mass).tolist()
    force, moment = (float(np.sqrt(np.mean(part**2))) for part in (left[:, :3], left[:, 3:]))
    return IdentifiedTool(mass, (x, y, z), found[-6:], force, moment, condition, len(samples))


def _equations(samples: Sequence[tuple[Array, SensorGravity]]) -> tuple[Array, Array]:
    """Rows of the unknowns [tool, bias], and the readings; raises InputError."""
    rows = np.zeros((len(samples), 6, _STATIC + 6))
    seen = np.zeros((len(samples), 6))
    for i, (wrench, gravity) in enumerate(samples):
        values = np.asarray(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench {i} of the samples is {values.tolist()!r:.120}; required are six finite numbers."
            raise InputError(text, field=f"wrench {i}", value=values)
        seen[i] = values
        rows[i, :3, 0] = gravity.vector
        rows[i, 3:, 1:_STATIC] = np.cross(np.eye(3), gravity.vector).T
        rows[i, :, _STATIC:] = np.eye(6)
    return rows.reshape(-1, _STATIC + 6), seen.ravel()
