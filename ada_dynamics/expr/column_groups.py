# SPDX-License-Identifier: Apache-2.0
"""Columns with constant operands, in groups: the function of a group does without the operations on its zeros.

More functions have less work for a column, and the same roundings; zeros may differ in sign. Code that computes many
columns side by side is faster with one function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ada_dynamics.expr.evaluation import is_constant, rounded_alike
from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.expr.graph import ADD, CONST, FMA, MUL, NEG, SUB, VAR, Expr, Scalar

FETCHED = 0.5  # columns whose computation takes as long as fetching the code of one (measured)


def in_groups(function: Function) -> Function:
    """Equal function whose columns are in groups of consecutive ones with zeros in common."""
    known: dict[tuple[object, ...], Function] = {}  # groups that share their function
    found = (group for one in function.columns for group in _groups(one, known))
    return replace(function, columns=tuple(found))


def _groups(columns: Columns, known: dict[tuple[object, ...], Function]) -> Iterator[Columns]:
    """The same columns in groups, with constants in their functions."""
    if columns.window or all(isinstance(x, Expr) for row in columns.rows for x in row):
        yield columns
        return
    for group in _cheapest(columns):
        rows = [row[group[0] : group[-1] + 1] for row in columns.rows]
        numbers = tuple(map(_common, rows))
        if None not in numbers:
            numbers = (None, *numbers[1:])  # a function of a column has an operand
        key = id(columns.each), numbers
        if key not in known:
            known[key] = _with_numbers(columns.each, numbers)
        own = tuple(row for row, number in zip(rows, numbers, strict=True) if number is None)
        first, total = columns.first + group[0], columns.shape[1]
        yield replace(columns, each=known[key], rows=own, first=first, total=total)


def _cheapest(columns: Columns) -> list[range]:
    """Groups that cost less together than apart."""
    groups = [(range(j, j + 1), operations) for j, operations in enumerate(_operations(columns))]

    def cost(group: range, operations: int) -> float:
        return (len(group) + FETCHED) * operations.bit_count()

    while len(groups) > 1:
        pairs = [(range(a.start, b.stop), x | y) for (a, x), (b, y) in pairwise(groups)]
        saved = [cost(*a) + cost(*b) - cost(*both) for (a, b), both in zip(pairwise(groups), pairs, strict=True)]
        best = saved.index(max(saved))
        if saved[best] < 0:
            break
        groups[best : best + 2] = [pairs[best]]
    return [group for group, _ in groups]


def _operations(columns: Columns) -> list[int]:
    """For each column, a bit for each operation of the function that its zeros do not spare."""
    count = columns.count
    needed: dict[int, int] = {}  # columns in which a node is not zero, a bit each
    result = [0] * count
    for place, node in enumerate(columns.each.nodes()):
        operands = [needed[arg.index] for arg in node.args]
        spared = operands[0] & operands[1] if node.op in _SPARED else 0
        if node.op is VAR and node.variable[0] == COLUMN:
            row = columns.rows[node.variable[1]]
            needed[node.index] = sum(1 << j for j, x in enumerate(row) if not is_constant(0.0, x))
        elif node.op is MUL:
            needed[node.index] = spared
        elif node.op is FMA:
            needed[node.index] = spared | operands[2]
        elif node.op in (ADD, SUB, NEG):
            needed[node.index] = operands[0] | operands[-1]
        else:
            needed[node.index] = 0 if node.op is CONST and node.value == 0.0 else (1 << count) - 1
        if node.op in _SPARED:
            for j in range(count):
                result[j] |= (spared >> j & 1) << place
    return result


_SPARED = (ADD, SUB, MUL, FMA)


def _with_numbers(function: Function, numbers: Sequence[float | None]) -> Function:
    """The function of a column with some operands replaced by numbers; the others move up."""
    left = iter(function.graph.vector(COLUMN, numbers.count(None)))
    operands: list[Scalar] = [next(left) if number is None else number for number in numbers]
    known: dict[int, Scalar] = {}
    for node in function.nodes():
        if node.op is VAR:
            known[node.index] = operands[node.variable[1]] if node.variable[0] == COLUMN else node
        elif node.op is CONST:
            known[node.index] = node.value
        else:
            known[node.index] = rounded_alike(node, [known[arg.index] for arg in node.args])
    outputs = {
        name: tuple(known[x.index] if isinstance(x, Expr) else x for x in elements)
        for name, elements in function.outputs.items()
    }
    return replace(function, inputs={**function.inputs, COLUMN: numbers.count(None)}, outputs=outputs)


def _common(row: Sequence[Scalar]) -> float | None:
    """The number in all columns, if it is one."""
    first = row[0]
    return None if isinstance(first, Expr) or any(isinstance(x, Expr) or x != first for x in row) else first
