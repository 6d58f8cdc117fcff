# SPDX-License-Identifier: Apache-2.0
"""Helical (screw) joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import ALONE, AxisJoint, RowKind, force, moment, round_about, unit
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


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
        return Transform(AxisRotation(self.k, expr.cos(q[0]), expr.sin(q[0])), self.pitch * q[0] * unit(self.k))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [e_k; pitch e_k]."""
        return (Motion(unit(self.k), self.pitch * unit(self.k)),)

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """The moment about the axis."""
        return (moment(unit(self.k)),)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments and forces perpendicular to the axis, and the wrench along it that does no work."""
        a, b = self.across
        thread = Force(-self.pitch * unit(self.k), unit(self.k))
        return (moment(unit(a)), moment(unit(b)), force(unit(a)), force(unit(b)), thread)

    def free_rows(self) -> tuple[RowKind, ...]:
        """Rotation with translation."""
        return (RowKind(False, self.k, float(self.pitch)),)

    def unfelt(self) -> list[RigidInertia]:
        """Equal moments of inertia perpendicular to the axis."""
        return [round_about(self.k)]

    def positions_at(self, R: Array, p: Array) -> Array:
        """Angle about the axis, including whole turns from the translation."""
        angle, wanted = self.angle(R), p[self.k] / self.pitch
        return np.array([angle + 2.0 * np.pi * np.round((wanted - angle) / (2.0 * np.pi))])

    def brought_near(self, q: Array, near: Array) -> Array:
        """Return q: whole turns change the position."""
        return q
