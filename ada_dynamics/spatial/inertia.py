# SPDX-License-Identifier: Apache-2.0
"""Rigid-body and articulated-body inertia (Takahashi 2012, eqs. A.20-A.40)."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import Rotation
from ada_dynamics.spatial.scalar import Mat3, Scalar, Vec3
from ada_dynamics.spatial.transform import Transform


class RigidInertia(NamedTuple):
    """Inertia of one rigid body about the origin O of its frame (eq. A.29)."""

    mass: Scalar  # [kg]
    first_moment: Vec3  # m c, with c the position of the centre of mass [kg m]
    about_origin: Mat3  # Ī_C + m D_C D_Cᵀ [kg m²]

    @classmethod
    def from_com(cls, mass: Scalar, com: Vec3, about_com: Mat3) -> RigidInertia:
        """From mass, centre of mass and the inertia tensor about the centre of mass (eqs. A.27-A.29)."""
        D = v3.skew(com)
        shift = v3.mat_mat(D, v3.transpose(D))
        moved = v3.mat_add(about_com, (v3.scale(mass, shift[0]), v3.scale(mass, shift[1]), v3.scale(mass, shift[2])))
        return cls(mass, v3.scale(mass, com), moved)

    def __add__(self, other: object) -> RigidInertia:
        if not isinstance(other, RigidInertia):
            return NotImplemented
        return RigidInertia(
            self.mass + other.mass,
            v3.add(self.first_moment, other.first_moment),
            v3.mat_add(self.about_origin, other.about_origin),
        )

    def times(self, m: Motion) -> Force:
        """I V: the momentum of the body (eqs. A.24, A.25)."""
        h, (w, v) = self.first_moment, m
        moment = v3.add(v3.mat_vec(self.about_origin, w), v3.cross(h, v))
        return Force(moment, v3.sub(v3.scale(self.mass, v), v3.cross(h, w)))

    def up(self, X: Transform) -> RigidInertia:
        """The same body seen from the parent frame A of X = ᴬT_B (eq. A.37)."""
        h = X.rotation.up(self.first_moment)
        turned = X.rotation.up_symmetric(self.about_origin)
        p, m = X.position, self.mass
        # I' = I + (p.g) 1 - (p gᵀ + g pᵀ)/2 with g = 2 h + m p
        g = v3.add(v3.scale(2.0, h), v3.scale(m, p))
        shifted = [[turned[i][j] for j in range(3)] for i in range(3)]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            shifted[i][i] = turned[i][i] + (p[j] * g[j] + p[k] * g[k])
            cross = p[i] * g[j] + g[i] * p[j]
            shifted[i][j] = shifted[j][i] = turned[i][j] - 0.5 * cross
        about = (tuple(shifted[0]), tuple(shifted[1]), tuple(shifted[2]))
        return RigidInertia(m, v3.add(h, v3.scale(m, p)), about)

    def matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of eq. A.29, [angular; linear]."""
        D = v3.skew(self.first_moment)
        top = [[*self.about_origin[i], *D[i]] for i in range(3)]
        Dt = v3.transpose(D)
        return top + [[*Dt[i], *(self.mass if i == j else 0.0 for j in range(3))] for i in range(3)]

    def inverse_matrix(self) -> list[list[Scalar]]:
        """Φ = I⁻¹ in the closed form of eq. A.34; needs positive mass and a regular tensor about the CoM."""
        c = v3.scale(1.0 / self.mass, self.first_moment)
        D = v3.skew(c)
        DDt = v3.mat_mat(D, v3.transpose(D))
        about_com = v3.mat_sub(
            self.about_origin,
            (v3.scale(self.mass, DDt[0]), v3.scale(self.mass, DDt[1]), v3.scale(self.mass, DDt[2])),
        )
        J = inverse_symmetric(about_com)
        JDt, DJ = v3.mat_mat(J, v3.transpose(D)), v3.mat_mat(D, J)
        corner = v3.mat_mat(D, JDt)
        top = [[*J[i], *JDt[i]] for i in range(3)]
        return top + [
            [*DJ[i], *(corner[i][j] + (1.0 / self.mass if i == j else 0.0) for j in range(3))] for i in range(3)
        ]


