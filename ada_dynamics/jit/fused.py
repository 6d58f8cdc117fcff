# SPDX-License-Identifier: Apache-2.0
"""Fusion of products and sums to multiply-adds, on the graph, so that all kinds of code have the same roundings.

A compiler that fuses operations itself does it differently for different vector widths, so that the last bits of a
state would depend on the length of its batch. Here a product is fused if only one sum uses it; of two products, the
first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import ADD, CONST, EXTRACT, FMA, MUL, NEG, SUB, VAR, Expr, Scalar, negative


def fused(function: Function) -> Function:
    """The function with multiply-adds, in the same order."""
    made = _rebuilt(function.nodes(), function.values)

    def new(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return tuple(made[x.index] if isinstance(x, Expr) else x for x in values)

    shared = {id(one.each): one.each for one in function.columns}  # groups of columns share functions
    each = {key: fused(own) for key, own in shared.items()}
    columns = (
        replace(one, each=each[id(one.each)], shared=new(one.shared), rows=tuple(map(new, one.rows)))
        for one in function.columns
    )
    return replace(
        function,
        outputs={name: new(elements) for name, elements in function.outputs.items()},
        guards=tuple(made[guard.index] for guard in function.guards),
        columns=tuple(columns),
    )


def _rebuilt(nodes: list[Expr], values: Iterable[Scalar]) -> dict[int, Expr]:
    """New node of each node that remains, by the index of the old one; inputs and constants are unchanged."""
    uses = Counter(arg.index for node in nodes for arg in node.args)
    uses.update(value.index for value in values if isinstance(value, Expr))
    taken = {node.index: product for node in nodes if (product := _taken_in(node, uses)) is not None}
    parts = {product.index for product in taken.values()}
    made: dict[int, Expr] = {}
    negatives: dict[Expr, Expr] = {}
    for node in (node for node in nodes if node.index not in parts):
        if node.op is VAR or node.op is CONST:
            made[node.index] = node
            continue
        product = taken.get(node.index)
        if product is not None:
            new = _multiply_add(node, product, made, negatives)
        elif node.op is NEG:
            new = negative(made[node.args[0].index], negatives)
        else:
            new = Expr(node.graph, node.op, tuple([made[arg.index] for arg in node.args]), node.lanes)
        if node.op is EXTRACT:
            new.value = node.value
        made[node.index] = new
    return made


def _taken_in(node: Expr, uses: Counter[int]) -> Expr | None:
    if node.op is not ADD and node.op is not SUB:
        return None
    for arg in node.args:
        if arg.op is MUL and uses[arg.index] == 1 and arg.lanes == node.lanes:
            return arg
    return None


def _multiply_add(node: Expr, product: Expr, made: dict[int, Expr], negatives: dict[Expr, Expr]) -> Expr:
    first, second = node.args
    a, b = (made[factor.index] for factor in product.args)
    other = made[(second if product is first else first).index]
    if node.op is SUB and product is first:
        other = negative(other, negatives)
    elif node.op is SUB:
        # The sign of -a b is that of a constant factor, or of the second one: as a rule an unknown, whose negative
        # other equations contain as well, and not its coefficient.
        a, b = (negative(a, negatives), b) if a.op is CONST else (a, negative(b, negatives))
    return Expr(node.graph, FMA, (a, b, other), node.lanes)
