# SPDX-License-Identifier: Apache-2.0
"""Sites of possible changes of a text, by cosmic-ray's operators, without those that no test could detect."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

Span = tuple[tuple[int, int], tuple[int, int]]  # (line, column) of the first character, and of the one behind

_PROVIDER = OperatorProvider()
# Operators with arguments put random numbers and variables anywhere. `is` only becomes `is not` and vice versa: other
# changes test which values Python stores once.
_OPERATORS = {
    name: _PROVIDER[name]()
    for name in _PROVIDER
    if not _PROVIDER[name].arguments() and ("_Is" not in name or name.endswith(("_Is_IsNot", "_IsNot_Is")))
}
_ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "**", ">>", "<<", "|", "&", "^", "~"))
_NOTHING_TO_CHANGE = frozenset(("name", "newline", "string", "endmarker", "indent", "dedent", "fstring_string"))
_LOGS = frozenset(("debug", "info", "warning", "error", "exception", "critical"))


class Site(NamedTuple):
    """A place in a file and a change of it."""

    file: str
    place: tuple[int, int]  # line and column
    operator: str
    occurrence: int  # among all changes of the file by the operator
    rank: str  # order of the draw

    @property
    def key(self) -> str:
        """Name of the change in the same text."""
        return f"{self.file}:{self.place[0]}:{self.place[1]} {self.operator} {self.occurrence}"


def sites(file: str, text: str, seed: int) -> list[Site]:
    """One site for each place and family of operators: a plus sign is one site with eleven possible changes.

    The chosen change and the rank depend on the seed, the file and the text of the line only, so that an edit elsewhere
    does not change the draw.
    """
    tree = ast.parse(text)
    unjudged = list(_unjudged(tree))
    choices: dict[tuple[tuple[int, int], str], list[tuple[str, int]]] = {}
    for name, occurrence, place in _positions(text):
        if not any(start <= place < end for start, end in unjudged):
            choices.setdefault((place, name.split("_")[0]), []).append((name, occurrence))
    lines, found, same = text.splitlines(), [], Counter[str]()
    for (place, family), variants in sorted(choices.items()):
        line = f"{seed}|{file}|{lines[place[0] - 1].strip()}|{place[1]}|{family}"
        same[line] += 1
        rank = hashlib.sha256(f"{line}|{same[line]}".encode()).hexdigest()
        operator, occurrence = variants[int(rank[-8:], 16) % len(variants)]
        found.append(Site(file, place, operator, occurrence, rank))
    return found


def mutated(text: str, operator: str, occurrence: int) -> str | None:
    """The changed text; None if it is invalid, or cosmic-ray cannot make it."""
    try:
        changed = mutate_code(text, _OPERATORS[operator], occurrence)
    except AttributeError:  # it takes each exception for a name: `except (OSError, *DAMAGE)`
        return None
    if changed is None or changed == text:
        return None
    try:
        compile(changed, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return str(changed)


def difference(text: str, changed: str) -> tuple[str, str]:
    """The lines that differ, before and after."""
    old, new = text.splitlines(), changed.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    was, now = old[first : len(old) - tail], new[first : len(new) - tail]
    return " ".join(line.strip() for line in was), " ".join(line.strip() for line in now)


def _positions(text: str) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Operator, occurrence and place of all possible changes."""
    nodes: dict[bool, list[Any]] = {True: [], False: []}
    for node in ast_nodes(get_ast(text)):
        if node.type == "operator":
            if node.value in _ARITHMETIC:
                nodes[True].append(node)
        elif node.type not in _NOTHING_TO_CHANGE:
            nodes[False].append(node)
    for name, operator in _OPERATORS.items():
        occurrence = 0
        for node in nodes[name.startswith("ReplaceBinaryOperator")]:
            for start, _ in operator.mutation_positions(node):
                if node.parent.type != "parameters":  # a bare star, which cosmic-ray takes for a product
                    yield name, occurrence, start
                occurrence += 1


def _unjudged(tree: ast.AST) -> Iterator[Span]:
    """Annotations, error and log texts, code for type checkers, `__all__`, and `strict=True` of `zip`."""
    for node in ast.walk(tree):
        skipped: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            skipped = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped = [node.returns]
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            skipped = [node.test, *node.body]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            skipped = [node]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            skipped = [one.value for one in node.keywords if ast.unparse(one) == "strict=True"]
        elif isinstance(node, ast.Raise):
            skipped = [one for one in ast.walk(node) if isinstance(one, ast.JoinedStr)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            skipped = [node] if isinstance(called, ast.Attribute) and called.attr in _LOGS else []
        for one in skipped:
            if isinstance(one, ast.expr | ast.stmt):
                yield (one.lineno, one.col_offset), (one.end_lineno or one.lineno, one.end_col_offset or 0)
