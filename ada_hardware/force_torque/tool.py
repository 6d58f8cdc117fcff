# SPDX-License-Identifier: Apache-2.0
"""Tool on a force/torque sensor: its motion, its wrench (weight and inertial forces), and their identification.

    samples = [(reading.raw, motion), ...]      # six or more distinct orientations: gravity along ±x, ±y, ±z
    found = identify_tool(samples)
    found.mass, found.com, found.bias, found.force_residual, found.condition

The samples are taken at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Motion
from ada_dynamics.spatial.orientation import pose_of
from ada_dynamics.spatial.vector import ZERO3, Vec3, symmetric_of
from ada_robot.errors import Refused

INERTIAL = 10  # mass, first moment (3), inertia about the origin (xx, yy, zz, xy, xz, yz)
_STATIC = 4  # of them: mass and first moment, which determine the wrench at rest
LARGEST_CONDITION = 300.0  # with columns scaled to equal norm; about 1 for six orientations along ±x, ±y, ±z
_MOMENT_WEIGHT = 10.0  # [1/m] of moments relative to forces
_AXES_POSES = "gravity along +x, -x, +y, -y, +z and -z of the sensor"


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


class ToolLoad:
    """Wrench of a rigid tool on its sensor, in the sensor frame.

    Attributes:
        parameters: mass, first moment m c, inertia about the sensor origin xx, yy, zz, xy, xz, yz.
    """

    def __init__(self, mass: float, com: Sequence[float], inertia: Sequence[float] = (0.0,) * 6) -> None:
        """Compute the inertial parameters.

        Args:
            mass: mass [kg].
            com: centre of mass in the sensor frame [m].
            inertia: xx, yy, zz, xy, xz, yz about the centre of mass, sensor axes [kg m^2].
        """
        xx, yy, zz, xy, xz, yz = map(float, inertia)
        about_com = symmetric_of((xx, xy, xz, yy, yz, zz))
        body = RigidInertia.from_com(float(mass), Vec3(*map(float, com)), about_com)
        I = body.about_origin
        self.parameters = np.array(
            [body.mass, *body.first_moment, I[0][0], I[1][1], I[2][2], I[0][1], I[0][2], I[1][2]], dtype=np.float64
        )

    def wrench(self, motion: ToolMotion) -> Array:
        """Wrench [f, n] that the sensor measures because of the tool."""
        return tool_wrench(self.parameters, motion)


def tool_wrench(parameters: Array, motion: ToolMotion) -> Array:
    """Tool wrench -(I A + V x* I V), linear in the parameters, where A is the acceleration minus gravity.

    The sensor measures the reaction of the wrench that moves the tool. The velocity of the origin has no effect: in a
    frame that moves with it, V = [ω; 0].
    """
    w, wd, a = motion.angular_velocity, motion.angular_acceleration, motion.acceleration
    return np.asarray(_law()(parameters, np.concatenate([w, wd, a])))


@lru_cache(maxsize=1)
def _law() -> Callable[..., Any]:
    def body(parameters: Vector, motion: Vector) -> Any:
        m, hx, hy, hz, xx, yy, zz, xy, xz, yz = parameters
        w, wd, a = (Vec3(*motion[k : k + 3]) for k in (0, 3, 6))
        inertia = RigidInertia(m, Vec3(hx, hy, hz), symmetric_of((xx, xy, xz, yy, yz, zz)))
        turning = Motion(w, ZERO3)
        needed = inertia @ Motion(wd, a) + turning.cross_force(inertia @ turning)
        return {"wrench": [*-needed.force, *-needed.moment]}

    return compiled("tool_wrench", {"parameters": INERTIAL, "motion": 9}, body)


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


def identify_tool(samples: Sequence[tuple[Array, ToolMotion]]) -> IdentifiedTool:
    """Estimate tool and sensor zero from readings.

    At rest w = tool_wrench(parameters, motion) + bias is linear in mass, m c and bias.

    Args:
        samples: raw wrench of the sensor at rest, and its motion, which gives the direction of gravity.

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
            "motions (z reversed?). Check xyz and rpy of the sensor."
        )
        raise Refused(text, field="mass", value=mass, allowed="positive")
    x, y, z = (found[1:4] / mass).tolist()
    force, moment = (float(np.sqrt(np.mean(part**2))) for part in (left[:, :3], left[:, 3:]))
    return IdentifiedTool(mass, (x, y, z), found[-6:], force, moment, condition, len(samples))


def _equations(samples: Sequence[tuple[Array, ToolMotion]]) -> tuple[Array, Array]:
    """Rows of the unknowns [tool, bias], and the readings; raises InputError."""
    rows = np.zeros((len(samples), 6, _STATIC + 6))
    seen = np.zeros((len(samples), 6))
    unit = np.eye(INERTIAL)
    for i, (wrench, motion) in enumerate(samples):
        values = np.asarray(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench {i} of the samples is {values.tolist()!r:.120}; required are six finite numbers."
            raise InputError(text, field=f"wrench {i}", value=values)
        seen[i] = values
        rows[i, :, :_STATIC] = np.transpose([tool_wrench(unit[k], motion) for k in range(_STATIC)])
        rows[i, :, _STATIC:] = np.eye(6)
    return rows.reshape(-1, _STATIC + 6), seen.ravel()
