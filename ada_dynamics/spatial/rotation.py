# SPDX-License-Identifier: Apache-2.0
"""Rotations over generic scalars: about a coordinate axis, general, from an axis and angle, a quaternion or RPY.

A rotation R maps the coordinates of a frame B to those of a frame A, written ᴬR_B: `up` applies R (child to parent),
`down` applies Rᵀ (parent to child).
"""

from __future__ import annotations

from typing import Protocol

from ada_dynamics import expr
from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.scalar import UNIT3, Mat3, Scalar, Vec3


class Rotation(Protocol):
    """What every kind of rotation can do."""

    def up(self, a: Vec3) -> Vec3:
        """R a."""
        ...

    def down(self, a: Vec3) -> Vec3:
        """Rᵀ a."""
        ...

    def up_matrix(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        ...

    def up_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ for symmetric A, at lower cost."""
        ...

    def matrix(self) -> Mat3:
        """R as a matrix."""
        ...


class AxisRotation:
    """Rotation about coordinate axis k by an angle with cosine c and sine s."""

    def __init__(self, k: int, c: Scalar, s: Scalar) -> None:
        self.k, self.a, self.b = k, (k + 1) % 3, (k + 2) % 3
        self.c, self.s = c, s

    def up(self, v: Vec3) -> Vec3:
        """R v."""
        out = list(v)
        out[self.a] = self.c * v[self.a] - self.s * v[self.b]
        out[self.b] = self.s * v[self.a] + self.c * v[self.b]
        return (out[0], out[1], out[2])

    def down(self, v: Vec3) -> Vec3:
        """Rᵀ v."""
        out = list(v)
        out[self.a] = self.c * v[self.a] + self.s * v[self.b]
        out[self.b] = self.c * v[self.b] - self.s * v[self.a]
        return (out[0], out[1], out[2])

    def up_matrix(self, A: Mat3) -> Mat3:
        """R A Rᵀ.

        With u = s (A_aa - A_bb) + c (A_ab + A_ba): A'_aa = A_aa - s u, A'_bb = A_bb + s u, A'_ab = c u - A_ba,
        A'_ba = c u - A_ab.
        """
        k, a, b, c, s = self.k, self.a, self.b, self.c, self.s
        u = s * (A[a][a] - A[b][b]) + c * (A[a][b] + A[b][a])
        su, cu = s * u, c * u
        out = [[A[i][j] for j in range(3)] for i in range(3)]
        out[a][a], out[b][b] = A[a][a] - su, A[b][b] + su
        out[a][b], out[b][a] = cu - A[b][a], cu - A[a][b]
        out[a][k] = c * A[a][k] - s * A[b][k]
        out[b][k] = s * A[a][k] + c * A[b][k]
        out[k][a] = c * A[k][a] - s * A[k][b]
        out[k][b] = s * A[k][a] + c * A[k][b]
        return (
            (out[0][0], out[0][1], out[0][2]),
            (out[1][0], out[1][1], out[1][2]),
            (out[2][0], out[2][1], out[2][2]),
        )

    def up_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ for symmetric A.

        With d = A_aa - A_bb, u = s d + 2 c A_ab: A'_aa = A_aa - s u, A'_bb = A_bb + s u, A'_ab = c u - A_ab.
        """
        k, a, b, c, s = self.k, self.a, self.b, self.c, self.s
        aa, bb, ab, ak, bk = A[a][a], A[b][b], A[a][b], A[a][k], A[b][k]
        u = s * (aa - bb) + 2.0 * (c * ab)
        su = s * u
        out = [[A[i][j] for j in range(3)] for i in range(3)]
        out[a][a], out[b][b] = aa - su, bb + su
        out[a][b] = out[b][a] = c * u - ab
        out[a][k] = out[k][a] = c * ak - s * bk
        out[b][k] = out[k][b] = s * ak + c * bk
        return (
            (out[0][0], out[0][1], out[0][2]),
            (out[1][0], out[1][1], out[1][2]),
            (out[2][0], out[2][1], out[2][2]),
        )

    def matrix(self) -> Mat3:
        """R as a matrix."""
        e = UNIT3
        return v3.transpose((self.up(e[0]), self.up(e[1]), self.up(e[2])))


class MatrixRotation:
    """Rotation given by its matrix, of constants or of generic scalars."""

    def __init__(self, R: Mat3) -> None:
        self.R, self.Rt = R, v3.transpose(R)

    def up(self, a: Vec3) -> Vec3:
        """R a."""
        return v3.mat_vec(self.R, a)

    def down(self, a: Vec3) -> Vec3:
        """Rᵀ a."""
        return v3.mat_vec(self.Rt, a)

    def up_matrix(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        return v3.mat_mat(v3.mat_mat(self.R, A), self.Rt)

    def up_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ for symmetric A: only the upper triangle is computed."""
        T = v3.mat_mat(self.R, A)
        R = self.R
        xx, xy, xz = v3.dot(T[0], R[0]), v3.dot(T[0], R[1]), v3.dot(T[0], R[2])
        yy, yz, zz = v3.dot(T[1], R[1]), v3.dot(T[1], R[2]), v3.dot(T[2], R[2])
        return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))

    def matrix(self) -> Mat3:
        """R as a matrix."""
        return self.R


class Product:
    """The rotation R₁ R₂, kept as its two factors so that each works at its own (low) cost."""

    def __init__(self, outer: Rotation, inner: Rotation) -> None:
        self.outer, self.inner = outer, inner

    def up(self, a: Vec3) -> Vec3:
        """R₁ R₂ a."""
        return self.outer.up(self.inner.up(a))

    def down(self, a: Vec3) -> Vec3:
        """R₂ᵀ R₁ᵀ a."""
        return self.inner.down(self.outer.down(a))

    def up_matrix(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        return self.outer.up_matrix(self.inner.up_matrix(A))

    def up_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ for symmetric A."""
        return self.outer.up_symmetric(self.inner.up_symmetric(A))

    def matrix(self) -> Mat3:
        """R₁ R₂ as a matrix."""
        return v3.mat_mat(self.outer.matrix(), self.inner.matrix())


class NoRotation:
    """The identity."""

    def up(self, a: Vec3) -> Vec3:
        """a."""
        return a

    def down(self, a: Vec3) -> Vec3:
        """a."""
        return a

    def up_matrix(self, A: Mat3) -> Mat3:
        """A."""
        return A

    def up_symmetric(self, A: Mat3) -> Mat3:
        """A."""
        return A

    def matrix(self) -> Mat3:
        """The unit matrix."""
        return UNIT3


IDENTITY = NoRotation()


def constant_rotation(R: Mat3) -> Rotation:
    """The cheapest form of a rotation matrix of constants: none, about one coordinate axis, or general."""
    if R == UNIT3:
        return IDENTITY
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        # The zeros count too: 1 - ε²/2 is rounded to one long before the angle ε is.
        on_axis = R[k][k] == 1.0 and R[k][a] == R[k][b] == R[a][k] == R[b][k] == 0.0
        if on_axis and R[a][a] == R[b][b] and R[a][b] == -R[b][a]:
            return AxisRotation(k, R[a][a], R[b][a])
    return MatrixRotation(R)


def from_axis_angle(axis: Vec3, angle: Scalar) -> Mat3:
    """Rotation about a unit axis a by θ: R = E + [a×] sin θ + [a×]² (1 - cos θ) = e^{[a×]θ} (Awa 2009, eqs. 3-6)."""
    K = v3.skew(axis)
    KK = v3.mat_mat(K, K)
    s, one_minus_c = expr.sin(angle), 1.0 - expr.cos(angle)
    turned = v3.mat_add(
        (v3.scale(s, K[0]), v3.scale(s, K[1]), v3.scale(s, K[2])),
        (v3.scale(one_minus_c, KK[0]), v3.scale(one_minus_c, KK[1]), v3.scale(one_minus_c, KK[2])),
    )
    return v3.mat_add(UNIT3, turned)


def from_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """Rotation of the quaternion (x, y, z, w), scaled by its norm (transpose of Takahashi 2012, eq. 3.33, there ᵇR₀).

    Dividing by the squared norm makes a quaternion that is off by rounding give a proper rotation all the same.
    """
    k = 2.0 / (x * x + y * y + z * z + w * w)
    xs, ys, zs = k * x, k * y, k * z
    xx, yy, zz = xs * x, ys * y, zs * z
    xy, xz, yz = xs * y, xs * z, ys * z
    wx, wy, wz = xs * w, ys * w, zs * w
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    """Rotation of URDF's roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll), transpose of Takahashi 2012, eq. 3.30."""
    cr, sr = expr.cos(roll), expr.sin(roll)
    cp, sp = expr.cos(pitch), expr.sin(pitch)
    cy, sy = expr.cos(yaw), expr.sin(yaw)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
