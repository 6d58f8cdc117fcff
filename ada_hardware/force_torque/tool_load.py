# SPDX-License-Identifier: Apache-2.0
"""Wrench of a tool on its sensor: weight and inertial forces (Newton-Euler)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Motion
from ada_dynamics.spatial.vector import ZERO3, Vec3, symmetric_of
from ada_hardware.force_torque.tool_motion import ToolMotion

INERTIAL = 10  # mass, first moment (3), inertia about the origin (xx, yy, zz, xy, xz, yz)


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
