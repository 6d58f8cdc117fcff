# SPDX-License-Identifier: Apache-2.0
"""The revolute joint (Takahashi 2012, table 2.1, R-joint) and its kind without limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ada_dynamics import expr
from ada_dynamics.model.joints.base import JointType, force, moment, turning, unit
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform


class Revolute(JointType):
    """One turn about coordinate axis k: q is the angle [rad]."""

    kind: ClassVar[str] = "revolute"
    nq, nv = 1, 1

    def __init__(self, k: int) -> None:
        self.k = k

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, q)."""
        return Transform(AxisRotation(self.k, expr.cos(q[0]), expr.sin(q[0])))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [e_k; 0]."""
        return (turning(unit(self.k)),)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """The two other moments and all forces."""
        a, b = (self.k + 1) % 3, (self.k + 2) % 3
        return (moment(unit(a)), moment(unit(b)), *(force(unit(i)) for i in range(3)))


class Continuous(Revolute):
    """A revolute joint that turns without end; its position is one angle all the same."""

    kind = "continuous"
