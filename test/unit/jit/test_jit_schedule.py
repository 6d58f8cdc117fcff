# SPDX-License-Identifier: Apache-2.0
"""Orders of instructions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.expr import Graph, sin
from ada_dynamics.expr.graph import Expr, live_nodes
from ada_dynamics.jit.schedule import critical_first, hungriest_first, part_starts


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


def test_parts_begin_where_the_fewest_numbers_wait():
    squares = [12 + i for i in range(12)]  # each square is needed by its addition
    sums = [turn + 1 for turn in range(12, 24)]
    sums[-1] = 24 + 11
    terms = [24 + 12 + i for i in range(12)]
    longer = [min(turn + 1, 47) for turn in range(36, 48)]
    assert part_starts([*squares, *sums, *terms, *longer], 20) == [24]
    assert part_starts([*squares, *sums, *terms, *longer], 40) == []
    assert part_starts(range(100), 20) == [15, 35, 55, 75]  # nothing waits: the first of what is allowed
    assert part_starts([], 20) == []
