# SPDX-License-Identifier: Apache-2.0
"""Derivatives of expressions, as expressions of the same graph: forward mode and reverse mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ada_dynamics.errors import InputError
from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.evaluation import expand, plain_values
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.functions import cos, select, sin
from ada_dynamics.expr.graph import Expr, Scalar, live_nodes, plain
from ada_dynamics.expr.lanes import extract, lane_sum, lanes_of, pack


def directional(values: Iterable[Scalar], seeds: Mapping[Expr, Scalar]) -> list[Scalar]:
    """Derivatives of values for given velocities of the variables (forward mode).

    The derivative of a `select` is that of the branch taken. If seeds have lanes (one direction each), the derivatives
    have them, too; otherwise lanes of the values are kept.

    Args:
        values: expressions or floats.
        seeds: velocity of each variable that moves.
    """
    values = plain_values(values) if any(lanes_of(seed) > 1 for seed in seeds.values()) else list(values)
    tangents: dict[int, Scalar] = {}
    for node in live_nodes(values):
        if node.op is ops.VAR:
            tangent = seeds.get(node, 0.0)
        elif node.op is ops.CONST:
            tangent = 0.0
        else:
            tangent = _tangent(node, [tangents[arg.index] for arg in node.args])
        tangents[node.index] = tangent
    return [tangents[value.index] if isinstance(value, Expr) else 0.0 for value in values]


def _tangent(node: Expr, tangents: Sequence[Scalar]) -> Scalar:
    op = node.op
    if op is ops.PACK:
        return pack(tangents)  # type: ignore[no-any-return]
    if op is ops.EXTRACT:
        return extract(tangents[0], node.value)  # type: ignore[no-any-return]
    if op is ops.LANE_SUM:
        return lane_sum(tangents[0], node.args[0].lanes)  # type: ignore[no-any-return]
    if op is ops.ADD:
        return tangents[0] + tangents[1]
    if op is ops.SUB:
        return tangents[0] - tangents[1]
    if op is ops.NEG:
        return -tangents[0]
    if op is ops.SELECT:
        a, b = node.args[:2]
        return select(plain(a), plain(b), tangents[2], tangents[3])  # type: ignore[no-any-return]
    if op is ops.MUL:
        a, b = node.args
        return tangents[0] * plain(b) + plain(a) * tangents[1]
    if op is ops.ATAN2:
        by_y, by_x = _arctangent_slopes(node)
        return by_y * tangents[0] + by_x * tangents[1]
    return _slope(node) * tangents[0]


def _arctangent_slopes(node: Expr) -> tuple[Scalar, Scalar]:
    """∂ atan2(y, x)/∂y and ∂/∂x."""
    y, x = (plain(arg) for arg in node.args)
    square = x * x + y * y
    return x / square, -(y / square)


def _slope(node: Expr) -> Scalar:
    """Derivative of a function of one operand."""
    (x,) = node.args
    if node.op is ops.REC:
        return -(node * node)
    if node.op is ops.SQRT:
        return 0.5 / node
    if node.op is ops.SIN:
        return cos(x)
    if node.op is ops.COS:
        return -sin(x)
    raise AssertionError(f"operation {node.op} has no derivative rule")


def jvp(function: Function, wrt: Sequence[str] | None = None) -> Function:
    """The directional derivative of a function, as a function with the outputs "d_<output>".

    `wrt` are the inputs that move, by default all; each adds an input "d_<name>", its velocity.
    """
    function = expand(function)
    moving = list(function.inputs) if wrt is None else list(wrt)
    inputs = dict(function.inputs)
    seeds: dict[Expr, Scalar] = {}
    for name in moving:
        size = len(function.variables(name))
        inputs[f"d_{name}"] = size
        seeds.update(zip(function.variables(name), function.graph.vector(f"d_{name}", size), strict=True))
    names = [name for name in function.outputs for _ in function.outputs[name]]
    flat = directional((x for elements in function.outputs.values() for x in elements), seeds)
    derived: dict[str, tuple[Scalar, ...]] = {}
    for name in function.outputs:
        derived[f"d_{name}"] = tuple(x for owner, x in zip(names, flat, strict=True) if owner == name)
    shapes = {f"d_{name}": shape for name, shape in function.shapes.items()}
    return Function(f"{function.name}_jvp", function.graph, inputs, derived, shapes, function.guards)


def jacobian(values: Sequence[Scalar], variables: Sequence[Expr]) -> tuple[tuple[Scalar, ...], ...]:
    """Rows ∂ value / ∂ variable (forward mode, one sweep per variable)."""
    columns = [directional(values, {variable: 1.0}) for variable in variables]
    return tuple(zip(*columns, strict=True))


@dataclass
class _Adjoint:
    """Derivative of the result with respect to a node: a sum over all nodes that use it."""

    own: Scalar = 0.0
    spread: dict[int, Scalar] = field(default_factory=dict)  # of a scalar used in lanes, by number of lanes
    single: dict[int, Scalar] = field(default_factory=dict)  # of single lanes, by lane

    def add(self, share: Scalar, lanes: int, lanes_of_share: int) -> None:
        """Add a share with as many lanes as the node that uses this one."""
        if lanes == lanes_of_share:
            self.own = self.own + share
        else:
            self.spread[lanes_of_share] = self.spread.get(lanes_of_share, 0.0) + share

    def total(self, lanes: int) -> Scalar:
        """The sum, for a node with the given number of lanes."""
        total = self.own
        for count, shares in self.spread.items():
            total = total + lane_sum(shares, count)
        return total + pack([self.single.get(lane, 0.0) for lane in range(lanes)]) if self.single else total


def gradient(scalar: Scalar, variables: Sequence[Expr]) -> tuple[Scalar, ...]:
    """∂ scalar / ∂ variable for every variable, by one reverse sweep; lanes are supported.

    Raises:
        InputError: one of `variables` is no variable.
    """
    for variable in variables:
        if variable.op is not ops.VAR:
            raise InputError(
                f"a gradient is taken with respect to variables, not to {variable!r}", field="variable", value=variable
            )
    if not isinstance(scalar, Expr):
        return (0.0,) * len(variables)
    adjoints: dict[int, _Adjoint] = {scalar.index: _Adjoint(1.0)}
    for node in reversed(live_nodes([scalar])):
        found = adjoints.get(node.index)
        adjoint = 0.0 if found is None else found.total(node.lanes)
        if node.op is ops.VAR or (isinstance(adjoint, float) and adjoint == 0.0):
            continue
        if node.op is ops.EXTRACT:
            single = adjoints.setdefault(node.args[0].index, _Adjoint()).single
            single[node.value] = single.get(node.value, 0.0) + adjoint
            continue
        lanes = 1 if node.op is ops.PACK else node.args[0].lanes if node.op is ops.LANE_SUM else node.lanes
        for operand, share in _shares(node, adjoint):
            if operand.op is not ops.CONST:
                adjoints.setdefault(operand.index, _Adjoint()).add(share, operand.lanes, lanes)
    return tuple(adjoints[x.index].total(1) if x.index in adjoints else 0.0 for x in variables)


def _shares(node: Expr, adjoint: Scalar) -> list[tuple[Expr, Scalar]]:
    """Contribution of a node's adjoint to each of its operands."""
    op, args = node.op, node.args
    if op is ops.PACK:
        return [(arg, extract(adjoint, lane)) for lane, arg in enumerate(args)]
    if op is ops.LANE_SUM:
        return [(args[0], adjoint)]
    if op is ops.ADD:
        return [(args[0], adjoint), (args[1], adjoint)]
    if op is ops.SUB:
        return [(args[0], adjoint), (args[1], -adjoint)]
    if op is ops.NEG:
        return [(args[0], -adjoint)]
    if op is ops.MUL:
        return [(args[0], adjoint * plain(args[1])), (args[1], adjoint * plain(args[0]))]
    if op is ops.ATAN2:
        by_y, by_x = _arctangent_slopes(node)
        return [(args[0], adjoint * by_y), (args[1], adjoint * by_x)]
    if op is ops.SELECT:
        a, b = plain(args[0]), plain(args[1])
        return [(args[2], select(a, b, adjoint, 0.0)), (args[3], select(a, b, 0.0, adjoint))]
    return [(args[0], adjoint * _slope(node))]
