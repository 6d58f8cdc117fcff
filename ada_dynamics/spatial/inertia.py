# SPDX-License-Identifier: Apache-2.0
"""Rigid-body, articulated-body and cross inertia (Takahashi 2012, eqs. A.20-A.40)."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import (
    ZERO33,
    Mat3,
    Scalar,
    Vec3,
    algebra,
    cross,
    diagonal,
    inverse_symmetric,
    skew,
    symmetric,
)


@algebra
class RigidInertia(NamedTuple):
    """Inertia of one rigid body about the origin O of its frame (eq. A.29)."""

    mass: Scalar  # [kg]
    first_moment: Vec3  # m c, with c the position of the centre of mass [kg m]
    about_origin: Mat3  # Ī_C + m D_C D_Cᵀ [kg m²]

    @classmethod
    def from_com(cls, mass: Scalar, com: Vec3, about_com: Mat3) -> RigidInertia:
        """From mass, centre of mass and the inertia tensor about the centre of mass (eqs. A.27-A.29)."""
        D = skew(com)
        return cls(mass, mass * com, about_com + mass * (D @ D.T))

    def __add__(self, other: RigidInertia) -> RigidInertia:  # type: ignore[override]
        return RigidInertia(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(*(a - b for a, b in zip(self, other, strict=True)))

    def __rmul__(self, s: Scalar) -> RigidInertia:
        return RigidInertia(*(s * a for a in self))

    def __matmul__(self, m: Motion) -> Force:
        """I V: momentum of the body (eqs. A.24, A.25)."""
        h, (w, v) = self.first_moment, m
        return Force(self.about_origin @ w + cross(h, v), self.mass * v - cross(h, w))

    def in_parent(self, X: Transform) -> RigidInertia:
        """Inertia in the parent frame A of X = ᴬT_B (eq. A.37)."""
        h = X.rotation.to_parent(self.first_moment)
        turned = X.rotation.conjugate_symmetric(self.about_origin)
        p, m = X.position, self.mass
        # I' = I + (p.g) 1 - (p gᵀ + g pᵀ)/2 with g = 2 h + m p
        g = 2.0 * h + m * p

        def entry(i: int, j: int) -> Scalar:
            if i != j:
                return turned[i][j] - 0.5 * (p[i] * g[j] + g[i] * p[j])
            j, k = (i + 1) % 3, (i + 2) % 3
            return turned[i][i] + (p[j] * g[j] + p[k] * g[k])

        return RigidInertia(m, h + m * p, symmetric(entry))

    def matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of eq. A.29, [angular; linear]."""
        D, m = skew(self.first_moment), self.mass
        return _blocks(self.about_origin, D, D.T, diagonal(m, m, m))

    def inverse_matrix(self) -> list[list[Scalar]]:
        """Φ = I⁻¹ in the closed form of eq. A.34; needs positive mass and a regular tensor about the CoM."""
        k = 1.0 / self.mass
        D = skew(k * self.first_moment)
        J = inverse_symmetric(self.about_origin - self.mass * (D @ D.T))
        JDt = J @ D.T
        return _blocks(J, JDt, D @ J, D @ JDt + diagonal(k, k, k))


def _blocks(A: Mat3, B: Mat3, C: Mat3, D: Mat3) -> list[list[Scalar]]:
    return [[*left, *right] for left, right in zip((*A, *C), (*B, *D), strict=True)]


