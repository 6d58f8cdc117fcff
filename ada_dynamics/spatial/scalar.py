# SPDX-License-Identifier: Apache-2.0
"""The generic scalar: a float, a wider float, an array of states, or a node of an expression graph."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

# The algorithms use + - * / and the functions of `ada_dynamics.expr` on these and nothing else, so a Protocol
# would say no more than Any does; the aliases below carry the meaning.
Scalar: TypeAlias = Any
Vec3: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat3: TypeAlias = tuple[Vec3, Vec3, Vec3]


class Zero(float):
    """The constant zero: what is multiplied by it vanishes, what is added to it stays itself, whatever its type.

    Expression graphs fold the float 0.0 by themselves; arrays of states and wide floats would keep it as a term.
    """

    __slots__ = ()
    # numpy leaves the operation to the methods below, instead of making an array of zeros.
    __array_ufunc__ = None

    def __add__(self, other: Scalar) -> Scalar:
        return other

    def __sub__(self, other: Scalar) -> Scalar:
        return -other

    def __rsub__(self, other: Scalar) -> Scalar:
        return other

    def __mul__(self, other: Scalar) -> Scalar:
        return self

    def __neg__(self) -> Zero:
        return self

    __radd__ = __add__
    __rmul__ = __truediv__ = __mul__


ZERO: Final = Zero(0.0)
ZERO3: Vec3 = (ZERO, ZERO, ZERO)
UNIT3: Mat3 = ((1.0, ZERO, ZERO), (ZERO, 1.0, ZERO), (ZERO, ZERO, 1.0))


def is_zero(x: Scalar) -> bool:
    """True if x is the constant zero (not: a variable that happens to be zero)."""
    return (type(x) is float or type(x) is Zero) and x == 0.0
