# SPDX-License-Identifier: Apache-2.0
"""Rotations over generic scalars: about a coordinate axis, general, from axis and angle, quaternion or roll-pitch-yaw.

A rotation R maps coordinates in a child frame B to coordinates in its parent frame A, written ᴬR_B.
"""

from __future__ import annotations

from typing import Protocol

from ada_dynamics import expr
from ada_dynamics.spatial.vector import UNIT3, Mat3, Scalar, Vec3, matrix, skew, symmetric


class Rotation(Protocol):
    """A rotation of any kind."""

    def to_parent(self, a: Vec3) -> Vec3:
        """R a."""
        ...

    def to_child(self, a: Vec3) -> Vec3:
        """Rᵀ a."""
        ...

    def conjugate(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        ...

    def conjugate_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ of a symmetric A, at lower cost."""
        ...

    def inverse(self) -> Rotation:
        """R⁻¹, at the same cost per application."""
        ...

    def matrix(self) -> Mat3:
        """R as a matrix."""
        ...


class AxisRotation:
    """Rotation about coordinate axis k by an angle with cosine c and sine s."""

    def __init__(self, k: int, c: Scalar, s: Scalar) -> None:
        self.k, self.a, self.b = k, (k + 1) % 3, (k + 2) % 3
        self.c, self.s = c, s

    def to_parent(self, v: Vec3) -> Vec3:
        """R v."""
        out = list(v)
        out[self.a] = self.c * v[self.a] - self.s * v[self.b]
        out[self.b] = self.s * v[self.a] + self.c * v[self.b]
        return Vec3(*out)

    def to_child(self, v: Vec3) -> Vec3:
        """Rᵀ v."""
        out = list(v)
        out[self.a] = self.c * v[self.a] + self.s * v[self.b]
        out[self.b] = self.c * v[self.b] - self.s * v[self.a]
        return Vec3(*out)

    def conjugate(self, A: Mat3) -> Mat3:
        """R A Rᵀ.

        With u = s (A_aa - A_bb) + c (A_ab + A_ba): A'_aa = A_aa - s u, A'_bb = A_bb + s u, A'_ab = c u - A_ba,
        A'_ba = c u - A_ab.
        """
        k, a, b, c, s = self.k, self.a, self.b, self.c, self.s
        u = s * (A[a][a] - A[b][b]) + c * (A[a][b] + A[b][a])
        su, cu = s * u, c * u
        out = [list(row) for row in A]
        out[a][a], out[b][b] = A[a][a] - su, A[b][b] + su
        out[a][b], out[b][a] = cu - A[b][a], cu - A[a][b]
        out[a][k] = c * A[a][k] - s * A[b][k]
        out[b][k] = s * A[a][k] + c * A[b][k]
        out[k][a] = c * A[k][a] - s * A[k][b]
        out[k][b] = s * A[k][a] + c * A[k][b]
        return Mat3.of(out)

    def conjugate_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ of a symmetric A.

        With d = A_aa - A_bb, u = s d + 2 c A_ab: A'_aa = A_aa - s u, A'_bb = A_bb + s u, A'_ab = c u - A_ab.
        """
        k, a, b, c, s = self.k, self.a, self.b, self.c, self.s
        aa, bb, ab, ak, bk = A[a][a], A[b][b], A[a][b], A[a][k], A[b][k]
        u = s * (aa - bb) + 2.0 * (c * ab)
        su = s * u
        out = [list(row) for row in A]
        out[a][a], out[b][b] = aa - su, bb + su
        out[a][b] = out[b][a] = c * u - ab
        out[a][k] = out[k][a] = c * ak - s * bk
        out[b][k] = out[k][b] = s * ak + c * bk
        return Mat3.of(out)

    def inverse(self) -> AxisRotation:
        """Rotation by the opposite angle."""
        return AxisRotation(self.k, self.c, -self.s)

    def matrix(self) -> Mat3:
        """R as a matrix."""
        return Mat3(*map(self.to_parent, UNIT3)).T


class MatrixRotation:
    """Rotation given by its matrix, of constants or of generic scalars."""

    def __init__(self, R: Mat3) -> None:
        self.R, self.Rt = R, R.T

    def to_parent(self, a: Vec3) -> Vec3:
        """R a."""
        return self.R @ a

    def to_child(self, a: Vec3) -> Vec3:
        """Rᵀ a."""
        return self.Rt @ a

    def conjugate(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        return self.R @ A @ self.Rt

    def conjugate_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ of a symmetric A; only the upper triangle is computed."""
        R, T = self.R, self.R @ A
        return symmetric(lambda i, j: T[i] @ R[j])

    def inverse(self) -> MatrixRotation:
        """Rotation given by Rᵀ."""
        return MatrixRotation(self.Rt)

    def matrix(self) -> Mat3:
        """R as a matrix."""
        return self.R


class Product:
    """The rotation R₁ R₂, stored as two factors, each applied in its cheapest form."""

    def __init__(self, outer: Rotation, inner: Rotation) -> None:
        self.outer, self.inner = outer, inner

    def to_parent(self, a: Vec3) -> Vec3:
        """R₁ R₂ a."""
        return self.outer.to_parent(self.inner.to_parent(a))

    def to_child(self, a: Vec3) -> Vec3:
        """R₂ᵀ R₁ᵀ a."""
        return self.inner.to_child(self.outer.to_child(a))

    def conjugate(self, A: Mat3) -> Mat3:
        """R A Rᵀ."""
        return self.outer.conjugate(self.inner.conjugate(A))

    def conjugate_symmetric(self, A: Mat3) -> Mat3:
        """R A Rᵀ for symmetric A."""
        return self.outer.conjugate_symmetric(self.inner.conjugate_symmetric(A))

    def inverse(self) -> Product:
        """R₂⁻¹ R₁⁻¹."""
        return Product(self.inner.inverse(), self.outer.inverse())

    def matrix(self) -> Mat3:
        """R₁ R₂ as a matrix."""
        return self.outer.matrix() @ self.inner.matrix()


class NoRotation:
    """The identity."""

    def to_parent(self, a: Vec3) -> Vec3:
        """a."""
        return a

    def to_child(self, a: Vec3) -> Vec3:
        """a."""
        return a

    def conjugate(self, A: Mat3) -> Mat3:
        """A."""
        return A

    def conjugate_symmetric(self, A: Mat3) -> Mat3:
        """A."""
        return A

    def inverse(self) -> NoRotation:
        """The identity."""
        return self

    def matrix(self) -> Mat3:
        """The unit matrix."""
        return UNIT3


IDENTITY = NoRotation()


def constant_rotation(*matrices: Mat3) -> Rotation:
    """The cheapest form of a constant rotation matrix, or of one per lane: identity, about one axis, or general."""
    if all(R == UNIT3 for R in matrices):
        return IDENTITY
    for k in range(3):
        if all(is_about_axis(R, k) for R in matrices):
            a, b = (k + 1) % 3, (k + 2) % 3
            return AxisRotation(k, *(expr.pack([R[i][a] for R in matrices]) for i in (a, b)))
    return MatrixRotation(matrix(lambda i, j: expr.pack([R[i][j] for R in matrices])))


def is_about_axis(R: Mat3, k: int) -> bool:
    """Return True if a rotation matrix of constants is one about coordinate axis k."""
    a, b = (k + 1) % 3, (k + 2) % 3
    # The zeros are checked, too: 1 - ε²/2 rounds to one at angles ε that are not negligible.
    on_axis = R[k][k] == 1.0 and R[k][a] == R[k][b] == R[a][k] == R[b][k] == 0.0
    return bool(on_axis and R[a][a] == R[b][b] and R[a][b] == -R[b][a])


def from_axis_angle(axis: Vec3, angle: Scalar) -> Mat3:
    """Rotation about a unit axis a by θ: R = E + [a×] sin θ + [a×]² (1 - cos θ) = e^{[a×]θ} (Awa 2009, eqs. 3-6)."""
    K = skew(axis)
    turned: Mat3 = expr.sin(angle) * K + (1.0 - expr.cos(angle)) * (K @ K)
    return UNIT3 + turned


def from_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """Rotation of the quaternion (x, y, z, w), scaled by its norm (transpose of Takahashi 2012, eq. 3.33, there ᵇR₀).

    Division by the squared norm gives a proper rotation even if the norm is not exactly one.
    """
    k = 2.0 / (x * x + y * y + z * z + w * w)
    xs, ys, zs = k * x, k * y, k * z
    xx, yy, zz = xs * x, ys * y, zs * z
    xy, xz, yz = xs * y, xs * z, ys * z
    wx, wy, wz = xs * w, ys * w, zs * w
    return Mat3(
        Vec3(1.0 - (yy + zz), xy - wz, xz + wy),
        Vec3(xy + wz, 1.0 - (xx + zz), yz - wx),
        Vec3(xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    """Rotation of URDF's roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll), transpose of Takahashi 2012, eq. 3.30."""
    cr, sr = expr.cos(roll), expr.sin(roll)
    cp, sp = expr.cos(pitch), expr.sin(pitch)
    cy, sy = expr.cos(yaw), expr.sin(yaw)
    return Mat3(
        Vec3(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        Vec3(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        Vec3(-sp, cp * sr, cp * cr),
    )
