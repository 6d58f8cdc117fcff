# SPDX-License-Identifier: Apache-2.0
"""Orders of instructions."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.expr import Graph, sin
from ada_dynamics.expr.graph import Expr, live_nodes
from ada_dynamics.jit.schedule import LATENCY, WINDOW, critical_first, hungriest_first


def chain(x, length):
    for step in range(length):
        x = x * x + (1.0 + step)
    return x


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from("+*/s")), min_size=1, max_size=400))
def test_every_node_comes_once_and_after_its_operands(program):
    pool = list(Graph().vector("q", 4))
    for i, j, op in program:
        a, b = pool[i % len(pool)], pool[j % len(pool)]
        pool.append({"+": lambda: a + b, "*": lambda: a * b, "/": lambda: a / b, "s": lambda: sin(a)}[op]())  # noqa: B023
    nodes = live_nodes(pool)
    for order in (critical_first(nodes), hungriest_first([x for x in reversed(pool) if isinstance(x, Expr)])):
        place = {node.index: i for i, node in enumerate(order)}
        assert sorted(place) == [node.index for node in nodes]
        assert all(place[arg.index] < place[node.index] for node in nodes for arg in node.args)


def cycles(order):
    """Of a processor that starts two instructions a cycle, in their order, each once its operands are there."""
    there, now, started = {}, 0, 0
    for node in order:
        if node.op in ("var", "const"):
            there[node.index] = LATENCY[node.op]
            continue
        needed = max((there[arg.index] for arg in node.args), default=0)
        if needed > now or started == 2:
            now, started = max(needed, now + (started == 2)), 0
        started += 1
        there[node.index] = now + LATENCY[node.op]
    return max(there.values())


def test_a_processor_waits_for_the_longest_chain_of_instructions_alone():
    for seed in range(10):
        random, pool = Random(seed), list(Graph().vector("q", 8))
        for _ in range(100):
            a, b = random.choice(pool[-20:]), random.choice(pool)
            pool.append(random.choice([a + b * 1.5, a * b, a / (b + 0.5), sin(a)]))
        nodes = live_nodes([x for x in pool[-12:] if isinstance(x, Expr)])
        ends = {}
        for node in nodes:
            ends[node.index] = max((ends[arg.index] for arg in node.args), default=0) + LATENCY[node.op]
        work = sum(node.op not in ("var", "const") for node in nodes)
        # an order within a window may be some instructions longer
        assert cycles(critical_first(nodes)) <= 1.1 * max(*ends.values(), work / 2)
        assert cycles(nodes) > 1.2 * max(ends.values())


def test_nothing_moves_ahead_by_more_than_the_window():
    x, y = Graph().vector("q", 2)
    nodes = live_nodes([chain(x, 400), chain(y, 400)])
    place = {node.index: i for i, node in enumerate(nodes)}
    waiting = set(place.values())
    for node in critical_first(nodes):
        assert place[node.index] < min(waiting) + WINDOW
        waiting.remove(place[node.index])


def most_held(order):
    """Largest number of values, inputs apart, that are still to be used."""
    last = {arg.index: i for i, node in enumerate(order) for arg in node.args}
    held, most = set(), 0
    for i, node in enumerate(order):
        held -= {index for index in held if last[index] == i}
        if node.op not in ("var", "const") and node.index in last:
            held.add(node.index)
        most = max(most, len(held))
    return most


def test_a_tree_is_computed_with_as_few_values_held_as_it_has_levels():
    level = [x * x for x in Graph().vector("q", 64)]
    while len(level) > 1:
        level = [a + (b * b + 1.0) for a, b in zip(level[::2], level[1::2], strict=True)]
    written = live_nodes(level)
    assert most_held(hungriest_first(level)) <= 7 < most_held(written)
