# SPDX-License-Identifier: Apache-2.0
"""Fixed joint, and joints on one axis: revolute, prismatic, cylindrical, helical (Takahashi 2012, tables 2.1, 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import (
    ALONE,
    AXISYMMETRIC,
    FIRST_MOMENTS,
    FORCES,
    MASS,
    MOMENTS,
    ROTATIONAL,
    SLIDES,
    TURNS,
    AxisJoint,
    Coordinate,
    JointType,
    RowKind,
)
from ada_dynamics.model.rotations import to_mat3, to_vec3
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY, AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, Scalar


class Fixed(JointType):
    """A joint without motion: T is the unit matrix."""

    kind, nq, nv = "fixed", 0, 0
    axes = 0
    moves_as = closes_as = kind
    coordinates = rates = ()
    is_even = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Identity."""
        return Transform()

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """No motion."""
        return ()

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """T = U."""
        return (*MOMENTS, *FORCES)

    def movable_inertias(self) -> list[RigidInertia]:
        """All inertias."""
        return [MASS, *FIRST_MOMENTS, *ROTATIONAL]


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
        return (TURNS[self.k],)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments about both other axes and all forces."""
        a, b = self.across
        return (MOMENTS[a], MOMENTS[b], *FORCES)

    def movable_inertias(self) -> list[RigidInertia]:
        """Mass on the axis and equal moments of inertia perpendicular to it."""
        return [MASS, FIRST_MOMENTS[self.k], AXISYMMETRIC[self.k]]

    def split_inertia(self, inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """Keep the inertia about the axis; move mass on it and equal moments perpendicular to it."""
        h: Array = np.array(inertia.first_moment)
        about: Array = np.array(inertia.about_origin)
        across = self.across[1]
        axis = np.eye(3)[self.k]
        on_axis = h[self.k] * axis
        symmetric = about[across, across] * (np.eye(3) - np.outer(axis, axis))
        kept = RigidInertia(0.0, to_vec3(h - on_axis), to_mat3(about - symmetric))
        return kept, RigidInertia(inertia.mass, to_vec3(on_axis), to_mat3(symmetric))


class Continuous(Revolute):
    """A revolute joint without position limits."""

    kind = "continuous"
    is_endless = True


class Prismatic(AxisJoint):
    """Translation along coordinate axis k: q is the distance [m]."""

    kind, nq, nv = "prismatic", 1, 1
    moves_as = closes_as = kind
    coordinates = rates = (ALONE["m"],)
    can_have_spring = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Translation by q e_k."""
        return Transform(IDENTITY, q[0] * UNIT3[self.k])

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [0; e_k]."""
        return (SLIDES[self.k],)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """All moments and the forces along both other axes."""
        a, b = self.across
        return (*MOMENTS, FORCES[a], FORCES[b])

    def movable_inertias(self) -> list[RigidInertia]:
        """Any rotational inertia."""
        return [*ROTATIONAL]


class Cylindrical(AxisJoint):
    """q = [distance [m], angle [rad]] along and about coordinate axis k."""

    kind, nq, nv = "cylindrical", 2, 2
    moves_as = closes_as = kind
    coordinates = rates = (Coordinate("slide", "m", "slide"), Coordinate("turn", "rad", "turn"))

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, angle) and translation by distance e_k."""
        return Transform(AxisRotation(self.k, expr.cos(q[1]), expr.sin(q[1])), q[0] * UNIT3[self.k])

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [[0, e_k], [e_k, 0]]: the axis is the same in both frames."""
        return (SLIDES[self.k], TURNS[self.k])

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments and forces perpendicular to the axis."""
        a, b = self.across
        return (MOMENTS[a], MOMENTS[b], FORCES[a], FORCES[b])

    def movable_inertias(self) -> list[RigidInertia]:
        """Equal moments of inertia perpendicular to the axis."""
        return [AXISYMMETRIC[self.k]]


class Helical(AxisJoint):
    """Rotation about coordinate axis k with a translation of `pitch` [m/rad] along it: q is the angle [rad].

    A positive pitch is a right-handed thread. The angle may be many turns; as a loop joint it knows none of them: the
    loop is closed wherever the two threads fit.
    """

    kind, nq, nv = "helical", 1, 1
    other_names = ("screw",)
    moves_as = closes_as = kind
    coordinates = rates = (ALONE["rad"],)
    constants = ("pitch",)
    can_have_spring = True

    def __init__(self, k: int, pitch: Scalar) -> None:
        super().__init__(k)
        self.pitch = pitch

    @classmethod
    def constants_problem(cls, **own: float) -> str | None:
        """Report a pitch of zero."""
        return None if own["pitch"] else "its pitch is 0 m/rad; a joint that does not slide is revolute."

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(e_k, q) and translation by pitch q e_k."""
        return Transform(AxisRotation(self.k, expr.cos(q[0]), expr.sin(q[0])), self.pitch * q[0] * UNIT3[self.k])

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [e_k; pitch e_k]."""
        return (Motion(UNIT3[self.k], self.pitch * UNIT3[self.k]),)

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """The moment about the axis."""
        return (MOMENTS[self.k],)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments and forces perpendicular to the axis, and the wrench along it that does no work."""
        a, b = self.across
        thread = Force(-self.pitch * UNIT3[self.k], UNIT3[self.k])
        return (MOMENTS[a], MOMENTS[b], FORCES[a], FORCES[b], thread)

    def free_rows(self) -> tuple[RowKind, ...]:
        """Rotation with translation."""
        return (RowKind(False, self.k, float(self.pitch)),)

    def movable_inertias(self) -> list[RigidInertia]:
        """Equal moments of inertia perpendicular to the axis."""
        return [AXISYMMETRIC[self.k]]
