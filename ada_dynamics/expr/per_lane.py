# SPDX-License-Identifier: Apache-2.0
"""One generic scalar for each lane: what differs between equal sub-chains that are computed side by side."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from ada_dynamics.errors import InputError


class PerLane:
    """Scalars side by side, with + - * / lane by lane; a single scalar counts for every lane.

    Lanes of floats are the constants of lane expressions, as floats are those of plain ones; lanes of floats, wider
    floats or arrays also carry an algorithm through its reference run on numbers.
    """

    __slots__ = ("values",)
    # As for `Expr`: numpy defers to the operators below.
    __array_ufunc__ = None

    def __init__(self, values: Sequence[Any]) -> None:
        """Use `per_lane`, which knows when lanes are one plain float."""
        self.values = tuple(values)

    def __repr__(self) -> str:
        return f"PerLane{self.values!r}"

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: object) -> Any:
        return _both(operator.add, self, other)

    def __radd__(self, other: object) -> Any:
        return _both(operator.add, other, self)

    def __sub__(self, other: object) -> Any:
        return _both(operator.sub, self, other)

    def __rsub__(self, other: object) -> Any:
        return _both(operator.sub, other, self)

    def __mul__(self, other: object) -> Any:
        return _both(operator.mul, self, other)

    def __rmul__(self, other: object) -> Any:
        return _both(operator.mul, other, self)

    def __truediv__(self, other: object) -> Any:
        return _both(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _both(operator.truediv, other, self)

    def __pow__(self, exponent: int) -> Any:
        return per_lane([x**exponent for x in self.values])

    def __neg__(self) -> PerLane:
        return PerLane([-x for x in self.values])

    def __pos__(self) -> PerLane:
        return self

    def __eq__(self, other: object) -> bool:
        """True if these are the same numbers; lanes are never equal to a plain float, see `per_lane`."""
        return isinstance(other, PerLane) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def _no_truth(self, *_: object) -> NoReturn:
        raise TypeError(
            "a comparison has no single answer for several lanes; choose lane by lane with expr.select(a, b, x, y), "
            "which is x where a < b and y elsewhere"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _no_truth

    @property
    def is_constant(self) -> bool:
        """True if every lane is a plain number, so that this can be an operand in an expression."""
        return all(isinstance(x, (float, int)) for x in self.values)


def per_lane(values: Sequence[Any]) -> Any:
    """One scalar for each lane; the same float in all lanes is that float, so that it folds as any other."""
    first = values[0]
    if isinstance(first, (float, int)) and all(isinstance(x, (float, int)) and x == first for x in values):
        return float(first)
    return PerLane(values)


def lane_count(x: Any) -> int:
    """Number of lanes of a value that is no expression."""
    return len(x) if type(x) is PerLane else 1


def lane_of(x: Any, lane: int) -> Any:
    """The scalar in one lane."""
    return x.values[lane] if type(x) is PerLane else x


def lane_by_lane(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of scalars on operands of which one at least is a `PerLane`."""
    count = _common_count(operands)
    return per_lane([function(*(lane_of(x, lane) for x in operands)) for lane in range(count)])


def _common_count(operands: Sequence[Any]) -> int:
    counts = {len(x) for x in operands if type(x) is PerLane}
    if len(counts) != 1:
        raise InputError(
            f"operands with {' and '.join(map(str, sorted(counts)))} lanes cannot be combined",
            field="lanes",
            value=tuple(sorted(counts)),
        )
    return counts.pop()


def _both(operation: Callable[[Any, Any], Any], a: object, b: object) -> Any:
    for x in (a, b):
        # Anything else, an expression above all, knows itself what to make of lanes.
        if not isinstance(x, (float, PerLane, int, Real, np.ndarray)):
            return NotImplemented
    return lane_by_lane(operation, a, b)
