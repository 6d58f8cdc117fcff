# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of expressions, Python floats, lanes, and numpy numbers of any precision."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.graph import Expr
from ada_dynamics.expr.per_lane import PerLane, lane_by_lane

S = TypeVar("S")
_PLAIN = (float, int)


def sin(x: S) -> S:
    """Sine of an angle [rad]."""
    return _apply(ops.sine, math.sin, np.sin, x)


def cos(x: S) -> S:
    """Cosine of an angle [rad]."""
    return _apply(ops.cosine, math.cos, np.cos, x)


def sqrt(x: S) -> S:
    """Square root."""
    return _apply(ops.square_root, math.sqrt, np.sqrt, x)


def _apply(to_node: Callable[..., Any], to_float: Callable[..., Any], to_array: Callable[..., Any], x: S) -> S:
    apply = to_float if isinstance(x, _PLAIN) else to_array
    if type(x) is Expr:
        apply = to_node
    elif type(x) is PerLane:
        apply = partial(lane_by_lane, partial(_apply, to_node, to_float, to_array))
    result: S = apply(x)
    return result


def atan2(y: Any, x: Any) -> Any:
    """Angle [rad] of the point (x, y), from -pi to pi; 0 at the origin."""
    operands = (y, x)
    if any(operand.__class__ is Expr for operand in operands):
        return ops.arctangent(*(x if x.__class__ in (Expr, PerLane) else float(x) for x in operands))
    if any(operand.__class__ is PerLane for operand in operands):
        return lane_by_lane(atan2, *operands)
    if all(isinstance(operand, _PLAIN) for operand in operands):
        return math.atan2(y, x)
    return np.arctan2(y, x)


def select(a: Any, b: Any, x: Any, y: Any) -> Any:
    """`x` where a < b, else `y` (also if a or b is NaN); the only branch in traced algorithms."""
    operands = (a, b, x, y)
    if any(operand.__class__ is Expr for operand in operands):
        return ops.select_node(*(x if x.__class__ in (Expr, PerLane) else float(x) for x in operands))
    if any(operand.__class__ is PerLane for operand in operands):
        return lane_by_lane(select, *operands)
    if any(isinstance(operand, np.ndarray) for operand in operands):
        return np.where(np.less(a, b), x, y)
    return x if a < b else y


def absolute(x: S) -> S:
    """|x|."""
    return select(x, 0.0, -x, x)  # type: ignore[operator,no-any-return]


def sign(x: S) -> S:
    """-1, 0 or 1."""
    return select(0.0, x, 1.0, select(x, 0.0, -1.0, 0.0))  # type: ignore[no-any-return]


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two scalars."""
    return select(a, b, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two scalars."""
    return select(b, a, a, b)


def product_and_sum(a: Any, b: Any, c: Any) -> Any:
    """a b + c; for expressions a single node, unless the product is exact or c is zero."""
    graphs = [x.graph for x in (a, b, c) if isinstance(x, Expr)]
    factors = [x for x in (a, b) if not isinstance(x, Expr)]
    if not graphs or any(x == 0.0 or x == 1.0 for x in factors) or (not isinstance(c, Expr) and c == 0.0):
        return a * b + c
    return ops.multiply_add(*(x if isinstance(x, Expr) else graphs[0].constant(x) for x in (a, b, c)))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    ops.ADD: operator.add,
    ops.SUB: operator.sub,
    ops.MUL: operator.mul,
    ops.FMA: product_and_sum,
    ops.NEG: operator.neg,
    ops.REC: lambda x: 1.0 / x,
    **{ops.SQRT: sqrt, ops.SIN: sin, ops.COS: cos, ops.ATAN2: atan2, ops.SELECT: select},
}


def operate(op: str, *operands: Any) -> Any:
    """Value of an arithmetic node for operands of any scalar type."""
    return _OPERATIONS[op](*operands)
