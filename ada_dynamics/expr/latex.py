# SPDX-License-Identifier: Apache-2.0
"""LaTeX of expressions, with every term that is used more than once given a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ada_dynamics.expr.expand import plain_values
from ada_dynamics.expr.graph import (
    ADD,
    ATAN2,
    CONST,
    COS,
    MUL,
    NEG,
    REC,
    SELECT,
    SIN,
    SQRT,
    SUB,
    VAR,
    Expr,
    Scalar,
    live_nodes,
)

# Binding strength of a printed term: a weaker one is put in parentheses inside a stronger one.
_SUM, _PRODUCT, _ATOM = 1, 2, 3
_LETTERS = {"q": "q", "v": r"\dot q", "a": r"\ddot q", "tau": r"\tau"}


class Latex(NamedTuple):
    """Definitions of the shared terms in order (name, right-hand side), then the printed expressions."""

    definitions: tuple[tuple[str, str], ...]
    expressions: dict[str, str]

    def aligned(self) -> str:
        """Everything as the body of an `aligned` environment."""
        rows = [*self.definitions, *self.expressions.items()]
        body = " \\\\\n".join(f"{left} &= {right}" for left, right in rows)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n"


def to_latex(expressions: Mapping[str, Scalar], name: Callable[[str, int], str] | None = None) -> Latex:
    r"""Print named expressions.

    Args:
        expressions: LaTeX of the left-hand side -> expression.
        name: LaTeX of a variable from its input name and position (counted from 0); by default q_1, \dot q_1 ...
    """
    expressions = dict(zip(expressions, plain_values(expressions.values()), strict=True))
    printer = _Printer(name or _default_name)
    nodes = live_nodes(expressions.values())
    uses: dict[int, int] = {}
    for node in nodes:
        for arg in node.args:
            uses[arg.index] = uses.get(arg.index, 0) + 1
    for value in expressions.values():
        if isinstance(value, Expr):
            uses[value.index] = uses.get(value.index, 0) + 1
    definitions: list[tuple[str, str]] = []
    for node in nodes:
        text = printer.print(node)
        if uses[node.index] > 1 and node.op not in (VAR, CONST, SIN, COS, NEG):
            label = f"x_{{{len(definitions) + 1}}}"
            definitions.append((label, text[0]))
            text = (label, _ATOM)
        printer.known[node.index] = text
    return Latex(tuple(definitions), {left: printer.value(x)[0] for left, x in expressions.items()})


def _default_name(name: str, position: int) -> str:
    letter = name if len(name) == 1 else r"\mathrm{" + name + "}"
    return f"{_LETTERS.get(name, letter)}_{{{position + 1}}}"


class _Printer:
    """Text and binding strength of nodes whose operands are printed already."""

    def __init__(self, name: Callable[[str, int], str]) -> None:
        self.name = name
        self.known: dict[int, tuple[str, int]] = {}

    def value(self, value: Scalar) -> tuple[str, int]:
        return self.known[value.index] if isinstance(value, Expr) else _number(value)

    def inside(self, node: Expr, strength: int) -> str:
        text, own = self.value(node)
        return text if own >= strength else rf"\left({text}\right)"

    def print(self, node: Expr) -> tuple[str, int]:
        op, args = node.op, node.args
        if op is VAR:
            return self.name(*node.variable), _ATOM
        if op is CONST:
            return _number(node.value)
        if op is ADD:
            return f"{self.inside(args[0], _SUM)} + {self.inside(args[1], _PRODUCT)}", _SUM
        if op is SUB:
            return f"{self.inside(args[0], _SUM)} - {self.inside(args[1], _PRODUCT)}", _SUM
        if op is NEG:
            return f"-{self.inside(args[0], _PRODUCT)}", _SUM
        if op is MUL:
            return self.product(args[0], args[1]), _PRODUCT
        if op is REC:
            return rf"\frac{{1}}{{{self.value(args[0])[0]}}}", _ATOM
        if op is ATAN2:
            y, x = (self.value(arg)[0] for arg in args)
            return rf"\operatorname{{atan2}}\left({y}, {x}\right)", _ATOM
        if op is SELECT:
            a, b, x, y = (self.value(arg)[0] for arg in args)
            cases = rf"{x} & {a} < {b} \\ {y} & \text{{otherwise}}"
            return rf"\begin{{cases}} {cases} \end{{cases}}", _SUM
        function = {SIN: r"\sin", COS: r"\cos", SQRT: r"\sqrt"}[op]
        if op is SQRT:
            return f"{function}{{{self.value(args[0])[0]}}}", _ATOM
        return f"{function} {self.inside(args[0], _ATOM)}", _PRODUCT

    def product(self, a: Expr, b: Expr) -> str:
        if b.op is REC:
            return rf"\frac{{{self.value(a)[0]}}}{{{self.value(b.args[0])[0]}}}"
        left, right = self.inside(a, _PRODUCT), self.inside(b, _PRODUCT)
        if a is b:
            return f"{self.inside(a, _ATOM)}^2"
        # A dot only where two numbers would run together.
        return f"{left} \\, {right}" if not right[0].isdigit() else f"{left} \\cdot {right}"


def _number(value: float) -> tuple[str, int]:
    mantissa, _, exponent = f"{value:.12g}".partition("e")
    text = rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
    return text, _PRODUCT  # a negative one stands first in a sum or alone: signs move out of products
