# SPDX-License-Identifier: Apache-2.0
"""Order of instructions in a kernel for one state: what the longest chain of dependences waits for goes first.

A processor looks some hundred instructions ahead. In the order in which an algorithm was written, the next independent
chain is often farther away than that; here chains are interleaved. Kernels too large for the registers keep their own
order, which spills less.
"""

from __future__ import annotations

import heapq

from ada_dynamics.expr.graph import ADD, CONST, COS, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr

# Cycles until a result can be used, typical of current processors.
LATENCY = {VAR: 5, CONST: 0, ADD: 4, SUB: 4, MUL: 4, NEG: 1, REC: 14, SQRT: 18, SIN: 60, COS: 60, SELECT: 4}
ISSUE_WIDTH = 2  # floating-point instructions that start in one cycle
MAX_NODES = 2500


def critical_first(nodes: list[Expr]) -> list[Expr]:
    """Nodes (operands first) in the order in which an ideal processor with ISSUE_WIDTH units would start them."""
    if len(nodes) > MAX_NODES:
        return nodes
    users: dict[int, list[Expr]] = {node.index: [] for node in nodes}
    waiting: dict[int, int] = {}
    for node in nodes:
        operands = {arg.index for arg in node.args}
        waiting[node.index] = len(operands)
        for operand in operands:
            users[operand].append(node)
    rest = _cycles_to_the_end(nodes, users)

    order: list[Expr] = []
    ready = [(-rest[n.index], n.index, n) for n in nodes if not waiting[n.index]]
    heapq.heapify(ready)
    coming: list[tuple[int, int, Expr]] = []  # cycle from which a node's operands are there
    cycle = 0
    while ready or coming:
        while coming and coming[0][0] <= cycle:
            node = heapq.heappop(coming)[2]
            heapq.heappush(ready, (-rest[node.index], node.index, node))
        started = 0
        while ready and started < ISSUE_WIDTH:
            node = heapq.heappop(ready)[2]
            order.append(node)
            started += node.op not in (VAR, CONST)
            for user in users[node.index]:
                waiting[user.index] -= 1
                if not waiting[user.index]:
                    heapq.heappush(coming, (cycle + LATENCY[node.op], user.index, user))
        cycle += 1
    return order


def _cycles_to_the_end(nodes: list[Expr], users: dict[int, list[Expr]]) -> dict[int, int]:
    """Length of the longest chain from each node to a result."""
    rest: dict[int, int] = {}
    for node in reversed(nodes):
        rest[node.index] = LATENCY[node.op] + max((rest[user.index] for user in users[node.index]), default=0)
    return rest
