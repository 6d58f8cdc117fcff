# SPDX-License-Identifier: Apache-2.0
"""Vectors and 3x3 matrices of generic scalars (Takahashi 2012, eqs. A.4, A.7, A.11).

A constant zero has no cost: expression graphs fold it, and `ZERO` absorbs products with every other type of scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, overload

# The algorithms apply only + - * / and the functions of `ada_dynamics.expr`, so a Protocol would add no information.
Scalar: TypeAlias = Any
Item = TypeVar("Item")


class Zero(float):
    """The constant zero of any scalar type: 0 * x is 0, and 0 + x is x.

    Expression graphs fold the float 0.0; arrays of states and extended-precision floats would carry it as a term.
    """

    __slots__ = ()
    # numpy defers to the methods below instead of making an array of zeros.
    __array_ufunc__ = None

    def __add__(self, other: Scalar) -> Scalar:
        return other

    def __sub__(self, other: Scalar) -> Scalar:
        return -other

    def __rsub__(self, other: Scalar) -> Scalar:
        return other

    def __mul__(self, other: Scalar) -> Scalar:
        # Vec3.__rmul__ handles the product with a vector.
        return NotImplemented if isinstance(other, tuple) else self

    def __neg__(self) -> Zero:
        return self

    __radd__ = __add__
    __rmul__ = __truediv__ = __mul__


ZERO: Final = Zero(0.0)


def is_zero(x: Scalar) -> bool:
    """Return True if x is the constant zero (and not a variable whose value is zero)."""
    return (type(x) is float or type(x) is Zero) and x == 0.0


def leaves(values: Any) -> list[Scalar]:
    """All scalars of nested tuples or lists."""
    return [x for part in values for x in leaves(part)] if isinstance(values, (list, tuple)) else [values]


def product(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Σ a b."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def weighted(weights: Sequence[Scalar], items: Sequence[Item], zero: Item) -> Item:
    """Σ w x of motions or forces."""
    start: Any = zero
    total: Item = sum((w * x for w, x in zip(weights, items, strict=True)), start)
    return total


Tuple = TypeVar("Tuple", bound=type[tuple[Any, ...]])


def algebra(cls: Tuple) -> Tuple:
    """Class decorator of named tuples with arithmetic: removes concatenation, repetition and conversion by numpy."""
    for name, value in (("__radd__", _refused), ("__mul__", _refused), ("__array_ufunc__", None)):
        setattr(cls, name, value)
    return cls


def _refused(self: object, other: object) -> Scalar:
    kind = type(self).__name__
    raise TypeError(
        f"cannot combine {other!r} and {kind}: add two of type {kind}, or write a number first, as in s * a"
    )


_new = tuple.__new__  # takes half the time of Vec3(x, y, z)


@algebra
class Vec3(NamedTuple):
    """A vector: a + b, a - b, -a, s * a, a / s, and a @ b for the inner product."""

    x: Scalar
    y: Scalar
    z: Scalar

    def __add__(self, other: Vec3) -> Vec3:  # type: ignore[override]
        return _new(Vec3, (self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def __sub__(self, other: Vec3) -> Vec3:
        return _new(Vec3, (self[0] - other[0], self[1] - other[1], self[2] - other[2]))

    def __neg__(self) -> Vec3:
        return _new(Vec3, (-self[0], -self[1], -self[2]))

    def __rmul__(self, s: Scalar) -> Vec3:
        return _new(Vec3, (s * self[0], s * self[1], s * self[2]))

    def __truediv__(self, s: Scalar) -> Vec3:
        return Vec3.__rmul__(self, 1.0 / s)

    def __matmul__(self, other: Vec3) -> Scalar:
        return self[0] * other[0] + self[1] * other[1] + self[2] * other[2]


@algebra
class Mat3(NamedTuple):
    """A matrix by its rows: A + B, A - B, s * A, A @ b and A @ B, and A.T."""

    x: Vec3
    y: Vec3
    z: Vec3

    @classmethod
    def of(cls, rows: Iterable[Iterable[Scalar]]) -> Mat3:
        """From three rows of three elements."""
        x, y, z = rows
        return _new(cls, (Vec3(*x), Vec3(*y), Vec3(*z)))

    def __add__(self, other: Mat3) -> Mat3:  # type: ignore[override]
        return Mat3(self[0] + other[0], self[1] + other[1], self[2] + other[2])

    def __sub__(self, other: Mat3) -> Mat3:
        return Mat3(self[0] - other[0], self[1] - other[1], self[2] - other[2])

    def __rmul__(self, s: Scalar) -> Mat3:
        return Mat3(s * self[0], s * self[1], s * self[2])

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...

    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Mat3):
            Bt = other.T
            return Mat3(Bt @ self[0], Bt @ self[1], Bt @ self[2])
        return _new(Vec3, (self[0] @ other, self[1] @ other, self[2] @ other))

    @property
    def T(self) -> Mat3:
        """The transpose."""
        return Mat3.of(zip(*self, strict=True))


ZERO3 = Vec3(ZERO, ZERO, ZERO)
ZERO33 = Mat3(ZERO3, ZERO3, ZERO3)
UNIT3 = Mat3(Vec3(1.0, ZERO, ZERO), Vec3(ZERO, 1.0, ZERO), Vec3(ZERO, ZERO, 1.0))


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a x b."""
    return _new(Vec3, (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))


def skew(a: Vec3) -> Mat3:
    """The matrix [a x] with [a x] b = a x b (eqs. A.4, A.7, A.11; Awa 2009, eq. 6)."""
    x, y, z = a
    return Mat3(Vec3(ZERO, -z, y), Vec3(z, ZERO, -x), Vec3(-y, x, ZERO))


def diagonal(a: Scalar, b: Scalar, c: Scalar) -> Mat3:
    """diag(a, b, c)."""
    return Mat3(Vec3(a, 0.0, 0.0), Vec3(0.0, b, 0.0), Vec3(0.0, 0.0, c))


def matrix(entry: Callable[[int, int], Scalar]) -> Mat3:
    """The matrix with the given entries."""
    return Mat3.of((entry(i, 0), entry(i, 1), entry(i, 2)) for i in range(3))


def symmetric(entry: Callable[[int, int], Scalar]) -> Mat3:
    """The symmetric matrix with the given entries on and above the diagonal.

    Equal entries are one value, not two.
    """
    return symmetric_of((entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)))


def symmetric_of(x: Sequence[Scalar]) -> Mat3:
    """The symmetric matrix with the given six entries on and above the diagonal, row by row."""
    xx, xy, xz, yy, yz, zz = x
    return Mat3(Vec3(xx, xy, xz), Vec3(xy, yy, yz), Vec3(xz, yz, zz))


def inverse_symmetric(A: Mat3) -> Mat3:
    """Inverse of a symmetric matrix by cofactors."""
    x, y, z = A
    c0, c1, c2 = cross(y, z), cross(z, x), cross(x, y)
    k = 1.0 / (x @ c0)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = k * c0, k * c1, k * c2
    return symmetric_of((xx, xy, xz, yy, yz, zz))
