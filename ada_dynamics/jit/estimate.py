# SPDX-License-Identifier: Apache-2.0
"""Estimate of the run time of the code for one state before compilation, to choose between algorithms.

Straight-line code runs at the instruction rate of the processor, so instructions are counted. Fused multiply-adds count
as two; spills compensate for the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr
from ada_dynamics.jit.expressions import groups
from ada_dynamics.jit.lowering import padded
from ada_dynamics.jit.scalar import SINGLE_VECTOR_BITS, single_vector_bits

# Cost of operations in instructions. A vector of angles costs as much as one angle. Processors have fewer units for the
# widest vectors (measured: 0.25 ns per instruction instead of 0.18).
_WEIGHT = dict.fromkeys((ops.ADD, ops.SUB, ops.MUL, ops.NEG), 1.0)
_WEIGHT |= {ops.CONST: 0.0, ops.VAR: 0.5, ops.SELECT: 2.0, ops.REC: 8.0, ops.SQRT: 12.0, ops.ATAN2: 50.0}
_SINCOS = 60.0
_WIDEST = 1.5


def instructions(function: Function, vector_bits: int = SINGLE_VECTOR_BITS) -> float:
    """Approximate number of instructions of the code for one state on a processor with vectors of `vector_bits`."""
    nodes = function.nodes()
    widest = max(single_vector_bits(function, vector_bits) // 64, 2)
    angles = {node.args[0].index: node.args[0] for node in nodes if node.op is ops.SIN or node.op is ops.COS}
    sines = sum(
        _vectors(sum(padded(x.lanes).width for x in group), widest) for group in groups(list(angles.values()), widest)
    )
    counts = Counter((node.op, (node.args[0] if node.op is ops.LANE_SUM else node).lanes) for node in nodes)
    rest = sum(count * _weight(op, lanes, widest) for (op, lanes), count in counts.items())
    return rest + _SINCOS * sines + (len(_spread(nodes)) if function.graph.has_lanes else 0)


def _weight(op: str, lanes: int, widest: int) -> float:
    width = padded(lanes).width
    if op in (ops.SIN, ops.COS):
        return 0.0
    if op is ops.PACK:
        return float(width)
    if op is ops.EXTRACT:
        return 1.0
    if op is ops.LANE_SUM:
        return 2.0 * (width.bit_length() - 1) + (lanes < width)
    return _WEIGHT[op] * _vectors(width, widest) * (_WIDEST if 64 * min(width, widest) > SINGLE_VECTOR_BITS else 1.0)


def _vectors(numbers: int, widest: int) -> int:
    return -(-numbers // widest)


def _spread(nodes: Iterable[Expr]) -> set[tuple[int, int]]:
    """Scalars that are broadcast to lanes, with the number of lanes."""
    return {
        (arg.index, node.lanes)
        for node in nodes
        if node.lanes > 1 and node.op is not ops.PACK
        for arg in node.args
        if arg.lanes == 1 and arg.op is not ops.CONST
    }
