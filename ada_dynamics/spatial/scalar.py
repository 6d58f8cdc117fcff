# SPDX-License-Identifier: Apache-2.0
"""The generic scalar: a float, a wider float, an array of states, or a node of an expression graph."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeVar

# The algorithms use + - * / and the functions of `ada_dynamics.expr` on these and nothing else, so a Protocol
# would say no more than Any does; the alias carries the meaning.
Scalar: TypeAlias = Any


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
        # A vector multiplies its components by itself.
        return NotImplemented if isinstance(other, tuple) else self

    def __neg__(self) -> Zero:
        return self

    __radd__ = __add__
    __rmul__ = __truediv__ = __mul__


ZERO: Final = Zero(0.0)


def is_zero(x: Scalar) -> bool:
    """True if x is the constant zero (not: a variable that happens to be zero)."""
    return (type(x) is float or type(x) is Zero) and x == 0.0


Tuple = TypeVar("Tuple", bound=type[tuple[Any, ...]])


def algebra(cls: Tuple) -> Tuple:
    """A named tuple whose + and * are its own: it is neither joined nor repeated, and numpy makes no array of it."""
    for name, value in (("__radd__", _refused), ("__mul__", _refused), ("__array_ufunc__", None)):
        setattr(cls, name, value)
    return cls


def _refused(self: object, other: object) -> Scalar:
    kind = type(self).__name__
    raise TypeError(f"{other!r} with a {kind}: one {kind} is added to another, and a number stands before it: s * a")
