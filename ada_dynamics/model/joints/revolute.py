# SPDX-License-Identifier: Apache-2.0
"""Revolute joint (Takahashi 2012, table 2.1, R-joint) with and without limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import (
    ALONE,
    MASS,
    AxisJoint,
    first_moment,
    force,
    moment,
    round_about,
    turning,
    unit,
)
from ada_dynamics.model.rotations import to_mat3, to_vec3
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


class Revolute(AxisJoint):
    """Rotation about coordinate axis k: q is the angle [rad]."""

    kind: ClassVar[str] = "revolute"
    nq, nv = 1, 1
    moves_as = closes_as = "revolute"
    coordinates = rates = (ALONE["rad"],)
    can_have_spring = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, q)."""
        return Transform(AxisRotation(self.k, expr.cos(q[0]), expr.sin(q[0])))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [e_k; 0]."""
        return (turning(unit(self.k)),)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments about both other axes and all forces."""
        a, b = self.across
        return (moment(unit(a)), moment(unit(b)), *(force(unit(i)) for i in range(3)))

    def unfelt(self) -> list[RigidInertia]:
        """Mass on the axis and equal moments of inertia perpendicular to it."""
        return [MASS, first_moment(self.k), round_about(self.k)]

    def parted(self, inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """Keep the inertia about the axis; move mass on it and equal moments perpendicular to it."""
        h: Array = np.array(inertia.first_moment)
        about: Array = np.array(inertia.about_origin)
        across = self.across[1]
        axis = np.eye(3)[self.k]
        on_axis = h[self.k] * axis
        symmetric = about[across, across] * (np.eye(3) - np.outer(axis, axis))
        kept = RigidInertia(0.0, to_vec3(h - on_axis), to_mat3(about - symmetric))
        return kept, RigidInertia(inertia.mass, to_vec3(on_axis), to_mat3(symmetric))

    def positions_at(self, R: Array, p: Array) -> Array:
        """Rotation angle about the axis."""
        return np.array([self.angle(R)])


class Continuous(Revolute):
    """A revolute joint without position limits."""

    kind = "continuous"
    is_endless = True
