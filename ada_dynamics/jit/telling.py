# SPDX-License-Identifier: Apache-2.0
"""Inputs of which results tell: where such a number is not finite, some result or sine is not finite either.

Sums, products and roots of infinities and of what is no number are neither finite; a sine of them is no number. A
reciprocal makes zero of infinity, and a choice may take the other value: behind these an input has to be looked at.
"""

from __future__ import annotations

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import ADD, COS, FMA, LANE_SUM, MUL, NEG, PACK, SIN, SQRT, SUB, VAR, Expr

_TELLING = {ADD, SUB, MUL, NEG, FMA, SQRT, SIN, COS, PACK, LANE_SUM}


def untold(function: Function) -> dict[str, list[int]]:
    """Positions in each input that have to be looked at, because no result and no sine tells of them."""
    told = {x.index for elements in function.outputs.values() for x in elements if isinstance(x, Expr)}
    known: set[tuple[str, int]] = set()
    for node in reversed(function.nodes()):
        if node.op in (SIN, COS) or (node.index in told and node.op in _TELLING):
            told.update(arg.index for arg in node.args)
        if node.op is VAR and node.index in told:
            known.add(node.variable)
    return {name: [i for i in range(size) if (name, i) not in known] for name, size in function.inputs.items()}
