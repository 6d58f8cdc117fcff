# SPDX-License-Identifier: Apache-2.0
"""The order of instructions in the code for one state."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.expr import Graph, sin
from ada_dynamics.expr.graph import live_nodes
from ada_dynamics.jit.schedule import WINDOW, critical_first


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
    order = critical_first(nodes)
    place = {node.index: i for i, node in enumerate(order)}
    assert sorted(place) == [node.index for node in nodes]
    assert all(place[arg.index] < place[node.index] for node in nodes for arg in node.args)


def test_independent_chains_are_interleaved():
    x, y = Graph().vector("q", 2)
    first, second = chain(x, 20), chain(y, 20)
    order = critical_first(live_nodes([first, second]))
    owners = [node.index <= first.index for node in order if node.op in ("add", "mul")]
    changes = sum(a != b for a, b in itertools.pairwise(owners))
    assert changes > 20, "one after the other there would be one change"


def test_the_longer_of_two_chains_goes_first():
    x, y = Graph().vector("q", 2)
    short, long = chain(x, 2), chain(y, 30)
    order = critical_first(live_nodes([short, long]))
    work = [node for node in order if node.op in ("add", "mul")]
    assert work[0].args[0].variable == ("q", 1)


def test_nothing_moves_ahead_by_more_than_the_window():
    x, y = Graph().vector("q", 2)
    nodes = live_nodes([chain(x, 400), chain(y, 400)])
    place = {node.index: i for i, node in enumerate(nodes)}
    waiting = set(place.values())
    for node in critical_first(nodes):
        assert place[node.index] < min(waiting) + WINDOW
        waiting.remove(place[node.index])
