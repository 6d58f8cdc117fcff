# SPDX-License-Identifier: Apache-2.0
"""A time in which no processor of some latencies and rates can do what a graph asks for, whatever the order.

An operation begins no sooner than what it waits for is there: its head. What waits for it takes its tail, after it. The
last of n operations with heads of at least r ends n / rate after r at the soonest, however many begin at the same tick,
so that with tails of at least q all takes

    r + n / rate + q

at least, for each r and q (J. Carlier, "The one-machine sequencing problem", European Journal of Operational Research
11, 1982, sec. 2.2). It is no less than the longest chain of dependent operations and than the rate of their mixture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ada_dynamics.expr.graph import Expr


def shortest_time(
    nodes: Sequence[Expr], latency: Mapping[str, float], rates: Iterable[tuple[Collection[str], float]]
) -> float:
    """The bound, in the unit of the latencies.

    Args:
        nodes: with their operands first.
        latency: of each kind of operation; 0 for those that are not named.
        rates: kinds, and how many of them together can begin in a unit of time; each takes a tick at least.
    """
    heads, tails = _heads_and_tails(nodes, latency)
    bound = max((heads[node.index] + latency.get(node.op, 0.0) + tails[node.index] for node in nodes), default=0.0)
    for kinds, rate in rates:
        counted = [node for node in nodes if node.op in kinds]
        if not counted:
            continue
        head = np.array([heads[node.index] for node in counted])
        tail = np.array([tails[node.index] for node in counted])
        for r in np.unique(head):
            q = np.sort(tail[head >= r])[::-1]  # the first n of them have tails of at least q[n - 1]
            bound = max(bound, float((r + np.arange(1, len(q) + 1) / rate + q).max()))
    return bound


def _heads_and_tails(nodes: Sequence[Expr], latency: Mapping[str, float]) -> tuple[dict[int, float], dict[int, float]]:
    heads: dict[int, float] = {}
    for node in nodes:
        heads[node.index] = max((heads[arg.index] + latency.get(arg.op, 0.0) for arg in node.args), default=0.0)
    tails = dict.fromkeys(heads, 0.0)
    for node in reversed(nodes):
        own = latency.get(node.op, 0.0) + tails[node.index]
        for arg in node.args:
            tails[arg.index] = max(tails[arg.index], own)
    return heads, tails
