# SPDX-License-Identifier: Apache-2.0
"""The floor of the kernels for one state: no schedule of a machine with those units is shorter."""

import random

import pytest

from ada_dynamics.expr.graph import ADD, FMA, MUL, Graph
from benchmarks.shortest import shortest_time

LATENCY = {ADD: 3.0, MUL: 3.0, FMA: 4.0}


def scheduled(nodes, rate, priority):
    """Cycles of a machine that begins `rate` products a cycle, the first ones of an order, and any additions."""
    known = {node.index: 0.0 for node in nodes if node.op not in LATENCY}
    waiting, cycle = {node.index: node for node in nodes if node.op in LATENCY}, 0
    while waiting:
        able = [node for node in waiting.values() if all(known.get(arg.index, cycle + 1) <= cycle for arg in node.args)]
        products = sorted((node for node in able if node.op != ADD), key=lambda node: priority[node.index])
        for node in [*products[:rate], *(node for node in able if node.op == ADD)]:
            known[node.index] = cycle + LATENCY[node.op]
            del waiting[node.index]
        cycle += 1
    return max(known.values())


def in_a_row(start, factor, count):
    """That many products, each of which waits for the one before."""
    for _ in range(count):
        start = start * factor
    return start


def bound(nodes, rate):
    return shortest_time(nodes, LATENCY, [((MUL, FMA), rate)])


@pytest.mark.parametrize("seed", range(20))
def test_no_order_is_shorter_than_the_bound(seed):
    draw = random.Random(seed)
    graph = Graph()
    values = list(graph.vector("x", 4))
    while len(graph.nodes) < 80:
        a, b = draw.choices(values[-12:], k=2)
        values.append(a * b if draw.random() < 0.6 else a + b)
    for rate in (1, 2, 3):
        orders = [{node.index: draw.random() for node in graph.nodes} for _ in range(10)]
        assert bound(graph.nodes, rate) <= min(scheduled(graph.nodes, rate, order) for order in orders)


def test_a_chain_takes_its_latencies_and_what_is_side_by_side_its_rate():
    graph = Graph()
    x = graph.vector("x", 21)
    in_a_row(x[0], x[1], 5)
    assert bound(graph.nodes, 2) == 5 * LATENCY[MUL]
    graph = Graph()
    x = graph.vector("x", 21)
    assert len([x[i] * x[20] for i in range(20)]) == 20
    assert bound(graph.nodes, 2) == 10.0


def test_what_a_single_number_waits_for_and_what_waits_for_it_comes_on_top_of_the_rate():
    """5 products in a row, 32 side by side, and again 5: the chain or the rate alone says less."""
    graph = Graph()
    x = graph.vector("x", 40)
    first = in_a_row(x[0], x[0], 5)
    parts = [first * x[i] for i in range(1, 33)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    in_a_row(parts[0], x[0], 5)
    assert bound(graph.nodes, 2) == 5 * 3 + 32 / 2 + 5 * 3 + 5 * 3
    assert bound(graph.nodes, 2) <= scheduled(graph.nodes, 2, {node.index: node.index for node in graph.nodes})
