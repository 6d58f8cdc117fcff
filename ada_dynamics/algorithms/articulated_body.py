# SPDX-License-Identifier: Apache-2.0
"""Articulated bodies with any number of handles (Takahashi 2012, eqs. 2.3, 2.4): V̇ᵢ = Σⱼ Φᵢⱼ Fⱼ + Bᵢ.

All handles on one link move rigidly together, so each link has one handle at its origin. Accelerations are those of
points as in `kinematics.Moving`, and weight is an acceleration of the world: the centre of mass of a body without other
forces is at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ada_dynamics.algorithms.kinematics import spin_matrix
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import (
    ZERO,
    ZERO33,
    Mat3,
    Scalar,
    Vec3,
    algebra,
    cross,
    inverse_symmetric,
    matrix,
    skew,
    symmetric,
)


@algebra
class Operator(NamedTuple):
    """Φᵢⱼ in blocks: acceleration of handle i by a force on handle j, α = aa n + al f and a = la n + ll f."""

    aa: Mat3
    al: Mat3
    la: Mat3
    ll: Mat3

    def __matmul__(self, force: Force) -> Motion:
        """Φ F."""
        n, f = force
        return Motion(self.aa @ n + self.al @ f, self.la @ n + self.ll @ f)

    def __add__(self, other: Operator) -> Operator:  # type: ignore[override]
        return Operator(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def T(self) -> Operator:
        """Φᵢⱼᵀ = Φⱼᵢ."""
        return Operator(self.aa.T, self.la.T, self.al.T, self.ll.T)

    def force_at(self, X: Transform) -> Operator:
        """Φ X*: the operator for forces in a frame B, with X the pose of B in the frame of the handle (eq. A.17)."""
        rows = [X.to_child(Motion(n, f)) for n, f in zip((*self.aa, *self.la), (*self.al, *self.ll), strict=True)]
        angular, linear = [r.angular for r in rows], [r.linear for r in rows]
        return Operator(Mat3(*angular[:3]), Mat3(*linear[:3]), Mat3(*angular[3:]), Mat3(*linear[3:]))

    def seen_from(self, X: Transform) -> Operator:
        """X Φ X* of a symmetric Φ, computed for both sides at once."""
        R, P = X.rotation.inverse(), skew(X.position)
        # with p the position: n = n' + p x f', a' = a - p x α
        la = self.la - P @ self.aa
        left, right = self.la @ P, P @ la.T
        ll = symmetric(lambda i, j: self.ll[i][j] + (left[i][j] - right[i][j]))
        turned = R.conjugate(la)
        return Operator(R.conjugate_symmetric(self.aa), turned.T, turned, R.conjugate_symmetric(ll))

    def less_outer(self, y: Sequence[Motion], z: Sequence[Motion], is_symmetric: bool) -> Operator:
        """Φ - Σₖ yₖ zₖᵀ."""

        def less(block: Mat3, left: Sequence[Vec3], right: Sequence[Vec3], mirrored: bool) -> Mat3:
            def entry(i: int, j: int) -> Scalar:
                return block[i][j] - sum((a[i] * b[j] for a, b in zip(left, right, strict=True)), ZERO)

            return symmetric(entry) if mirrored else matrix(entry)

        ya, yl = [m.angular for m in y], [m.linear for m in y]
        za, zl = [m.angular for m in z], [m.linear for m in z]
        la = less(self.la, yl, za, False)
        al = la.T if is_symmetric else less(self.al, ya, zl, False)
        return Operator(less(self.aa, ya, za, is_symmetric), al, la, less(self.ll, yl, zl, is_symmetric))


NO_OPERATOR = Operator(ZERO33, ZERO33, ZERO33, ZERO33)


@dataclass(frozen=True)
class FreeBody:
    """A rigid body without constraints, by the terms of its acceleration."""

    operator: Operator  # Φ = I⁻¹ (eq. A.34)
    com: Vec3
    about_com: Mat3
    inverse_about_com: Mat3

    @classmethod
    def of(cls, inertia: RigidInertia) -> FreeBody:
        """From a regular inertia."""
        m, h, about = inertia
        c = (1.0 / m) * h
        D = skew(c)
        J = about - m * (D @ D.T)
        K = inverse_symmetric(J)
        DK = D @ K
        corner = DK @ D.T
        ll = symmetric(lambda i, j: corner[i][j] + (1.0 / m if i == j else 0.0))
        return cls(Operator(K, DK.T, DK, ll), c, J, K)

    def acceleration(self, w: Vec3) -> Motion:
        """Acceleration of the origin of a body that rotates with w without external forces.

        J ẇ = -w x J w about the centre of mass, which is at rest.
        """
        wd = -(self.inverse_about_com @ cross(w, self.about_com @ w))
        return Motion(wd, -(spin_matrix(w, wd) @ self.com))


@dataclass(frozen=True)
class ArticulatedBody:
    """Links connected by joints, represented by their handles."""

    handles: tuple[int, ...]  # links
    operators: Mapping[tuple[int, int], Operator]  # Φᵢⱼ for i <= j
    bias: Mapping[int, Motion]  # Bᵢ

    @classmethod
    def of_rigid(cls, link: int, operator: Operator, bias: Motion) -> ArticulatedBody:
        """Articulated body of a single link."""
        return cls((link,), {(link, link): operator}, {link: bias})

    def operator(self, i: int, j: int) -> Operator:
        """Φᵢⱼ."""
        return self.operators[i, j] if i <= j else self.operators[j, i].T
