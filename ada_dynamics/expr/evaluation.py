# SPDX-License-Identifier: Apache-2.0
"""Evaluation of functions on values of any kind, and their expansion into plain scalars.

Column loops and lanes exist in native code only; all other consumers use the expanded function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.expr.function import COLUMN, SHARED, Function, live_guards
from ada_dynamics.expr.functions import operate
from ada_dynamics.expr.graph import ADD, CONST, EXTRACT, FMA, LANE_SUM, MUL, PACK, SUB, VAR, Expr, Scalar, live_nodes
from ada_dynamics.expr.lanes import extract, lane_sum, pack
from ada_dynamics.expr.per_lane import lane_of


def evaluate_nodes(nodes: Sequence[Expr], inputs: Mapping[str, Sequence[Any]]) -> dict[int, Any]:
    """Evaluate nodes in order on numbers, arrays or expressions of another graph.

    Args:
        nodes: operands first.
        inputs: elements of each input vector.

    Returns:
        Value of each node by its index.
    """
    known: dict[int, Any] = {}
    for node in nodes:
        if node.op is VAR:
            name, position = node.variable
            known[node.index] = inputs[name][position]
        elif node.op is CONST:
            known[node.index] = node.value
        else:
            known[node.index] = _value(node, [known[arg.index] for arg in node.args])
    return known


def substitute(function: Function, arguments: Mapping[str, Sequence[Scalar]]) -> dict[str, list[Scalar]]:
    """Results of a traced function for arguments that may be expressions of another graph."""
    values = evaluate_nodes(function.nodes(), arguments)
    return {
        name: [values[x.index] if isinstance(x, Expr) else x for x in elements]
        for name, elements in function.outputs.items()
    }


def _value(node: Expr, operands: Sequence[Any]) -> Any:
    if node.op is PACK:
        return pack(operands)
    if node.op is EXTRACT:
        return extract(operands[0], node.value)
    if node.op is LANE_SUM:
        return lane_sum(operands[0], node.args[0].lanes)
    return operate(node.op, *operands)


def written_out(function: Function) -> Function:
    """Equal function whose outputs consist of single elements in place of columns."""
    if not function.columns:
        return function
    matrices: dict[str, list[list[Scalar]]] = {}  # by their columns
    for one in function.columns:
        skipped, first = one.before
        operands = matrices[one.source] if one.source else list(zip(*one.rows, strict=True))[first:]
        height, width = one.shape
        made = matrices.setdefault(one.output, [[0.0] * height for _ in range(width)])
        (result,) = one.each.outputs
        for column, given in zip(made[one.first : one.first + one.count], operands, strict=False):
            found = substitute(one.each, {SHARED: one.shared[skipped:], COLUMN: given})[result]
            column[one.row : one.row + len(found)] = found
    elements = {name: tuple(x for row in zip(*made, strict=True) for x in row) for name, made in matrices.items()}
    outputs = {**function.outputs, **elements}
    return replace(function, outputs={name: outputs[name] for name in function.shapes}, columns=())


def expand(function: Function) -> Function:
    """Equal function without columns and lanes; constants are folded per lane."""
    return without_lanes(written_out(function))


def without_lanes(function: Function) -> Function:
    """Equal function without lanes."""
    if not _have_lanes(function.values):
        return function
    known = _scalars(function.values)

    def plain(elements: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return tuple(known[x.index][0] if isinstance(x, Expr) else x for x in elements)

    outputs = {name: plain(elements) for name, elements in function.outputs.items()}
    columns = tuple(
        replace(one, shared=plain(one.shared), rows=tuple(plain(row) for row in one.rows)) for one in function.columns
    )
    guards = live_guards(function.name, (x for guard in function.guards for x in known[guard.index]))
    return replace(function, outputs=outputs, guards=guards, columns=columns)


def plain_values(values: Iterable[Scalar]) -> list[Scalar]:
    """Equal scalars, computed without lanes."""
    values = list(values)
    if not _have_lanes(values):
        return values
    known = _scalars(values)
    return [known[value.index][0] if isinstance(value, Expr) else value for value in values]


def _have_lanes(values: Iterable[Scalar]) -> bool:
    graph = next((value.graph for value in values if isinstance(value, Expr)), None)
    return graph is not None and graph.has_lanes and any(node.lanes > 1 for node in live_nodes(values))


def _scalars(values: Iterable[Scalar]) -> dict[int, tuple[Scalar, ...]]:
    """For each node in use, one expression of the same graph for each of its lanes."""
    known: dict[int, tuple[Scalar, ...]] = {}
    for node in live_nodes(values):
        known[node.index] = _lanes(node, [known[arg.index] for arg in node.args])
    return known


def _lanes(node: Expr, operands: list[tuple[Scalar, ...]]) -> tuple[Scalar, ...]:
    if node.op is VAR:
        return (node,)
    if node.op is CONST:
        return tuple(lane_of(node.value, lane) for lane in range(node.lanes))
    if node.op is PACK:
        return tuple(operand[0] for operand in operands)
    if node.op is EXTRACT:
        return (operands[0][node.value],)
    if node.op is LANE_SUM:
        return (_sum_by_halves(operands[0]),)
    return tuple(
        rounded_alike(node, [operand[lane if len(operand) > 1 else 0] for operand in operands])
        for lane in range(node.lanes)
    )


def rounded_alike(node: Expr, operands: Sequence[Scalar]) -> Scalar:
    """The operation of a node on one lane, rewritten only where that does not change the rounding.

    An operand may be zero or one in this lane only, and other rules of the graph would then merge constants.
    """
    op, (first, *rest) = node.op, operands
    if op is FMA and is_constant(0.0, rest[1]):
        op, rest = MUL, rest[:1]
    elif op is FMA and is_constant(1.0, first):
        op, first, rest = ADD, rest[0], rest[1:]
    elif op is FMA and is_constant(1.0, rest[0]):
        op, rest = ADD, rest[1:]
    folds = (
        is_constant(0.0, first, *rest[:1])
        or (op is MUL and is_constant(1.0, first, *rest))
        or (op is MUL and is_constant(-1.0, first, *rest))
    )
    is_number = op is not FMA and not any(isinstance(x, Expr) for x in (first, *rest))
    if op not in (ADD, SUB, MUL, FMA) or folds or is_number:
        return operate(op, first, *rest)  # type: ignore[no-any-return]
    return node.graph.node(op, tuple(x if isinstance(x, Expr) else node.graph.constant(x) for x in (first, *rest)))


def is_constant(value: float, *operands: Scalar) -> bool:
    """Return True if one of the operands is this constant."""
    return any(not isinstance(x, Expr) and x == value for x in operands)


def _sum_by_halves(lanes: Sequence[Scalar]) -> Scalar:
    """Sum in the order of the vector instructions."""
    width = 1 << (len(lanes) - 1).bit_length()
    values = [*lanes, *[0.0] * (width - len(lanes))]
    while len(values) > 1:
        half = len(values) // 2
        values = [low + high for low, high in zip(values[:half], values[half:], strict=True)]
    return values[0]


def evaluate(function: Function, /, **inputs: Sequence[Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Outputs of a function for inputs of any number type (float, numpy.longdouble, arrays of them).

    Raises:
        InputError: an input is missing, unknown or of wrong size.
    """
    if set(inputs) != set(function.inputs):
        text = f"function {function.name} takes {list(function.inputs)}, not {sorted(inputs)}"
        raise InputError(text, field="inputs", value=tuple(sorted(inputs)), allowed=tuple(function.inputs))
    for name, size in function.inputs.items():
        if len(inputs[name]) != size:
            text = f"function {function.name}: {name} has {len(inputs[name])} elements instead of {size}"
            raise InputError(text, field=name, value=len(inputs[name]), allowed=size)
    function = written_out(function)
    known = evaluate_nodes(function.nodes(), inputs)
    return {
        name: np.array([known[x.index] if isinstance(x, Expr) else x for x in elements]).reshape(
            function.shapes[name] + np.shape(known[elements[0].index] if isinstance(elements[0], Expr) else 0.0)
        )
        for name, elements in function.outputs.items()
    }
