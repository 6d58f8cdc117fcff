# SPDX-License-Identifier: Apache-2.0
"""Orders of instructions.

In a kernel for one state, what the longest chain of dependences waits for goes first. A processor looks some hundred
instructions ahead. In the order in which an algorithm was written, the next independent chain is often farther away
than that; here chains are interleaved. Instructions move within a window only, because values that are ready long
before they are used do not stay in registers.

In a kernel of threads, where others run while one waits, and in batches only the registers count.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from ada_dynamics.expr.graph import (
    ADD,
    ATAN2,
    CONST,
    COS,
    EXTRACT,
    FMA,
    LANE_SUM,
    MUL,
    NEG,
    PACK,
    REC,
    SELECT,
    SIN,
    SQRT,
    SUB,
    VAR,
    Expr,
    live_nodes,
)

# Cycles until a result can be used, typical of current processors.
LATENCY = {VAR: 5, CONST: 0, ADD: 4, SUB: 4, MUL: 4, NEG: 1, REC: 14, SQRT: 18, SIN: 60, COS: 60, SELECT: 4}
LATENCY.update({FMA: 4, PACK: 3, EXTRACT: 3, LANE_SUM: 8, ATAN2: 80})
ISSUE_WIDTH = 2  # floating-point instructions that start in one cycle
# Nodes among which the next one is chosen. Of 50 ... 800, measured on arms and a humanoid, 130 was best or near to it.
WINDOW = 130


def critical_first(nodes: list[Expr]) -> list[Expr]:
    """Nodes (operands first) in the order in which an ideal processor with ISSUE_WIDTH units would start them.

    It sees the first WINDOW nodes, in the given order, that have not started.
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
    usable = dict.fromkeys(place, 0)  # cycle from which a node's operands are there, as far as is known
    coming: list[tuple[int, int, Expr]] = []  # nodes in the window that wait for nothing but their cycle
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
            issued += node.op not in (VAR, CONST)
            for user in users[node.index]:
                i = user.index
                waiting[i] -= 1
                usable[i] = max(usable[i], cycle + LATENCY[node.op])
                if not waiting[i] and place[i] < entered:
                    heapq.heappush(coming, (usable[i], i, user))
        cycle += 1
    return order


def results_first(
    results: Iterable[Expr], operands: Callable[[Expr], Sequence[Expr]] = attrgetter("args")
) -> list[Expr]:
    """Nodes (operands first) in the order in which each result, one after the other, asks for them.

    What is needed for one result alone is made for it and gone: fewer numbers are in use at a time than in the order in
    which columns of a matrix, say, were written.

    Args:
        results: what is wanted.
        operands: of a node, in the order in which it asks for them.
    """
    order: list[Expr] = []
    seen: set[int] = set()
    for result in results:
        path = [(result, 0)]
        while path:
            node, next_operand = path.pop()
            if node.index in seen:
                continue
            asked = operands(node)
            if next_operand < len(asked):
                path += [(node, next_operand + 1), (asked[next_operand], 0)]
            else:
                seen.add(node.index)
                order.append(node)
    return order


def hungriest_first(results: Sequence[Expr]) -> list[Expr]:
    """As `results_first`; a node asks first for the operand that needs the most registers, while the others hold none.

    Sethi and Ullman, "The generation of optimal code for arithmetic expressions", Journal of the ACM 17, 1970: fewest
    registers for trees. Graphs with shared nodes only come near it.
    """
    needs: dict[int, int] = {}
    asked: dict[int, list[Expr]] = {}
    for node in live_nodes(results):
        asked[node.index] = sorted(node.args, key=lambda operand: -needs[operand.index])
        held = [needs[operand.index] + i for i, operand in enumerate(asked[node.index]) if operand.op is not CONST]
        needs[node.index] = 0 if node.op is CONST else max(held, default=1)
    return results_first(results, lambda node: asked[node.index])


def _cycles_to_the_end(nodes: list[Expr], users: dict[int, list[Expr]]) -> dict[int, int]:
    """Length of the longest chain from each node to a result."""
    rest: dict[int, int] = {}
    for node in reversed(nodes):
        rest[node.index] = LATENCY[node.op] + max((rest[user.index] for user in users[node.index]), default=0)
    return rest
