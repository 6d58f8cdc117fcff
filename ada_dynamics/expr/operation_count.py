# SPDX-License-Identifier: Apache-2.0
"""Cost of a function: number of operations and critical path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr, Scalar, live_nodes

# Cycles of one operation on a recent x86-64 core.
LATENCY = dict.fromkeys((ops.ADD, ops.SUB, ops.MUL), 3)
LATENCY |= {ops.NEG: 0, ops.SELECT: 2, ops.REC: 13, ops.SQRT: 18, ops.SIN: 45, ops.COS: 45, ops.ATAN2: 80}
# Operations of one sine-cosine pair in generated code.
SINCOS_FLOPS = 36
# Operations of one arctangent in generated code, division included.
ATAN2_FLOPS = 40


@dataclass(frozen=True)
class Cost:
    """Operations of one evaluation, each lane counted; signs have no cost, a pair is sine and cosine of one angle."""

    additions: int
    multiplications: int
    divisions: int
    square_roots: int
    sincos_pairs: int
    selects: int
    critical_path: int
    arctangents: int = 0

    @property
    def flops(self) -> int:
        """Additions, subtractions and multiplications."""
        return self.additions + self.multiplications

    @property
    def work(self) -> int:
        """Flops including those of sine-cosine pairs and arctangents."""
        return self.flops + SINCOS_FLOPS * self.sincos_pairs + ATAN2_FLOPS * self.arctangents


def cost(values: Function | Iterable[Scalar]) -> Cost:
    """Operations and critical path [cycles] of a function or of expressions."""
    nodes = values.nodes() if isinstance(values, Function) else live_nodes(values)
    counts = _counts(nodes)
    angles = {node.args[0].index: node.lanes for node in nodes if node.op in (ops.SIN, ops.COS)}
    return Cost(
        additions=counts.get(ops.ADD, 0) + counts.get(ops.SUB, 0),
        multiplications=counts.get(ops.MUL, 0),
        divisions=counts.get(ops.REC, 0),
        square_roots=counts.get(ops.SQRT, 0),
        sincos_pairs=sum(angles.values()),
        selects=counts.get(ops.SELECT, 0),
        critical_path=critical_path(nodes),
        arctangents=counts.get(ops.ATAN2, 0),
    )


def flops(function: Function) -> int:
    """Additions, subtractions and multiplications of one evaluation; faster than `cost`."""
    counts = _counts(function.nodes())
    return counts.get(ops.ADD, 0) + counts.get(ops.SUB, 0) + counts.get(ops.MUL, 0)


def _counts(nodes: Iterable[Expr]) -> dict[str, int]:
    """Number of operations of each kind, each lane counted."""
    counts: dict[str, int] = {}
    for node in nodes:
        op, times = (ops.ADD, node.args[0].lanes - 1) if node.op is ops.LANE_SUM else (node.op, node.lanes)
        counts[op] = counts.get(op, 0) + times
    return counts


def critical_path(nodes: Iterable[Expr]) -> int:
    """Cycles of the longest chain of dependent operations; operands precede their users in `nodes`."""
    ready: dict[int, int] = {}
    for node in nodes:
        start = max((ready[arg.index] for arg in node.args), default=0)
        ready[node.index] = start + LATENCY.get(node.op, 0)
    return max(ready.values(), default=0)
