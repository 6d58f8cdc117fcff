# SPDX-License-Identifier: Apache-2.0
"""The universal (Hooke) joint (Takahashi 2012, table 2.1, U-joint)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import (
    FORCES,
    MASS,
    NORMAL,
    SECOND,
    JointType,
    RowKind,
    angles,
    successive_turns_bias,
)
from ada_dynamics.model.rotations import align, clean_rotation
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation, Product
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO3, Scalar, Vec3


class Universal(JointType):
    """Rotation about z, fixed in the parent, then about y, fixed in the child: q = both angles [rad]."""

    kind, nq, nv = "universal", 2, 2
    axes = 2
    moves_as = closes_as = kind
    coordinates = rates = angles("1", "2")

    @classmethod
    def aligned(cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar) -> tuple[JointType, Array]:
        """Return the joint with its first axis on z and its second one on y."""
        assert axis2 is not None  # ensured by checked_values
        return cls(**own), clean_rotation(np.column_stack([np.cross(axis2, axis), axis2, axis]))

    @classmethod
    def aligned_sides(
        cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar
    ) -> tuple[JointType, Array, Array]:
        """Return the joint with its first axis on z of the parent side and its second one on y of the child side."""
        assert axis2 is not None  # ensured by checked_values
        return cls(**own), align(axis, 2)[0], align(axis2, 1)[0]

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rz(q1) Ry(q2)."""
        first = AxisRotation(2, expr.cos(q[0]), expr.sin(q[0]))
        return Transform(Product(first, AxisRotation(1, expr.cos(q[1]), expr.sin(q[1]))))

    def _axes(self, q: Sequence[Scalar]) -> tuple[Vec3, Vec3]:
        s2, c2 = expr.sin(q[1]), expr.cos(q[1])
        return Vec3(-s2, 0.0, c2), UNIT3[1]

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [(-s2, 0, c2), (0, 1, 0)]: orthonormal, so T_a = S."""
        first, second = self._axes(q)
        return (Motion(first, ZERO3), Motion(second, ZERO3))

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """The first axis rotates in the child frame."""
        return Motion(successive_turns_bias(self._axes(q), v), ZERO3)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moment about the common normal (c2, 0, s2) and all forces."""
        s2, c2 = expr.sin(q[1]), expr.cos(q[1])
        return (Force(Vec3(c2, 0.0, s2), ZERO3), *FORCES)

    def rows(self) -> tuple[RowKind, ...]:
        """All forces and the moment about the common normal."""
        return (*(RowKind(True, k) for k in range(3)), RowKind(False, NORMAL))

    def free_rows(self) -> tuple[RowKind, ...]:
        """Moments about both axes."""
        return (RowKind(False, 2), RowKind(False, SECOND))

    def movable_inertias(self) -> list[RigidInertia]:
        """Mass at the intersection of the axes."""
        return [MASS]