class ArticulatedInertia(NamedTuple):
    """Symmetric 6x6 operator from accelerations to forces, in blocks (eq. 2.2): n = H α + Bᵀ a, f = B α + A a."""

    H: Mat3  # moment per angular acceleration, symmetric
    B: Mat3  # force per angular acceleration
    A: Mat3  # force per linear acceleration, symmetric

    @classmethod
    def of_rigid(cls, body: RigidInertia) -> ArticulatedInertia:
        """A rigid body as an articulated body without joints."""
        m = body.mass
        return cls(body.about_origin, v3.transpose(v3.skew(body.first_moment)), v3.diagonal(m, m, m))

    def __add__(self, other: object) -> ArticulatedInertia:
        if not isinstance(other, ArticulatedInertia):
            return NotImplemented
        return ArticulatedInertia(v3.mat_add(self.H, other.H), v3.mat_add(self.B, other.B), v3.mat_add(self.A, other.A))

    def times(self, m: Motion) -> Force:
        """I^A V̇."""
        (w, v), Bt = m, v3.transpose(self.B)
        return Force(
            v3.add(v3.mat_vec(self.H, w), v3.mat_vec(Bt, v)), v3.add(v3.mat_vec(self.B, w), v3.mat_vec(self.A, v))
        )

    def less_outer(self, U: Force, scaled: Force) -> ArticulatedInertia:
        """I^A - U Uᵀ/D, given U and U/D: what is left of the operator once one joint axis is free (eq. 2.32)."""
        (un, uf), (sn, sf) = U, scaled
        H = v3.mirror_upper(_upper(lambda i, j: self.H[i][j] - un[i] * sn[j]))
        A = v3.mirror_upper(_upper(lambda i, j: self.A[i][j] - uf[i] * sf[j]))
        B = v3.mat_sub(self.B, (v3.scale(uf[0], sn), v3.scale(uf[1], sn), v3.scale(uf[2], sn)))
        return ArticulatedInertia(H, B, A)

    def up(self, X: Transform) -> ArticulatedInertia:
        """The operator seen from the parent frame A of X = ᴬT_B (eq. A.37)."""
        R: Rotation = X.rotation
        A, B, H = R.up_symmetric(self.A), R.up_matrix(self.B), R.up_symmetric(self.H)
        P = v3.skew(X.position)
        # a_B = a_A + α x p, n_A = n_B + p x f
        Bp = v3.mat_sub(B, v3.mat_mat(A, P))
        left, right = v3.mat_mat(P, Bp), v3.mat_mat(P, B)
        Hp = _upper(lambda i, j: H[i][j] + (left[i][j] + right[j][i]))
        return ArticulatedInertia(v3.mirror_upper(Hp), Bp, A)


def _upper(entry: object) -> Mat3:
    """The 3x3 matrix whose upper triangle is entry(i, j); its lower triangle is left 0."""
    f = entry
    return (
        (f(0, 0), f(0, 1), f(0, 2)),  # type: ignore[operator]
        (0.0, f(1, 1), f(1, 2)),  # type: ignore[operator]
        (0.0, 0.0, f(2, 2)),  # type: ignore[operator]
    )


def inverse_symmetric(A: Mat3) -> Mat3:
    """Inverse of a symmetric 3x3 matrix by cofactors."""
    c0, c1, c2 = v3.cross(A[1], A[2]), v3.cross(A[2], A[0]), v3.cross(A[0], A[1])
    k = 1.0 / v3.dot(A[0], c0)
    return v3.mirror_upper((v3.scale(k, c0), v3.scale(k, c1), v3.scale(k, c2)))
