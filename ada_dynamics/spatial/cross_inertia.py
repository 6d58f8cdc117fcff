# SPDX-License-Identifier: Apache-2.0
"""Inertia between two bodies: the force on one per acceleration of the other, where something rigid couples them."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.scalar import ZERO3, Mat3, Scalar, Vec3
from ada_dynamics.spatial.transform import Transform

_ZERO33: Mat3 = (ZERO3, ZERO3, ZERO3)


class CrossInertia(NamedTuple):
    """6x6 operator in blocks: n = na α + nl a, f = fa α + fl a, from the accelerations of one body to another's force.

    Three rows of moments and three of forces; the six rows are wrenches in the frame of the body that accelerates.
    """

    na: Mat3
    nl: Mat3
    fa: Mat3
    fl: Mat3

    def __add__(self, other: object) -> CrossInertia:
        if not isinstance(other, CrossInertia):
            return NotImplemented
        return CrossInertia(*(v3.mat_add(a, b) for a, b in zip(self, other, strict=True)))

    def times(self, m: Motion) -> Force:
        """The wrench that an acceleration of the other body needs here."""
        w, v = m
        return Force(
            v3.add(v3.mat_vec(self.na, w), v3.mat_vec(self.nl, v)),
            v3.add(v3.mat_vec(self.fa, w), v3.mat_vec(self.fl, v)),
        )

    def transposed(self) -> CrossInertia:
        """The same seen from the other body."""
        na, nl, fa, fl = (v3.transpose(block) for block in self)
        return CrossInertia(na, fa, nl, fl)

    def less_outer(self, here: Force, there: Force) -> CrossInertia:
        """The operator less here thereᵀ."""
        (n, f), (m, g) = here, there
        return CrossInertia(_less(self.na, n, m), _less(self.nl, n, g), _less(self.fa, f, m), _less(self.fl, f, g))

    def from_parent(self, X: Transform) -> CrossInertia:
        """For the acceleration of the other body's parent A, where X = ᴬT_B and B stands still in A (eq. A.17)."""
        rows = [X.force_up(Force(a, b)) for a, b in zip((*self.na, *self.fa), (*self.nl, *self.fl), strict=True)]
        moments, forces = [r.moment for r in rows], [r.force for r in rows]
        return CrossInertia(_rows(moments[:3]), _rows(forces[:3]), _rows(moments[3:]), _rows(forces[3:]))

    def with_transposed(self) -> ArticulatedInertia:
        """K + Kᵀ: what both are worth together once the two bodies are one."""
        mirrored = self.transposed()
        return ArticulatedInertia(
            v3.mat_add(self.na, mirrored.na), v3.mat_add(self.fa, mirrored.fa), v3.mat_add(self.fl, mirrored.fl)
        )


NO_CROSS_INERTIA = CrossInertia(_ZERO33, _ZERO33, _ZERO33, _ZERO33)


def _rows(rows: list[Vec3]) -> Mat3:
    return (rows[0], rows[1], rows[2])


def _less(block: Mat3, left: Vec3, right: Vec3) -> Mat3:
    return _rows([_less_scaled(row, x, right) for row, x in zip(block, left, strict=True)])


def _less_scaled(row: Vec3, x: Scalar, right: Vec3) -> Vec3:
    return (
        row[0] - x * right[0],
        row[1] - x * right[1],
        row[2] - x * right[2],
    )
