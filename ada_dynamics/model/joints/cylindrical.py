# SPDX-License-Identifier: Apache-2.0
"""The cylindrical joint: a slide and a turn on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.model.joints.base import JointType, force, moment, sliding, turning, unit
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import scale


class Cylindrical(JointType):
    """q = [distance [m], angle [rad]] along and about coordinate axis k."""

    kind, nq, nv = "cylindrical", 2, 2

    def __init__(self, k: int) -> None:
        self.k = k

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, angle), moved by distance e_k."""
        return Transform(AxisRotation(self.k, expr.cos(q[1]), expr.sin(q[1])), scale(q[0], unit(self.k)))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [[0, e_k], [e_k, 0]]: the axis is the same in both frames."""
        return (sliding(unit(self.k)), turning(unit(self.k)))

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """The moments and forces across the axis."""
        a, b = (self.k + 1) % 3, (self.k + 2) % 3
        return (moment(unit(a)), moment(unit(b)), force(unit(a)), force(unit(b)))
