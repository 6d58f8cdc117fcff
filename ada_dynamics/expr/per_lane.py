# SPDX-License-Identifier: Apache-2.0
"""Values with one generic scalar per lane."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from numbers import Complex
from typing import Any, NoReturn

import numpy as np

from ada_dynamics.errors import InputError


def _operators(operation: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Methods of `PerLane` for an operation on its left and on its right."""

    def forward(self: PerLane, other: object) -> Any:
        return _both(operation, self, other)

    def reflected(self: PerLane, other: object) -> Any:
        return _both(operation, other, self)

    return forward, reflected


class PerLane:
    """Scalars in lanes with element-wise + - * /; a single scalar is broadcast to all lanes.

    Lanes of floats are the constants of lane expressions. Lanes of floats, extended-precision floats or arrays are used
    by the reference evaluation of an algorithm on numbers.
    """

    __slots__ = ("values",)
    # With None, numpy defers to the operators below.
    __array_ufunc__ = None

    def __init__(self, values: Sequence[Any]) -> None:
        """Args: one scalar per lane. `per_lane` returns a float if all lanes have the same one."""
        self.values = tuple(values)

    def __repr__(self) -> str:
        return f"PerLane{self.values!r}"

    def __len__(self) -> int:
        return len(self.values)

    __add__, __radd__ = _operators(operator.add)
    __sub__, __rsub__ = _operators(operator.sub)
    __mul__, __rmul__ = _operators(operator.mul)
    __truediv__, __rtruediv__ = _operators(operator.truediv)

    def __pow__(self, exponent: int) -> Any:
        return per_lane([x**exponent for x in self.values])

    def __neg__(self) -> PerLane:
        return PerLane([-x for x in self.values])

    def __pos__(self) -> PerLane:
        return self

    def __eq__(self, other: object) -> bool:
        """Return True if all lanes are equal; never equal to a float, see `per_lane`."""
        return isinstance(other, PerLane) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def _no_truth(self, *_: object) -> NoReturn:
        raise TypeError(
            "a comparison of several lanes has no truth value; choose lane by lane with expr.select(a, b, x, y), "
            "which is x where a < b and y elsewhere"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _no_truth

    @property
    def is_constant(self) -> bool:
        """Return True if every lane is a number, so that the value can be an operand of an expression."""
        return all(isinstance(x, (float, int)) for x in self.values)


def per_lane(values: Sequence[Any]) -> Any:
    """One scalar per lane; a float if all lanes have the same one, so that it can be folded."""
    first = values[0]
    if isinstance(first, (float, int)) and all(isinstance(x, (float, int)) and x == first for x in values):
        return float(first)
    return PerLane(values)


def lane_count(x: Any) -> int:
    """Number of lanes of a value that is not an expression."""
    return len(x) if type(x) is PerLane else 1


def lane_of(x: Any, lane: int) -> Any:
    """The scalar in one lane."""
    return x.values[lane] if type(x) is PerLane else x


def lane_by_lane(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function of scalars to operands, at least one of them a `PerLane`."""
    count = common_count({len(x) for x in operands if type(x) is PerLane})
    return per_lane([function(*(lane_of(x, lane) for x in operands)) for lane in range(count)])


def common_count(counts: set[int]) -> int:
    """The only one of some numbers of lanes; 1 for none."""
    if len(counts) > 1:
        text = f"operands with {' and '.join(map(str, sorted(counts)))} lanes cannot be combined"
        raise InputError(text, field="lanes", value=tuple(sorted(counts)))
    return counts.pop() if counts else 1


def _both(operation: Callable[[Any, Any], Any], a: object, b: object) -> Any:
    for x in (a, b):
        # Other types, such as expressions, implement the operation themselves.
        if not isinstance(x, (float, PerLane, int, Complex, np.ndarray)):
            return NotImplemented
    return lane_by_lane(operation, a, b)
