# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and 3x3 matrices as tuples of generic scalars (Takahashi 2012, eqs. A.4, A.7, A.11).

A constant zero costs nothing: expression graphs fold it, `ZERO` stays zero with every other type of scalar.
"""

from __future__ import annotations

from ada_dynamics.spatial.scalar import ZERO, Mat3, Scalar, Vec3


def add(a: Vec3, b: Vec3) -> Vec3:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec3, b: Vec3) -> Vec3:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Vec3) -> Vec3:
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


def negate(a: Vec3) -> Vec3:
    """-a."""
    return (-a[0], -a[1], -a[2])


def dot(a: Vec3, b: Vec3) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def skew(a: Vec3) -> Mat3:
    """The matrix [a x] with [a x] b = a x b (eqs. A.4, A.7, A.11; Awa 2009, eq. 6)."""
    x, y, z = a
    return ((ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO))


def mat_vec(A: Mat3, b: Vec3) -> Vec3:
    """A b."""
    return (dot(A[0], b), dot(A[1], b), dot(A[2], b))


def transpose(A: Mat3) -> Mat3:
    """Aᵀ."""
    return (
        (A[0][0], A[1][0], A[2][0]),
        (A[0][1], A[1][1], A[2][1]),
        (A[0][2], A[1][2], A[2][2]),
    )


def mat_mat(A: Mat3, B: Mat3) -> Mat3:
    """A B."""
    Bt = transpose(B)
    return (mat_vec(Bt, A[0]), mat_vec(Bt, A[1]), mat_vec(Bt, A[2]))


def mat_add(A: Mat3, B: Mat3) -> Mat3:
    """A + B."""
    return (add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2]))


def mat_sub(A: Mat3, B: Mat3) -> Mat3:
    """A - B."""
    return (sub(A[0], B[0]), sub(A[1], B[1]), sub(A[2], B[2]))


def mirror_upper(A: Mat3) -> Mat3:
    """The symmetric matrix that has the upper triangle of A (so that equal entries are one value, not two)."""
    return (A[0], (A[0][1], A[1][1], A[1][2]), (A[0][2], A[1][2], A[2][2]))


def diagonal(a: Scalar, b: Scalar, c: Scalar) -> Mat3:
    """diag(a, b, c)."""
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))
