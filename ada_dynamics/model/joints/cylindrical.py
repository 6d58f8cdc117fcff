# SPDX-License-Identifier: Apache-2.0
"""Cylindrical joint: translation and rotation on one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import AxisJoint, Coordinate, force, moment, round_about, sliding, turning, unit
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


class Cylindrical(AxisJoint):
    """q = [distance [m], angle [rad]] along and about coordinate axis k."""

    kind, nq, nv = "cylindrical", 2, 2
    moves_as = closes_as = kind
    coordinates = rates = (Coordinate("slide", "m", "slide"), Coordinate("turn", "rad", "turn"))

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, angle) and translation by distance e_k."""
        return Transform(AxisRotation(self.k, expr.cos(q[1]), expr.sin(q[1])), q[0] * unit(self.k))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [[0, e_k], [e_k, 0]]: the axis is the same in both frames."""
        return (sliding(unit(self.k)), turning(unit(self.k)))

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments and forces perpendicular to the axis."""
        a, b = self.across
        return (moment(unit(a)), moment(unit(b)), force(unit(a)), force(unit(b)))

    def unfelt(self) -> list[RigidInertia]:
        """Equal moments of inertia perpendicular to the axis."""
        return [round_about(self.k)]

    def positions_at(self, R: Array, p: Array) -> Array:
        """Distance and angle."""
        return np.array([p[self.k], self.angle(R)])
