# SPDX-License-Identifier: Apache-2.0
"""Instruction scheduling: orders of the nodes of a graph.

In a kernel for one state, the nodes on the longest chain of dependences are first. A processor looks some hundred
instructions ahead; in the traced order the next independent chain is often farther away, so chains are interleaved.
Instructions are moved within a window only, because values that are computed long before their use are spilled.

In batches the order minimizes the number of registers. Long functions are split where the fewest values are live.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate

from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.graph import Expr, live_nodes

# Latencies in cycles, typical of current processors.
LATENCY = dict.fromkeys((ops.ADD, ops.SUB, ops.MUL, ops.FMA, ops.SELECT), 4)
LATENCY |= {ops.CONST: 0, ops.NEG: 1, ops.PACK: 3, ops.EXTRACT: 3, ops.VAR: 5, ops.LANE_SUM: 8}
LATENCY |= {ops.REC: 14, ops.SQRT: 18, ops.SIN: 60, ops.COS: 60, ops.ATAN2: 80}
ISSUE_WIDTH = 2  # floating-point instructions per cycle
# Nodes among which the next one is selected; of 50 to 800, 130 is near the optimum for arms and humanoids.
WINDOW = 130


def critical_first(nodes: list[Expr]) -> list[Expr]:
    """Nodes (operands first) in the order in which an ideal processor with ISSUE_WIDTH units would start them.

    The processor selects from the first WINDOW nodes, in the given order, that have not started.
    """
    users: dict[int, list[Expr]] = {node.index: [] for node in nodes}
    waiting: dict[int, int] = {}
    for node in nodes:
        operands = {arg.index for arg in node.args}
        waiting[node.index] = len(operands)
        for operand in operands:
            users[operand].append(node)
    rest = _cycles_to_the_end(nodes, users)
    place = {node.index: i for i, node in enumerate(nodes)}

    order: list[Expr] = []
    started: set[int] = set()
    first = entered = cycle = 0  # the window is nodes[first:entered]
    usable = dict.fromkeys(place, 0)  # first cycle in which all operands of a node that have started are ready
    coming: list[tuple[int, int, Expr]] = []  # nodes in the window whose operands have started
    ready: list[tuple[int, int, Expr]] = []
    while len(order) < len(nodes):
        while first < len(nodes) and nodes[first].index in started:
            first += 1
        for node in nodes[entered : first + WINDOW]:
            entered += 1
            if not waiting[node.index]:
                heapq.heappush(coming, (usable[node.index], node.index, node))
        if not ready:
            cycle = max(cycle, coming[0][0])
        while coming and coming[0][0] <= cycle:
            node = heapq.heappop(coming)[2]
            heapq.heappush(ready, (-rest[node.index], node.index, node))
        issued = 0
        while ready and issued < ISSUE_WIDTH:
            node = heapq.heappop(ready)[2]
            order.append(node)
            started.add(node.index)
            issued += node.op not in (ops.VAR, ops.CONST)
            for user in users[node.index]:
                i = user.index
                waiting[i] -= 1
                usable[i] = max(usable[i], cycle + LATENCY[node.op])
                if not waiting[i] and place[i] < entered:
                    heapq.heappush(coming, (usable[i], i, user))
        cycle += 1
    return order


def hungriest_first(results: Sequence[Expr]) -> list[Expr]:
    """Nodes in depth-first order from each result; the operand that needs the most registers is computed first.

    Values that one result depends on are computed for it, so that fewer values are live than in the traced order.
    Sethi and Ullman, "The generation of optimal code for arithmetic expressions", Journal of the ACM 17, 1970: optimal
    for trees, approximate for graphs with shared nodes.
    """
    needs: dict[int, int] = {}
    asked: dict[int, list[Expr]] = {}
    for node in live_nodes(results):
        asked[node.index] = sorted(node.args, key=lambda operand: -needs[operand.index])
        held = [needs[operand.index] + i for i, operand in enumerate(asked[node.index]) if operand.op is not ops.CONST]
        needs[node.index] = 0 if node.op is ops.CONST else max(held, default=1)
    order: dict[int, Expr] = {}
    for result in results:
        path = [(result, iter(asked[result.index]))]
        while path:
            node, waiting = path[-1]
            for operand in waiting:
                if operand.index not in order:
                    path.append((operand, iter(asked[operand.index])))
                    break
            else:
                order[node.index] = node
                path.pop()
    return list(order.values())


def part_starts(last_uses: Sequence[int], part: int) -> list[int]:
    """Positions at which parts start: near equal lengths, where the fewest values are live.

    Args:
        last_uses: position of the last use of each value, or of the value if it is not used.
        part: approximate length of a part.
    """
    changes = [0] * (len(last_uses) + 2)
    for turn, last in enumerate(last_uses):
        changes[turn + 1] += 1
        changes[last + 1] -= 1
    waiting = list(accumulate(changes))
    parts = max(1, round(len(last_uses) / part))
    length = len(last_uses) / parts
    ranges = (range(round((k - 0.25) * length), round((k + 0.25) * length) + 1) for k in range(1, parts))
    return [min(turns, key=waiting.__getitem__) for turns in ranges]


def _cycles_to_the_end(nodes: list[Expr], users: dict[int, list[Expr]]) -> dict[int, int]:
    """Latency of the longest chain from each node to a result."""
    rest: dict[int, int] = {}
    for node in reversed(nodes):
        rest[node.index] = LATENCY[node.op] + max((rest[user.index] for user in users[node.index]), default=0)
    return rest