@algebra
class ArticulatedInertia(NamedTuple):
    """Symmetric 6x6 operator from accelerations to forces, in blocks (eq. 2.2): n = H α + Bᵀ a, f = B α + A a."""

    H: Mat3  # moment per angular acceleration, symmetric
    B: Mat3  # force per angular acceleration
    A: Mat3  # force per linear acceleration, symmetric

    @classmethod
    def of_rigid(cls, body: RigidInertia) -> ArticulatedInertia:
        """Inertia of a single rigid body."""
        m = body.mass
        return cls(body.about_origin, skew(body.first_moment).T, diagonal(m, m, m))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(self.H + other.H, self.B + other.B, self.A + other.A)

    def __matmul__(self, m: Motion) -> Force:
        """I^A V̇: the force for an acceleration."""
        w, v = m
        return Force(self.H @ w + self.B.T @ v, self.B @ w + self.A @ v)

    def less_outer(self, U: Force, scaled: Force) -> ArticulatedInertia:
        """I^A - U Uᵀ/D for given U and U/D: the operator after one joint velocity is freed (eq. 2.32)."""
        (un, uf), (sn, sf) = U, scaled
        H = symmetric(lambda i, j: self.H[i][j] - un[i] * sn[j])
        A = symmetric(lambda i, j: self.A[i][j] - uf[i] * sf[j])
        return ArticulatedInertia(H, self.B - Mat3(*(x * sn for x in uf)), A)

    def in_parent(self, X: Transform) -> ArticulatedInertia:
        """The operator in the parent frame A of X = ᴬT_B (eq. A.37)."""
        R = X.rotation
        A, B, H = R.conjugate_symmetric(self.A), R.conjugate(self.B), R.conjugate_symmetric(self.H)
        P = skew(X.position)
        # a_B = a_A + α x p, n_A = n_B + p x f
        Bp = B - A @ P
        left, right = P @ Bp, P @ B
        return ArticulatedInertia(symmetric(lambda i, j: H[i][j] + (left[i][j] + right[j][i])), Bp, A)


@algebra
class CrossInertia(NamedTuple):
    """Cross inertia of two bodies: the force on one per acceleration of the other.

    A 6x6 operator in blocks: n = na α + nl a, f = fa α + fl a. Its rows are wrenches in the frame of the accelerating
    body.
    """

    na: Mat3
    nl: Mat3
    fa: Mat3
    fl: Mat3

    def __add__(self, other: CrossInertia) -> CrossInertia:  # type: ignore[override]
        return CrossInertia(*(a + b for a, b in zip(self, other, strict=True)))

    def __matmul__(self, m: Motion) -> Force:
        """The force for an acceleration of the other body."""
        w, v = m
        return Force(self.na @ w + self.nl @ v, self.fa @ w + self.fl @ v)

    @property
    def T(self) -> CrossInertia:
        """The transpose: the cross inertia with the two bodies exchanged."""
        na, nl, fa, fl = self
        return CrossInertia(na.T, fa.T, nl.T, fl.T)

    def less_outer(self, here: Force, there: Force) -> CrossInertia:
        """The operator minus the outer product here thereᵀ."""
        (n, f), (m, g) = here, there
        return CrossInertia(_less(self.na, n, m), _less(self.nl, n, g), _less(self.fa, f, m), _less(self.fl, f, g))

    def from_parent(self, X: Transform) -> CrossInertia:
        """The operator for accelerations of the parent frame A, X = ᴬT_B, of a body B at rest in A (eq. A.17)."""
        rows = [X.to_parent(Force(a, b)) for a, b in zip((*self.na, *self.fa), (*self.nl, *self.fl), strict=True)]
        moments, forces = [r.moment for r in rows], [r.force for r in rows]
        return CrossInertia(Mat3(*moments[:3]), Mat3(*forces[:3]), Mat3(*moments[3:]), Mat3(*forces[3:]))

    def with_transposed(self) -> ArticulatedInertia:
        """K + Kᵀ: the inertia that the coupling adds when the two bodies are joined rigidly."""
        both = self + self.T
        return ArticulatedInertia(both.na, both.fa, both.fl)


NO_CROSS_INERTIA = CrossInertia(ZERO33, ZERO33, ZERO33, ZERO33)


def _less(block: Mat3, left: Vec3, right: Vec3) -> Mat3:
    return block - Mat3(*(x * right for x in left))
