# SPDX-License-Identifier: Apache-2.0
"""Hash-consed scalar expressions: equal terms share one node, and constants are Python floats.

A node may represent several scalars in lanes (see `lanes`); its constants are then floats per lane.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from numbers import Real
from typing import Any, Final, NoReturn, TypeAlias, Union

from ada_dynamics.errors import InputError
from ada_dynamics.expr.per_lane import PerLane, common_count, lane_count, lane_of

VAR: Final = "var"
CONST: Final = "const"
ADD: Final = "add"
SUB: Final = "sub"
MUL: Final = "mul"
NEG: Final = "neg"
REC: Final = "rec"
SQRT: Final = "sqrt"
SIN: Final = "sin"
COS: Final = "cos"
ATAN2: Final = "atan2"
SELECT: Final = "select"
PACK: Final = "pack"
EXTRACT: Final = "extract"
LANE_SUM: Final = "lane_sum"
FMA: Final = "fma"

Scalar: TypeAlias = Union["Expr", float]


class Graph:
    """Owner of the nodes; equal terms return the same `Expr` object."""

    __slots__ = ("has_lanes", "size", "table")

    def __init__(self) -> None:
        self.size = 0  # number of nodes made so far
        self.table: defaultdict[str, dict[Any, Expr]] = defaultdict(dict)  # by operation and operands
        self.has_lanes = False  # True if a node has several lanes

    def variable(self, name: str, position: int) -> Expr:
        """Element `position` of the input vector `name`."""
        table, key = self.table[VAR], (name, position)
        found = table.get(key)
        if found is None:
            found = table[key] = Expr(self, VAR, ())
            found.variable = key
        return found

    def vector(self, name: str, size: int) -> tuple[Expr, ...]:
        """All elements of the input vector `name`."""
        return tuple(self.variable(name, position) for position in range(size))

    def node(self, op: str, args: tuple[Expr, ...]) -> Expr:
        """An operation on nodes of this graph."""
        if any(arg.graph is not self for arg in args):
            text = "expressions of two different graphs cannot be combined; trace them together"
            raise InputError(text, field="graph")
        table = self.table[op]
        found = table.get(args)
        if found is None:
            found = table[args] = Expr(self, op, args)
        return found

    def constant(self, value: float | PerLane) -> Expr:
        """A constant as a node: an operand of other nodes, never returned to a caller."""
        table = self.table[CONST]
        found = table.get(value)
        if found is None:
            found = table[value] = Expr(self, CONST, ())
            found.value = value
            if type(value) is PerLane:
                found.lanes = len(value)
                self.has_lanes = True
        return found


class Expr:
    """Node of an expression graph: an operation with its operands.

    Attributes:
        graph: its owner.
        index: position in the order of creation; operands precede the nodes that use them.
        op: operation on the operands.
        args: operands.
        lanes: number of scalars; an operand with one lane is broadcast.
        value: of a constant: a float or a `PerLane`; of an `EXTRACT`: the lane. Otherwise unset.
        variable: of a variable: input name and position. Otherwise unset.
    """

    __slots__ = ("args", "graph", "index", "lanes", "op", "value", "variable")
    # With None, numpy defers to the operators below instead of making an object array.
    __array_ufunc__ = None

    graph: Graph
    index: int
    op: str
    args: tuple[Expr, ...]
    lanes: int
    value: Any
    variable: tuple[str, int]

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...], lanes: int = 0) -> None:
        self.graph = graph
        self.op = op
        self.args = args
        self.lanes = lanes or (common_count({arg.lanes for arg in args} - {1}) if graph.has_lanes else 1)
        self.index = graph.size
        graph.size += 1

    def __repr__(self) -> str:
        if self.op is VAR:
            return f"{self.variable[0]}[{self.variable[1]}]"
        if self.op is CONST:
            return repr(self.value)
        return f"<Expr {self.op} #{self.index}>"

    def __add__(self, other: Scalar) -> Scalar:
        if type(other) is Expr:
            return _add(self, other)
        constant = other if type(other) is float else _constant(other)
        return NotImplemented if constant is None else _add_constant(constant, self)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        if type(other) is Expr:
            return _sub(self, other)
        constant = other if type(other) is float else _constant(other)
        return NotImplemented if constant is None else _add_constant(-constant, self)

    def __rsub__(self, other: Scalar) -> Scalar:
        constant = other if type(other) is float else _constant(other)
        if constant is None:
            return NotImplemented
        if constant == 0.0:
            return _neg(self)
        if self.op is NEG:
            return _add_constant(constant, self.args[0])
        return _binary(SUB, self.graph.constant(constant), self)

    def __mul__(self, other: Scalar) -> Scalar:
        if type(other) is Expr:
            return _mul(self, other)
        constant = other if type(other) is float else _constant(other)
        return NotImplemented if constant is None else _mul_constant(constant, self)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if type(other) is Expr:
            return _mul(self, _reciprocal(other))
        constant = other if type(other) is float else _constant(other)
        return NotImplemented if constant is None else _mul_constant(1.0 / constant, self)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        constant = other if type(other) is float else _constant(other)
        return NotImplemented if constant is None else _mul_constant(constant, _reciprocal(self))

    def __neg__(self) -> Expr:
        return _neg(self)

    def __pos__(self) -> Expr:
        return self

    def __pow__(self, exponent: int) -> Scalar:
        if int(exponent) != exponent or abs(exponent) > 64:
            raise TypeError(f"an expression can only be raised to a small whole number, not to {exponent!r}")
        return _power(self, int(exponent))

    def _no_truth(self, *_: object) -> NoReturn:
        raise TypeError(
            "an expression has no truth value before run time; choose with expr.select(a, b, x, y), "
            "which is x where a < b and y elsewhere"
        )

    __eq__ = __ne__ = _no_truth
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _no_truth
    __hash__ = object.__hash__

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, _: object) -> Expr:
        return self


def _constant(value: object) -> Any:
    """A real number as a float, constants per lane unchanged, None for any other type."""
    if isinstance(value, (float, int)):
        return float(value)
    if isinstance(value, tuple):  # a vector, which implements the product itself; the test for Real is slow
        return None
    if isinstance(value, Real):
        return float(value)
    return value if type(value) is PerLane and value.is_constant else None


def _binary(op: str, a: Expr, b: Expr) -> Expr:
    graph = a.graph
    if b.graph is not graph:
        raise InputError("expressions of two different graphs cannot be combined; trace them together", field="graph")
    table, args = graph.table[op], (a, b)
    found = table.get(args)
    if found is None:
        found = table[args] = Expr(graph, op, args)
    return found


def _unary(op: str, a: Expr) -> Expr:
    table, args = a.graph.table[op], (a,)
    found = table.get(args)
    if found is None:
        found = table[args] = Expr(a.graph, op, args)
    return found


def _neg(a: Expr) -> Expr:
    if a.op is NEG:
        return a.args[0]
    if a.op is SUB:
        left, right = a.args
        if left.op is CONST:  # -(c - x) = x + (-c)
            return _binary(ADD, a.graph.constant(-left.value), right)
        return _binary(SUB, right, left)
    return _unary(NEG, a)


def _add(a: Expr, b: Expr) -> Scalar:
    if b.op is NEG:
        return _sub(a, b.args[0])
    if a.op is NEG:
        return _sub(b, a.args[0])
    if a is b:
        return _mul_constant(2.0, a)
    if b.op is SUB and b.args[1] is a:  # a + (x - a) = x, exactly where rounding would not be
        return plain(b.args[0])
    if a.op is SUB and a.args[1] is b:
        return plain(a.args[0])
    if a.index > b.index:
        a, b = b, a
    return _binary(ADD, a, b)


def _add_constant(constant: Any, a: Expr) -> Scalar:
    if constant == 0.0:
        return a
    if a.op is NEG:
        return _binary(SUB, a.graph.constant(constant), a.args[0])
    if a.op is ADD and a.args[0].op is CONST:
        return _add_constant(constant + a.args[0].value, a.args[1])
    return _binary(ADD, a.graph.constant(constant), a)


def _sub(a: Expr, b: Expr) -> Scalar:
    if a is b:
        return 0.0
    if b.op is NEG:
        return _add(a, b.args[0])
    if a.op is NEG:
        total = _add(a.args[0], b)
        return -total
    return _binary(SUB, a, b)


def _mul(a: Expr, b: Expr) -> Scalar:
    if a.op is NEG:
        # A sign moves outwards, where an addition absorbs it at no cost.
        if b.op is NEG:
            return _mul(a.args[0], b.args[0])
        return -_mul(a.args[0], b)
    if b.op is NEG:
        return -_mul(a, b.args[0])
    if a.index > b.index:
        a, b = b, a
    if b.op is REC and b.args[0] is a:
        return 1.0
    if b.op is MUL:  # a (x / a) = x, which occurs in the pivot row of an elimination
        x, y = b.args
        if x.op is REC and x.args[0] is a:
            return plain(y)
        if y.op is REC and y.args[0] is a:
            return plain(x)
    return _binary(MUL, a, b)


def plain(a: Expr) -> Scalar:
    """A constant operand as a float."""
    return a.value if a.op is CONST else a


def _mul_constant(constant: Any, a: Expr) -> Scalar:
    if constant == 0.0:
        return 0.0
    if constant == 1.0:
        return a
    if _is_negative(constant):
        return -_mul_constant(-constant, a)
    if a.op is NEG:
        return -_mul_constant(constant, a.args[0])
    if a.op is MUL and a.args[0].op is CONST:
        other = a.args[0].value
        if _merges(constant, other):
            return _mul_constant(constant * other, a.args[1])
    return _binary(MUL, a.graph.constant(constant), a)


def _is_negative(constant: Any) -> bool:
    """Return True if a sign can move outwards; for constants per lane the first nonzero one decides."""
    if type(constant) is PerLane:
        return bool(next(x for x in constant.values if x != 0.0) < 0.0)
    return bool(constant < 0.0)


def _merges(a: Any, b: Any) -> bool:
    """Return True if the product of two constants neither overflows nor underflows."""
    pairs = [(lane_of(a, lane), lane_of(b, lane)) for lane in range(max(lane_count(a), lane_count(b)))]
    return all(x == 0.0 or y == 0.0 or 1e-290 < abs(x * y) < 1e290 for x, y in pairs)


def _reciprocal(a: Expr) -> Expr:
    if a.op is REC:
        return a.args[0]
    if a.op is NEG:
        return _neg(_reciprocal(a.args[0]))
    return _unary(REC, a)


def _power(a: Expr, exponent: int) -> Scalar:
    if exponent == 0:
        return 1.0
    if exponent < 0:
        return 1.0 / _power(a, -exponent)
    half = _power(a, exponent // 2) if exponent > 1 else 1.0
    square = half * half
    return square * a if exponent % 2 else square


def multiply_add(a: Expr, b: Expr, c: Expr) -> Expr:
    """a b + c with a single rounding where the processor supports it; see `jit.fused`."""
    if a.index > b.index:
        a, b = b, a
    return a.graph.node(FMA, (a, b, c))


def negative(a: Expr, known: dict[Expr, Expr]) -> Expr:
    """-a, without rewriting the terms of a; `known` are the results so far, which the table would keep alive."""
    if a.op is CONST or a.op is NEG:
        return a.graph.constant(-a.value) if a.op is CONST else a.args[0]
    if a not in known:
        known[a] = Expr(a.graph, NEG, (a,))
    return known[a]


def sine(a: Expr) -> Expr:
    """sin(a), with sin(-x) = -sin(x) so that both share one node."""
    return _neg(_unary(SIN, a.args[0])) if a.op is NEG else _unary(SIN, a)


def cosine(a: Expr) -> Expr:
    """cos(a), with cos(-x) = cos(x)."""
    return _unary(COS, a.args[0] if a.op is NEG else a)


def square_root(a: Expr) -> Expr:
    """sqrt(a)."""
    return _unary(SQRT, a)


def arctangent(y: Any, x: Any) -> Expr:
    """atan2(y, x) of expressions or constants, at least one of them an Expr; atan2(-y, x) = -atan2(y, x)."""
    graph = (y if isinstance(y, Expr) else x).graph
    # There is one constant zero in a graph, so it has no sign.
    a, b = (operand if isinstance(operand, Expr) else graph.constant(operand + 0.0) for operand in (y, x))
    return _neg(_binary(ATAN2, a.args[0], b)) if a.op is NEG else _binary(ATAN2, a, b)


def select_node(a: Any, b: Any, x: Any, y: Any) -> Any:
    """x where a < b (false for NaN), else y; at least one of the four operands is an Expr."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        answers = {lane_of(a, lane) < lane_of(b, lane) for lane in range(max(map(lane_count, (a, b))))}
        if len(answers) == 1:
            return x if answers.pop() else y
    if a is b:
        return y
    if x is y or (not isinstance(x, Expr) and not isinstance(y, Expr) and x == y):
        return x
    graph = next(operand.graph for operand in (a, b, x, y) if isinstance(operand, Expr))
    args = tuple(operand if isinstance(operand, Expr) else graph.constant(operand) for operand in (a, b, x, y))
    return graph.node(SELECT, args)


def live_nodes(values: Iterable[Scalar]) -> list[Expr]:
    """Nodes on which the given expressions depend, in creation order (operands first)."""
    wanted = [value for value in values if isinstance(value, Expr)]
    found: list[Expr | None] = [None] * (max((value.index for value in wanted), default=-1) + 1)
    for value in wanted:
        found[value.index] = value
    for i in range(len(found) - 1, -1, -1):
        node = found[i]
        if node is not None:
            for operand in node.args:
                found[operand.index] = operand
    return [node for node in found if node is not None]
