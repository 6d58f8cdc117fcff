# SPDX-License-Identifier: Apache-2.0
"""Inertia between two bodies: the force on one per acceleration of the other, where something rigid couples them."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.scalar import algebra
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import ZERO33, Mat3, Vec3


@algebra
class CrossInertia(NamedTuple):
    """6x6 operator in blocks: n = na α + nl a, f = fa α + fl a, from the accelerations of one body to another's force.

    Three rows of moments and three of forces; the six rows are wrenches in the frame of the body that accelerates.
    """

    na: Mat3
    nl: Mat3
    fa: Mat3
    fl: Mat3

    def __add__(self, other: CrossInertia) -> CrossInertia:  # type: ignore[override]
        return CrossInertia(*(a + b for a, b in zip(self, other, strict=True)))

    def __matmul__(self, m: Motion) -> Force:
        """The wrench that an acceleration of the other body needs here."""
        w, v = m
        return Force(self.na @ w + self.nl @ v, self.fa @ w + self.fl @ v)

    @property
    def T(self) -> CrossInertia:
        """The same seen from the other body."""
        na, nl, fa, fl = self
        return CrossInertia(na.T, fa.T, nl.T, fl.T)

    def less_outer(self, here: Force, there: Force) -> CrossInertia:
        """The operator less here thereᵀ."""
        (n, f), (m, g) = here, there
        return CrossInertia(_less(self.na, n, m), _less(self.nl, n, g), _less(self.fa, f, m), _less(self.fl, f, g))

    def from_parent(self, X: Transform) -> CrossInertia:
        """For the acceleration of the other body's parent A, where X = ᴬT_B and B stands still in A (eq. A.17)."""
        rows = [X.to_parent(Force(a, b)) for a, b in zip((*self.na, *self.fa), (*self.nl, *self.fl), strict=True)]
        moments, forces = [r.moment for r in rows], [r.force for r in rows]
        return CrossInertia(Mat3(*moments[:3]), Mat3(*forces[:3]), Mat3(*moments[3:]), Mat3(*forces[3:]))

    def with_transposed(self) -> ArticulatedInertia:
        """K + Kᵀ: what both are worth together once the two bodies are one."""
        both = self + self.T
        return ArticulatedInertia(both.na, both.fa, both.fl)


NO_CROSS_INERTIA = CrossInertia(ZERO33, ZERO33, ZERO33, ZERO33)


def _less(block: Mat3, left: Vec3, right: Vec3) -> Mat3:
    return block - Mat3(*(x * right for x in left))
