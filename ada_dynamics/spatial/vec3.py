# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and 3x3 matrices as tuples of generic scalars (Takahashi 2012, eqs. A.4, A.7, A.11).

A constant zero is the float 0.0: a product with it vanishes here already, so the same line costs nothing where a
model parameter is zero, whatever the scalar type.
"""

from __future__ import annotations

from collections.abc import Iterable

from ada_dynamics.spatial.scalar import Mat3, Scalar, Vec3


def is_zero(x: Scalar) -> bool:
    """Whether x is the constant zero (not: a variable that happens to be zero)."""
    return type(x) is float and x == 0.0


def product(x: Scalar, y: Scalar) -> Scalar:
    """x * y, where a constant zero wins over anything (also over a symbolic or wide factor)."""
    return 0.0 if is_zero(x) or is_zero(y) else x * y


def total(terms: Iterable[Scalar]) -> Scalar:
    """Sum of the terms without the constant zeros."""
    result: Scalar = 0.0
    for term in terms:
        if not is_zero(term):
            result = term if is_zero(result) else result + term
    return result


def plus(a: Scalar, b: Scalar) -> Scalar:
    """a + b, skipping constant zeros."""
    if is_zero(a):
        return b
    return a if is_zero(b) else a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """a - b, skipping constant zeros."""
    if is_zero(b):
        return a
    return -b if is_zero(a) else a - b


def add(a: Vec3, b: Vec3) -> Vec3:
    """a + b."""
    return (plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2]))


def sub(a: Vec3, b: Vec3) -> Vec3:
    """a - b."""
    return (minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2]))


def scale(s: Scalar, a: Vec3) -> Vec3:
    """s a."""
    return (product(s, a[0]), product(s, a[1]), product(s, a[2]))


def negate(a: Vec3) -> Vec3:
    """-a."""
    return (minus(0.0, a[0]), minus(0.0, a[1]), minus(0.0, a[2]))


def dot(a: Vec3, b: Vec3) -> Scalar:
    """a . b."""
    return total((product(a[0], b[0]), product(a[1], b[1]), product(a[2], b[2])))


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a x b."""
    return (
        minus(product(a[1], b[2]), product(a[2], b[1])),
        minus(product(a[2], b[0]), product(a[0], b[2])),
        minus(product(a[0], b[1]), product(a[1], b[0])),
    )


def skew(a: Vec3) -> Mat3:
    """The matrix [a x] with [a x] b = a x b (eqs. A.4, A.7, A.11; Awa 2009, eq. 6)."""
    x, y, z = a
    return ((0.0, minus(0.0, z), y), (z, 0.0, minus(0.0, x)), (minus(0.0, y), x, 0.0))


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
