# SPDX-License-Identifier: Apache-2.0
"""Columns written out: what everything works on that has no loops over columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ada_dynamics.expr.function import COLUMN, SHARED, Columns, Function
from ada_dynamics.expr.graph import Expr, Scalar
from ada_dynamics.expr.run_nodes import evaluate_nodes


def written_out(function: Function) -> Function:
    """The same function, with all elements of the outputs that are columns."""
    if not function.columns:
        return function
    outputs = {**function.outputs, **{columns.output: _elements(columns) for columns in function.columns}}
    return replace(function, outputs={name: outputs[name] for name in function.shapes}, columns=())


def _elements(columns: Columns) -> tuple[Scalar, ...]:
    nodes, (result,) = columns.each.nodes(), columns.each.outputs.values()

    def computed(column: Sequence[Scalar]) -> list[Scalar]:
        values = evaluate_nodes(nodes, {SHARED: columns.shared, COLUMN: column})
        return [values[x.index] if isinstance(x, Expr) else x for x in result]

    found = [computed(column) for column in zip(*columns.rows, strict=True)]
    return tuple(x for row in zip(*found, strict=True) for x in row)
