# SPDX-License-Identifier: Apache-2.0
"""Nodes one after the other on values of any kind: numbers, arrays, expressions of another graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ada_dynamics.expr.functions import operate
from ada_dynamics.expr.graph import CONST, EXTRACT, LANE_SUM, PACK, VAR, Expr
from ada_dynamics.expr.lanes import extract, lane_sum, pack


def evaluate_nodes(nodes: Sequence[Expr], inputs: Mapping[str, Sequence[Any]]) -> dict[int, Any]:
    """Value of each node (operands first) by its index."""
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


def _value(node: Expr, operands: Sequence[Any]) -> Any:
    if node.op is PACK:
        return pack(operands)
    if node.op is EXTRACT:
        return extract(operands[0], node.value)
    if node.op is LANE_SUM:
        return lane_sum(operands[0], node.args[0].lanes)
    return operate(node.op, *operands)
